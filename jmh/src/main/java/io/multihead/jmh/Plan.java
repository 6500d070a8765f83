package io.multihead.jmh;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;

/**
 * The set of {@code jmh/run docs}: a line of JMH's arguments for each invocation. Impls are those that a benchmark declares, so
 * that a new peer takes part at once; slow ones run in one case alone.
 */
public final class Plan {
    private static final int WARM_UPS = 2;
    private static final int ITERATIONS = 3;
    private static final double SECONDS = 0.5;
    /** Start of a JVM and set-up of a benchmark. */
    private static final double START = 2;

    private final List<String> lines = new ArrayList<>();
    private final Set<String> missing = new TreeSet<>();
    /** Of the comparisons that are claims; fewer of what stands beside them. */
    private int forks = 5;

    private int trials;
    private double seconds;

    private Plan() {}

    /**
     * Prints a line for each invocation, and to standard error how long all of them take.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        Plan plan = new Plan();
        plan.add("Roofline");
        plan.add("Sgemm", "size=256,1024,2048", "threads=1", "impl=multihead,onnxruntime,openblas,onednn");
        plan.add("Sgemm", "size=1024", "threads=2", "impl=multihead,onnxruntime,openblas,onednn");
        plan.add("Linear", "rows=1,8,64,512", "threads=1", "impl=multihead,onnxruntime");
        plan.add("Linear", "rows=512", "threads=1", "impl=openblas,onednn");
        plan.add(
                "AttentionForward",
                "shape=1x8x512x64,1x8x2048x64,1x8x4096x64,1x32x1024x128",
                "threads=1",
                "impl=multihead,onnxruntime,pytorch");
        plan.add("AttentionForward", "shape=1x8x2048x64", "causal=true", "threads=1", "impl=onnxgqa");
        plan.add("AttentionForward", "shape=1x8x2048x64", "threads=2", "impl=multihead,onnxruntime");
        plan.add("AttentionDecode", "keyHeads=8", "threads=1", "impl=multihead,paged,bf16,f16,i8,onnxruntime,pytorch");
        plan.add("AttentionDecode", "keyHeads=8", "threads=2", "impl=multihead,paged,bf16,i8,onnxruntime");
        plan.add("AttentionDecode", "keyHeads=32", "threads=1", "impl=multihead,bf16,onnxruntime,pytorch");
        plan.forks = 3;
        plan.add("MultiHeadAttentionLayer", "threads=1", "impl=multihead,onnxruntime,pytorch");
        plan.add("AttentionBackward", "threads=1");
        plan.add("TrainingStep", "threads=1");
        plan.add("DecodeBatch");
        plan.add("PrefillOptions");
        plan.add("Softmax", "columns=2048", "threads=1");
        plan.add("Exponential");
        plan.add(
                "AttentionForward",
                "shape=1x8x1x64,1x8x16x64,1x8x128x64,1x8x512x64,1x8x2048x64",
                "causal=false",
                "threads=1",
                "impl=materialising");
        plan.add(
                "AttentionForward",
                "shape=1x8x1x64,1x8x16x64,1x8x128x64",
                "causal=false",
                "threads=1",
                "impl=multihead");
        plan.sample("AttentionDecode", "keys=4096", "keyHeads=8", "threads=1", "impl=multihead,onnxruntime");
        plan.slow("AttentionForward", "shape=1x8x512x64", "threads=1");
        plan.slow("AttentionDecode", "keyHeads=8", "keys=4096", "threads=1");
        plan.slow("Sgemm", "size=256", "threads=1");
        plan.print();
    }

    /** All impls but slow ones, with all values of the parameters that are not given here. */
    private void add(String benchmark, String... given) {
        line(benchmark, false, given);
    }

    /** Slow impls alone, with the first value of the parameters that are not given here. */
    private void slow(String benchmark, String... given) {
        line(benchmark, true, given);
    }

    /** Every call timed by itself, for its percentiles, and what it allocates. */
    private void sample(String benchmark, String... given) {
        int before = lines.size();
        line(benchmark, false, given);
        if (lines.size() > before) {
            String line = lines.removeLast();
            lines.add(line.replaceFirst(" -i .*", " -bm sample -prof gc -i " + ITERATIONS + " -r 5s"));
            seconds += forks * 2 * ITERATIONS * 4.5;
        }
    }

    private void line(String benchmark, boolean slow, String... given) {
        Class<?> type = find(benchmark);
        if (type == null) {
            missing.add(benchmark);
            return;
        }
        Map<String, List<String>> parameters = declared(type);
        if (slow) {
            parameters.replaceAll((name, values) -> name.equals("impl") ? values : values.subList(0, 1));
        }
        List<String> impls = parameters.getOrDefault("impl", List.of());
        if (slow && impls.isEmpty()) {
            return;
        }
        for (String parameter : given) {
            String[] nameAndValues = parameter.split("=");
            parameters.replace(nameAndValues[0], List.of(nameAndValues[1].split(",")));
        }
        parameters.computeIfPresent("impl", (name, values) -> values.stream()
                .filter(impl -> impls.contains(impl) && Impls.SLOW.contains(impl) == slow)
                .toList());
        int each = parameters.values().stream().mapToInt(List::size).reduce(1, (a, b) -> a * b);
        if (each == 0) {
            return;
        }
        int methods = (int) Arrays.stream(type.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(Benchmark.class))
                .count();
        trials += each * methods;
        seconds += each * methods * forks * ((WARM_UPS + ITERATIONS) * SECONDS + START);
        String options = parameters.entrySet().stream()
                .map(e -> " -p " + e.getKey() + "=" + String.join(",", e.getValue()))
                .collect(Collectors.joining());
        String time = Math.round(1000 * SECONDS) + "ms";
        lines.add("\\.%s\\.%s -f %d -wi %d -w %s -i %d -r %s"
                .formatted(benchmark, options, forks, WARM_UPS, time, ITERATIONS, time));
    }

    private void print() {
        if (!missing.isEmpty()) {
            System.err.println("no such benchmark, left out: " + String.join(", ", missing));
        }
        System.err.printf(
                Locale.ROOT, "%d invocations, %d trials: about %.0f minutes%n", lines.size(), trials, seconds / 60);
        lines.forEach(System.out::println);
    }

    private static Class<?> find(String benchmark) {
        try {
            return Class.forName(Plan.class.getPackageName() + "." + benchmark, false, Plan.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static Map<String, List<String>> declared(Class<?> type) {
        Map<String, List<String>> parameters = new LinkedHashMap<>();
        for (Field field : type.getDeclaredFields()) {
            Param values = field.getAnnotation(Param.class);
            if (values != null) {
                parameters.put(field.getName(), List.of(values.value()));
            }
        }
        return parameters;
    }
}
