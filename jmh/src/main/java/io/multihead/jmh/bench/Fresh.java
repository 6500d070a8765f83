package io.multihead.jmh.bench;

import io.multihead.internal.base.CacheSizes;
import io.multihead.jmh.report.Machine;
import io.multihead.jmh.rounds.Children;
import io.multihead.langchain4j.MultiheadEmbeddingModel;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Runs {@link FreshCall} or {@link FreshEmbedding} in new JVMs, without and with an AOT cache, or {@link TuneCall} with
 * blocks for other caches, and prints a table of each kind. The kinds alternate. The packed file of an encoder is
 * written next to the cache.
 */
public final class Fresh {
    /** The figures that a JVM reports, each with the unit of the table. */
    static final String[] COLUMNS = {
        "first call, s", "90 % of steady after, s", "steady, GFLOP/s", "sgemm 1024, GFLOP/s", "control, GFLOP/s"
    };

    private static final String WRITING = "-XX:AOTCacheOutput=";
    private static final String READING = "-XX:AOTCache=";
    private static final Children CHILDREN = Children.ofThisJvm();

    /** A main class with its arguments, and options of the JVM that runs it. */
    private record Kind(String title, List<String> main, String... options) {}

    private Fresh() {}

    /**
     * Runs all JVMs. The arguments are the number of JVMs of each kind, the jars on the class path, the path of the new
     * cache file, and optionally {@code embeddings}, {@code layer} or {@code tune} instead of attention.
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        int jvms = Integer.parseInt(arguments[0]);
        String jars = arguments[1];
        String cache = arguments[2];
        String workload = arguments.length > 3 ? arguments[3] : "attention";
        if (workload.equals("embeddings")) {
            embeddings(jvms, jars, cache);
            return;
        }
        if (workload.equals("tune")) {
            tune(jvms, jars);
            return;
        }
        List<String> calls = List.of(FreshCall.class.getName(), workload);
        run(jars, new Kind("writes the cache", calls, WRITING + cache));
        tables(COLUMNS, jvms, jars, new Kind("as it is", calls), new Kind("with an AOT cache", calls, READING + cache));
    }

    private static void embeddings(int jvms, String jars, String cache) throws IOException, InterruptedException {
        Path packed = Path.of(cache).resolveSibling("fresh.packed");
        try (MultiheadEmbeddingModel model =
                MultiheadEmbeddingModel.allMiniLmL6V2().build()) {
            model.encoder().write(packed);
        }
        String packedCache = cache + ".packed";
        List<String> ours = List.of(FreshEmbedding.class.getName(), "multihead");
        List<String> mapped = List.of(FreshEmbedding.class.getName(), packed.toString());
        List<String> theirs = List.of(FreshEmbedding.class.getName(), "langchain4j");
        run(jars, new Kind("writes the cache", ours, WRITING + cache));
        run(jars, new Kind("writes the other cache", mapped, WRITING + packedCache));
        tables(
                FreshEmbedding.COLUMNS,
                jvms,
                jars,
                new Kind("langchain4j's class", theirs),
                new Kind("multihead", ours),
                new Kind("multihead, -Xmx128m", ours, "-Xmx128m"),
                new Kind("multihead with an AOT cache", ours, READING + cache),
                new Kind("multihead, packed file", mapped),
                new Kind("multihead, packed file with an AOT cache", mapped, READING + packedCache),
                new Kind(
                        "multihead, packed file with an AOT cache, -Xmx128m",
                        mapped,
                        READING + packedCache,
                        "-Xmx128m"));
    }

    private static void tune(int jvms, String jars) throws IOException, InterruptedException {
        System.out.println(Machine.description() + "\n" + TuneCall.caches());
        tables(TuneCall.READ_COLUMNS, 1, jars, new Kind("reads of", List.of(TuneCall.class.getName(), TuneCall.READS)));
        List<String> calls = List.of(TuneCall.class.getName());
        String l1 = "-D" + CacheSizes.L1 + "=";
        String l2 = "-D" + CacheSizes.L2 + "=";
        tables(
                TuneCall.COLUMNS,
                jvms,
                jars,
                new Kind("as chosen", calls),
                new Kind("blocks for an L1 of 32 KiB and an L2 of 1 MiB", calls, l1 + (32 << 10), l2 + (1 << 20)),
                new Kind("blocks for an L1 of 32 KiB and an L2 of 2 MiB", calls, l1 + (32 << 10), l2 + (2 << 20)),
                new Kind("blocks for an L1 of 48 KiB and an L2 of 2 MiB", calls, l1 + (48 << 10), l2 + (2 << 20)));
    }

    private static void tables(String[] columns, int jvms, String jars, Kind... kinds)
            throws IOException, InterruptedException {
        Map<Kind, List<double[]>> runs = new LinkedHashMap<>();
        for (int jvm = 0; jvm < jvms; jvm++) {
            for (Kind kind : kinds) {
                System.err.println(kind.title + ": JVM " + (jvm + 1) + " of " + jvms);
                runs.computeIfAbsent(kind, first -> new ArrayList<>()).add(run(jars, kind));
            }
        }
        runs.forEach((kind, figures) -> print(kind.title, columns, figures));
    }

    private static void print(String title, String[] columns, List<double[]> runs) {
        System.out.println(
                "\n| " + runs.size() + " JVMs, " + title + " | median | lowest | highest |\n|---|---|---|---|");
        for (int column = 0; column < columns.length; column++) {
            int at = column;
            double[] sorted = runs.stream().mapToDouble(run -> run[at]).sorted().toArray();
            System.out.printf(
                    Locale.ROOT,
                    "| %s | %.3g | %.3g | %.3g |%n",
                    columns[column],
                    sorted[sorted.length / 2],
                    sorted[0],
                    sorted[sorted.length - 1]);
        }
    }

    private static double[] run(String jars, Kind kind) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(Arrays.asList(kind.options));
        command.addAll(List.of("-cp", jars));
        command.addAll(kind.main);
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
