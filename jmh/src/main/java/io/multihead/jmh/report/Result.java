package io.multihead.jmh.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.multihead.jmh.bench.Comparison;
import io.multihead.jmh.bench.Work;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * One entry of JMH's JSON.
 *
 * @param benchmark class of the benchmark, without its package and {@code Bench}. {@code Sampled} is appended if each call was timed
 *     separately, since such times cannot be compared with times of many calls together
 * @param parameters all parameters except {@code impl}
 * @param impl the value of the parameter {@code impl}, or the method if the benchmark does not have this parameter
 * @param work the minimum work of a call, which is unknown if single calls were timed
 * @param times median of the iterations of each fork by rounds
 */
record Result(
        String benchmark,
        String method,
        Map<String, String> parameters,
        String impl,
        Work work,
        Times times,
        Calls calls,
        Run run) {
    private static final String SAMPLED = "sample";

    /**
     * Measurements of single calls. A missing measurement is NaN.
     *
     * @param count number of results
     * @param late the 99th percentile divided by the median, as a median over rounds
     * @param bytes allocated by a call, including JMH's allocations, as a median over rounds
     */
    record Calls(double count, double late, double bytes) {
        private static Calls of(List<JsonNode> entries) {
            double count = 0;
            List<Double> late = new ArrayList<>();
            List<Double> bytes = new ArrayList<>();
            for (JsonNode entry : entries) {
                JsonNode metric = entry.get("primaryMetric");
                for (JsonNode fork : metric.path("rawDataHistogram")) {
                    for (JsonNode iteration : fork) {
                        for (JsonNode timeAndCalls : iteration) {
                            count += timeAndCalls.path(1).asDouble();
                        }
                    }
                }
                if (isSampled(entry)) {
                    JsonNode percentiles = metric.path("scorePercentiles");
                    late.add(percentiles.path("99.0").asDouble()
                            / percentiles.path("50.0").asDouble());
                }
                JsonNode allocated = entry.path("secondaryMetrics")
                        .path("gc.alloc.rate.norm")
                        .path("score");
                if (allocated.isNumber()) {
                    bytes.add(allocated.asDouble());
                }
            }
            return new Calls(late.isEmpty() ? Double.NaN : count, Times.median(late), Times.median(bytes));
        }
    }

    /**
     * The settings of a run of JMH: JMH's threads, JVM, its flags and vectors, forks and iterations, and the last day.
     */
    record Run(int threads, String jdk, List<String> flags, int lanes, String iterations, String date) {}

    /**
     * Reads entries of the same benchmark, method and parameters, with one entry per round. Their unit must be a time
     * per call.
     */
    static Result of(SortedMap<Integer, List<JsonNode>> rounds) {
        SortedMap<Integer, List<Double>> forks = new TreeMap<>();
        int count = 0;
        for (Map.Entry<Integer, List<JsonNode>> round : rounds.entrySet()) {
            for (JsonNode entry : round.getValue()) {
                List<Double> own = forks(entry.get("primaryMetric"));
                for (int fork = 0; fork < own.size(); fork++) {
                    // several forks in one file are consecutive rounds
                    forks.computeIfAbsent(round.getKey() + fork, key -> new ArrayList<>())
                            .add(own.get(fork));
                }
                count += own.size();
            }
        }
        JsonNode entry = rounds.get(rounds.lastKey()).getLast();
        Map<String, String> parameters = parameters(entry);
        Work work = isSampled(entry) ? Work.UNKNOWN : Comparison.work(type(entry), parameters);
        String impl = parameters.remove("impl");
        return new Result(
                name(entry),
                method(entry),
                Collections.unmodifiableMap(parameters),
                impl == null ? method(entry) : impl,
                work,
                Times.of(forks),
                Calls.of(rounds.values().stream().flatMap(List::stream).toList()),
                run(entry, count));
    }

    /** The fields that entries of the same measurement share. */
    static List<Object> key(JsonNode entry) {
        return List.of(
                name(entry),
                method(entry),
                parameters(entry),
                entry.path("threads").asInt(1));
    }

    private static String name(JsonNode entry) {
        String type = type(entry);
        String name = type.substring(type.lastIndexOf('.') + 1).replaceFirst("Bench$", "");
        return name + (isSampled(entry) ? "Sampled" : "");
    }

    private static String type(JsonNode entry) {
        String benchmark = entry.get("benchmark").asText();
        return benchmark.substring(0, benchmark.lastIndexOf('.'));
    }

    private static String method(JsonNode entry) {
        String benchmark = entry.get("benchmark").asText();
        return benchmark.substring(benchmark.lastIndexOf('.') + 1);
    }

    private static Map<String, String> parameters(JsonNode entry) {
        Map<String, String> parameters = new TreeMap<>();
        entry.path("params")
                .properties()
                .forEach(e -> parameters.put(e.getKey(), e.getValue().asText()));
        return parameters;
    }

    Result with(String parameter, String value) {
        Map<String, String> more = new TreeMap<>(parameters);
        more.put(parameter, value);
        return new Result(benchmark, method, more, impl, work, times, calls, run);
    }

    Case belongsTo() {
        return new Case(benchmark, parameters);
    }

    double time() {
        return times.median();
    }

    private static boolean isSampled(JsonNode entry) {
        return entry.path("mode").asText().equals(SAMPLED);
    }

    private static List<Double> forks(JsonNode metric) {
        double milliseconds = milliseconds(metric.get("scoreUnit").asText());
        List<Double> forks = new ArrayList<>();
        for (JsonNode fork : metric.path("rawData")) {
            List<Double> iterations = new ArrayList<>();
            fork.forEach(iteration -> iterations.add(iteration.asDouble() * milliseconds));
            forks.add(Times.median(iterations));
        }
        // sampled times are stored as a histogram
        double median = metric.path("scorePercentiles").path("50.0").asDouble(Double.NaN);
        return forks.isEmpty() ? List.of(median * milliseconds) : List.copyOf(forks);
    }

    private static double milliseconds(String unit) {
        return switch (unit) {
            case "s/op" -> 1e3;
            case "ms/op" -> 1;
            case "us/op" -> 1e-3;
            case "ns/op" -> 1e-6;
            default -> throw new IllegalArgumentException("no time per call: " + unit);
        };
    }

    private static Run run(JsonNode entry, int forks) {
        List<String> flags = new ArrayList<>();
        entry.path("jvmArgs").forEach(flag -> flags.add(flag.asText()));
        UnaryOperator<String> text = field -> entry.path(field).asText();
        String iterations = "%s × %s iterations of %s after %s of %s"
                .formatted(
                        count(forks, "fork"),
                        text.apply("measurementIterations"),
                        text.apply("measurementTime"),
                        text.apply("warmupIterations"),
                        text.apply("warmupTime"));
        String jdk = text.apply("jdkVersion") + ", " + text.apply("vmName") + " " + text.apply("vmVersion");
        int threads = entry.path("threads").asInt(1);
        return new Run(threads, jdk, flags, Machine.lanes(flags), iterations, text.apply("date"));
    }

    static String count(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }
}
