package io.multihead.jmh.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Runs {@link FreshCall} in fresh JVMs, one after another, without and with an AOT cache, and prints a table of each. */
public final class Fresh {
    /** The figures that a JVM reports, each with the unit of the table. */
    static final String[] COLUMNS = {
        "first call, s", "90 % of steady after, s", "attention, GFLOP/s", "sgemm 1024, GFLOP/s", "control, GFLOP/s"
    };

    private Fresh() {}

    /**
     * Runs all of it.
     *
     * @param arguments how many JVMs of each kind, the jars to run them from, and the cache's file to be
     * @throws IOException if a JVM cannot be started
     * @throws InterruptedException if interrupted meanwhile
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int jvms = Integer.parseInt(arguments[0]);
        String jars = arguments[1];
        Path cache = Path.of(arguments[2]);
        table("as it is", jvms, jars);
        run(jars, "-XX:AOTCacheOutput=" + cache);
        table("with an AOT cache", jvms, jars, "-XX:AOTCache=" + cache);
    }

    private static void table(String title, int jvms, String jars, String... options)
            throws IOException, InterruptedException {
        List<double[]> runs = new ArrayList<>();
        for (int jvm = 0; jvm < jvms; jvm++) {
            System.err.println(title + ": JVM " + (jvm + 1) + " of " + jvms);
            runs.add(run(jars, options));
        }
        System.out.println("\n| " + jvms + " JVMs, " + title + " | median | lowest | highest |\n|---|---|---|---|");
        for (int column = 0; column < COLUMNS.length; column++) {
            int at = column;
            double[] sorted = runs.stream().mapToDouble(run -> run[at]).sorted().toArray();
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.3g | %.3g | %.3g |%n",
                    COLUMNS[column],
                    sorted[jvms / 2],
                    sorted[0],
                    sorted[jvms - 1]);
        }
    }

    private static double[] run(String jars, String... options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--add-modules", "jdk.incubator.vector"));
        command.addAll(Arrays.asList(options));
        command.addAll(List.of("-cp", jars, FreshCall.class.getName()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(command + " failed: " + output);
        }
        String numbers = output.lines()
                .filter(line -> line.matches("[-\\d. ]+"))
                .findFirst()
                .orElseThrow(() -> new IOException(command + " printed " + output));
        return Arrays.stream(numbers.trim().split(" +"))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }
}
