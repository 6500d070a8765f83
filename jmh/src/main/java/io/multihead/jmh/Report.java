package io.multihead.jmh;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Reads JMH's JSON and prints one Markdown table per benchmark: medians over forks, ratios to the best peer and the peak. */
public final class Report {
    /** What is no peer: this library, and its own variants beside each other. */
    private static final Set<String> OURS =
            Set.of(("multihead paged bf16 f16 i8 plain softcap alibi sinks rope modifier batch16 window1024 keys1024")
                    .split(" "));

    /** Benchmarks whose multiplications are not what takes time, or are not the same for all. */
    private static final Set<String> UNLIMITED = Set.of("PrefillOptions", "DecodeBatch", "Softmax");

    private final Map<String, Map<String, Double>> times = new TreeMap<>();
    /** In operations a nanosecond, by the number of threads. */
    private final Map<Integer, Double> peaks = new TreeMap<>();

    private Report() {}

    /**
     * Prints the tables.
     *
     * @param arguments the JSON file
     */
    public static void main(String[] arguments) throws IOException {
        Report report = new Report();
        for (JsonNode result : new ObjectMapper().readTree(new File(arguments[0]))) {
            report.read(result);
        }
        report.print();
    }

    private void read(JsonNode result) {
        String name = result.get("benchmark").asText().replaceAll(".*\\.(\\w+)\\.(\\w+)$", "$1 $2");
        double median = median(result.get("primaryMetric").get("rawData"));
        if (name.startsWith("Roofline")) {
            limit(name, result.get("threads").asInt(), median);
        } else {
            Map<String, String> parameters = new LinkedHashMap<>();
            result.get("params")
                    .properties()
                    .forEach(e -> parameters.put(e.getKey(), e.getValue().asText()));
            String impl = parameters.remove("impl");
            String row = name.split(" ")[0] + " " + parameters.toString().replaceAll("[{}]", "");
            times.computeIfAbsent(row, key -> new LinkedHashMap<>()).put(impl, median);
        }
    }

    private void limit(String name, int threads, double median) {
        String noun = threads + (threads == 1 ? " thread" : " threads");
        if (name.contains("fmaPeak")) {
            double peak = 2.0 * threads * Roofline.CHAINS * Roofline.STEPS * jdkLanes() / median * 1e-6;
            peaks.put(threads, peak);
            System.out.printf(Locale.ROOT, "FMA peak, %s: %.0f GFLOP/s%n", noun, peak);
        } else {
            double speed = 4.0 * threads * Roofline.FLOATS / median * 1e-6;
            System.out.printf(Locale.ROOT, "read bandwidth, %s: %.1f GB/s%n", noun, speed);
        }
    }

    /** As measured with that many threads, or else as a multiple of one thread's. */
    private double peak(int threads) {
        return peaks.getOrDefault(threads, threads * peaks.getOrDefault(1, Double.NaN));
    }

    private void print() {
        String heading = "";
        for (Map.Entry<String, Map<String, Double>> row : times.entrySet()) {
            String benchmark = row.getKey().split(" ")[0];
            if (!benchmark.equals(heading)) {
                heading = benchmark;
                System.out.printf(
                        "%n## %s%n%n| case | impl | ms | GFLOP/s | of the best peer | of the FMA peak |%n", heading);
                System.out.println("|---|---|---|---|---|---|");
            }
            double best = row.getValue().entrySet().stream()
                    .filter(e -> !OURS.contains(e.getKey()))
                    .mapToDouble(Map.Entry::getValue)
                    .min()
                    .orElse(Double.NaN);
            row.getValue().forEach((impl, time) -> {
                double speed = operations(row.getKey()) / time * 1e-6;
                double limit = peak(threads(row.getKey()));
                System.out.printf(
                        Locale.ROOT,
                        "| %s | %s | %.3f | %s | %s | %s |%n",
                        row.getKey().substring(benchmark.length() + 1),
                        impl,
                        time,
                        number("%.0f", speed),
                        number("%.2f", best / time),
                        number("%.2f", speed / limit));
            });
        }
    }

    private static String number(String format, double value) {
        return Double.isNaN(value) ? "" : String.format(Locale.ROOT, format, value);
    }

    private static double operations(String row) {
        Map<String, String> p = new LinkedHashMap<>();
        Arrays.stream(row.substring(row.indexOf(' ') + 1).split(", "))
                .filter(e -> e.contains("="))
                .forEach(e -> p.put(e.split("=")[0], e.split("=")[1]));
        if (p.containsKey("size")) {
            return 2 * Math.pow(Double.parseDouble(p.get("size")), 3);
        }
        if (p.containsKey("layer") || UNLIMITED.contains(row.split(" ")[0])) {
            return Double.NaN; // beside each other, not beside a limit
        }
        if (p.containsKey("features")) {
            return 2 * Double.parseDouble(p.get("rows")) * Math.pow(Double.parseDouble(p.get("features")), 2);
        }
        if (p.containsKey("keyHeads")) {
            return 4.0 * AttentionDecode.HEADS * AttentionDecode.DIM * Double.parseDouble(p.get("keys"));
        }
        if (p.containsKey("blocks")) {
            return blockOperations(p);
        }
        if (row.startsWith("MultiHeadAttentionLayer")) {
            return layerOperations(p.get("shape"));
        }
        // backward multiplies five times where forward multiplies twice
        boolean backward = p.containsKey("tokens");
        double passes = backward ? 3.5 : 1;
        String shape = backward ? "1x8x" + p.get("tokens") + "x64" : p.get("shape");
        double[] s =
                Arrays.stream(shape.split("x")).mapToDouble(Double::parseDouble).toArray();
        return passes * 4 * s[0] * s[1] * s[2] * s[2] * s[3] * (p.get("causal").equals("true") ? 0.5 : 1);
    }

    /** Four projections and attention; features, heads, batch, tokens. */
    private static double layerOperations(String shape) {
        double[] s =
                Arrays.stream(shape.split("x")).mapToDouble(Double::parseDouble).toArray();
        return 4 * s[2] * s[3] * s[0] * (2 * s[0] + s[3]);
    }

    /** Forward and backward of a stack: three times the forward multiplications of weights, 3.5 times those of attention. */
    private static double blockOperations(Map<String, String> p) {
        double tokens = TrainingStep.BATCH * (double) TrainingStep.TOKENS;
        double weights = 4.0 * TrainingStep.EMBED_DIM * TrainingStep.EMBED_DIM
                + 2.0 * TrainingStep.EMBED_DIM * TrainingStep.FEED_FORWARD;
        double attention = 2.0 * TrainingStep.TOKENS * TrainingStep.EMBED_DIM;
        return Double.parseDouble(p.get("blocks")) * 2 * tokens * (3 * weights + 3.5 * attention);
    }

    private static int threads(String row) {
        return row.contains("threads=") ? Integer.parseInt(row.replaceAll(".*threads=(\\d+).*", "$1")) : 1;
    }

    /** The lanes of the JVM that ran the benchmark; this one runs on the same machine. */
    private static int jdkLanes() {
        return jdk.incubator.vector.FloatVector.SPECIES_PREFERRED.length();
    }

    private static double median(JsonNode forks) {
        List<Double> medians = new ArrayList<>();
        for (JsonNode fork : forks) {
            List<Double> values = new ArrayList<>();
            fork.forEach(value -> values.add(value.asDouble()));
            medians.add(middle(values));
        }
        return middle(medians);
    }

    private static double middle(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int half = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(half) : (sorted.get(half - 1) + sorted.get(half)) / 2;
    }
}
