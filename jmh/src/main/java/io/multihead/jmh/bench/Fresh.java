package io.multihead.jmh.bench;

import io.multihead.jmh.rounds.Children;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Runs {@link FreshCall} or {@link FreshEmbedding} in fresh JVMs, one after another, without and with an AOT cache, and prints a
 * table of each.
 */
public final class Fresh {
    /** The figures that a JVM reports, each with the unit of the table. */
    static final String[] COLUMNS = {
        "first call, s", "90 % of steady after, s", "attention, GFLOP/s", "sgemm 1024, GFLOP/s", "control, GFLOP/s"
    };

    private static final Children CHILDREN = Children.ofThisJvm();

    private Fresh() {}

    /**
     * Runs all of it.
     *
     * @param arguments how many JVMs of each kind, the jars to run them from, the cache's file to be, and {@code embeddings} for those
     * @throws IOException if a JVM cannot be started
     * @throws InterruptedException if this JVM shuts down, which ends the JVM that is measured
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int jvms = Integer.parseInt(arguments[0]);
        String jars = arguments[1];
        String write = "-XX:AOTCacheOutput=" + arguments[2];
        String read = "-XX:AOTCache=" + arguments[2];
        if (arguments.length > 3) {
            List<String> ours = List.of(FreshEmbedding.class.getName(), "multihead");
            List<String> theirs = List.of(FreshEmbedding.class.getName(), "langchain4j");
            table("langchain4j's class", FreshEmbedding.COLUMNS, jvms, jars, theirs);
            table("multihead", FreshEmbedding.COLUMNS, jvms, jars, ours);
            table("multihead, -Xmx256m", FreshEmbedding.COLUMNS, jvms, jars, ours, "-Xmx256m");
            run(jars, ours, write);
            table("multihead with an AOT cache", FreshEmbedding.COLUMNS, jvms, jars, ours, read);
            return;
        }
        List<String> calls = List.of(FreshCall.class.getName());
        table("as it is", COLUMNS, jvms, jars, calls);
        run(jars, calls, write);
        table("with an AOT cache", COLUMNS, jvms, jars, calls, read);
    }

    private static void table(
            String title, String[] columns, int jvms, String jars, List<String> main, String... options)
            throws IOException, InterruptedException {
        List<double[]> runs = new ArrayList<>();
        for (int jvm = 0; jvm < jvms; jvm++) {
            System.err.println(title + ": JVM " + (jvm + 1) + " of " + jvms);
            runs.add(run(jars, main, options));
        }
        System.out.println("\n| " + jvms + " JVMs, " + title + " | median | lowest | highest |\n|---|---|---|---|");
        for (int column = 0; column < columns.length; column++) {
            int at = column;
            double[] sorted = runs.stream().mapToDouble(run -> run[at]).sorted().toArray();
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.3g | %.3g | %.3g |%n",
                    columns[column],
                    sorted[jvms / 2],
                    sorted[0],
                    sorted[jvms - 1]);
        }
    }

    private static double[] run(String jars, List<String> main, String... options)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(Arrays.asList(options));
        command.addAll(List.of("-cp", jars));
        command.addAll(main);
        command.add(String.valueOf(System.currentTimeMillis()));
        Process process = CHILDREN.start(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT));
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (CHILDREN.await(process) != 0) {
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
