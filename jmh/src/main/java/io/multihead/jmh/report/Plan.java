package io.multihead.jmh.report;

import io.multihead.jmh.bench.AttentionBackwardBench;
import io.multihead.jmh.bench.AttentionDecodeBench;
import io.multihead.jmh.bench.AttentionForwardBench;
import io.multihead.jmh.bench.DecodeBatchBench;
import io.multihead.jmh.bench.ExponentialBench;
import io.multihead.jmh.bench.LinearBench;
import io.multihead.jmh.bench.MultiHeadAttentionLayerBench;
import io.multihead.jmh.bench.PrefillOptionsBench;
import io.multihead.jmh.bench.Roofline;
import io.multihead.jmh.bench.SgemmBench;
import io.multihead.jmh.bench.SoftmaxBench;
import io.multihead.jmh.bench.TrainingStepBench;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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
        plan.add(Roofline.class);
        plan.add(SgemmBench.class, "size=256,1024,2048", "threads=1", "impl=multihead,onnxruntime,openblas,onednn");
        plan.add(SgemmBench.class, "size=1024", "threads=2", "impl=multihead,onnxruntime,openblas,onednn");
        plan.add(LinearBench.class, "rows=1,8,64,512", "threads=1", "impl=multihead,onnxruntime");
        plan.add(LinearBench.class, "rows=512", "threads=1", "impl=openblas,onednn");
        plan.add(
                AttentionForwardBench.class,
                "shape=1x8x512x64,1x8x2048x64,1x8x4096x64,1x32x1024x128",
                "threads=1",
                "impl=multihead,onnxruntime,pytorch");
        plan.add(AttentionForwardBench.class, "shape=1x8x2048x64", "causal=true", "threads=1", "impl=onnxgqa");
        plan.add(AttentionForwardBench.class, "shape=1x8x2048x64", "threads=2", "impl=multihead,onnxruntime");
        plan.add(
                AttentionDecodeBench.class,
                "keyHeads=8",
                "threads=1",
                "impl=multihead,paged,bf16,f16,i8,onnxruntime,pytorch");
        plan.add(AttentionDecodeBench.class, "keyHeads=8", "threads=2", "impl=multihead,paged,bf16,i8,onnxruntime");
        plan.add(AttentionDecodeBench.class, "keyHeads=32", "threads=1", "impl=multihead,bf16,onnxruntime,pytorch");
        plan.forks = 3;
        plan.add(MultiHeadAttentionLayerBench.class, "threads=1", "impl=multihead,onnxruntime,pytorch");
        plan.add(AttentionBackwardBench.class, "threads=1");
        plan.add(TrainingStepBench.class, "threads=1");
        plan.add(DecodeBatchBench.class);
        plan.add(PrefillOptionsBench.class);
        plan.add(SoftmaxBench.class, "columns=2048", "threads=1");
        plan.add(ExponentialBench.class);
        plan.add(
                AttentionForwardBench.class,
                "shape=1x8x1x64,1x8x16x64,1x8x128x64,1x8x512x64,1x8x2048x64",
                "causal=false",
                "threads=1",
                "impl=materialising");
        plan.add(
                AttentionForwardBench.class,
                "shape=1x8x1x64,1x8x16x64,1x8x128x64",
                "causal=false",
                "threads=1",
                "impl=multihead");
        plan.sample(AttentionDecodeBench.class, "keys=4096", "keyHeads=8", "threads=1", "impl=multihead,onnxruntime");
        plan.slow(AttentionForwardBench.class, "shape=1x8x512x64", "threads=1");
        plan.slow(AttentionDecodeBench.class, "keyHeads=8", "keys=4096", "threads=1");
        plan.slow(SgemmBench.class, "size=256", "threads=1");
        plan.print();
    }

    /** All impls but slow ones, with all values of the parameters that are not given here. */
    private void add(Class<?> benchmark, String... given) {
        line(benchmark, false, given);
    }

    /** Slow impls alone, with the first value of the parameters that are not given here. */
    private void slow(Class<?> benchmark, String... given) {
        line(benchmark, true, given);
    }

    /** Every call timed by itself, for its percentiles, and what it allocates. */
    private void sample(Class<?> benchmark, String... given) {
        int before = lines.size();
        line(benchmark, false, given);
        if (lines.size() > before) {
            String line = lines.removeLast();
            lines.add(line.replaceFirst(" -i .*", " -bm sample -prof gc -i " + ITERATIONS + " -r 5s"));
            seconds += forks * 2 * ITERATIONS * 4.5;
        }
    }

    private void line(Class<?> benchmark, boolean slow, String... given) {
        Map<String, List<String>> parameters = declared(benchmark);
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
        int methods = (int) Arrays.stream(benchmark.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(Benchmark.class))
                .count();
        trials += each * methods;
        seconds += each * methods * forks * ((WARM_UPS + ITERATIONS) * SECONDS + START);
        String options = parameters.entrySet().stream()
                .map(e -> " -p " + e.getKey() + "=" + String.join(",", e.getValue()))
                .collect(Collectors.joining());
        String time = Math.round(1000 * SECONDS) + "ms";
        lines.add("\\.%s\\.%s -f %d -wi %d -w %s -i %d -r %s"
                .formatted(benchmark.getSimpleName(), options, forks, WARM_UPS, time, ITERATIONS, time));
    }

    private void print() {
        System.err.printf(
                Locale.ROOT, "%d invocations, %d trials: about %.0f minutes%n", lines.size(), trials, seconds / 60);
        lines.forEach(System.out::println);
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
