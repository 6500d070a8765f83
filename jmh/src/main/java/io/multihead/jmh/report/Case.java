package io.multihead.jmh.report;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A case in which the impls of a benchmark are compared: all parameters except {@code impl}. Cases are ordered by
 * benchmark, threads, then parameters.
 */
record Case(String benchmark, Map<String, String> parameters) implements Comparable<Case> {
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    /** Returns the number of threads of the call, which is 1 for benchmarks without the parameter. */
    int threads() {
        double threads = number("threads");
        return Double.isNaN(threads) ? 1 : (int) threads;
    }

    /** Returns a parameter as a number, or NaN if it is absent. */
    double number(String parameter) {
        String value = parameters.getOrDefault(parameter, "");
        return NUMBER.matcher(value).matches() ? Double.parseDouble(value) : Double.NaN;
    }

    Case withThreads(int threads) {
        Map<String, String> others = new TreeMap<>(parameters);
        others.put("threads", String.valueOf(threads));
        return new Case(benchmark, others);
    }

    /** Returns the text of the parameters in tables, with the threads at the end. */
    String label() {
        String threads = parameters.containsKey("threads") ? "threads=" + parameters.get("threads") : "";
        String others = labelWithoutThreads();
        return others + (others.isEmpty() || threads.isEmpty() ? "" : ", ") + threads;
    }

    String labelWithoutThreads() {
        return parameters.entrySet().stream()
                .filter(e -> !e.getKey().equals("threads"))
                .map(e -> e.getKey() + "=" + e.getValue())
                .collect(Collectors.joining(", "));
    }

    @Override
    public int compareTo(Case other) {
        return key().compareTo(other.key());
    }

    /**
     * Returns a key for sorting, with numbers aligned to the right, so that 512 is before 4096, also within a shape.
     */
    private String key() {
        String key = benchmark + " threads=" + threads() + ", " + labelWithoutThreads();
        return NUMBER.matcher(key)
                .replaceAll(m -> " ".repeat(Math.max(0, 20 - m.group().length())) + m.group());
    }
}
