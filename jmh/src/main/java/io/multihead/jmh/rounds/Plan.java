package io.multihead.jmh.rounds;

import io.multihead.jmh.bench.AttentionBackwardBench;
import io.multihead.jmh.bench.AttentionDecodeBench;
import io.multihead.jmh.bench.AttentionForwardBench;
import io.multihead.jmh.bench.BackwardOptionsBench;
import io.multihead.jmh.bench.DecodeBatchBench;
import io.multihead.jmh.bench.DecoderBench;
import io.multihead.jmh.bench.EmbeddingsBench;
import io.multihead.jmh.bench.ExpertsBench;
import io.multihead.jmh.bench.ExponentialBench;
import io.multihead.jmh.bench.FewRowsBench;
import io.multihead.jmh.bench.LinearBench;
import io.multihead.jmh.bench.MaxSimBench;
import io.multihead.jmh.bench.MixedBench;
import io.multihead.jmh.bench.MultiHeadAttentionLayerBench;
import io.multihead.jmh.bench.PrefillBench;
import io.multihead.jmh.bench.PrefillOptionsBench;
import io.multihead.jmh.bench.RerankBench;
import io.multihead.jmh.bench.SgemmBench;
import io.multihead.jmh.bench.SoftmaxBench;
import io.multihead.jmh.bench.TokenizerBench;
import io.multihead.jmh.bench.TrainingStepBench;
import io.multihead.jmh.bench.WeightFormatBench;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Param;

/**
 * The sets of {@code jmh/run}: a line for each invocation, of JMH's arguments with tabs between them. Impls of {@code docs} are those
 * that a benchmark declares, so that a new peer takes part at once; slow ones run in one case alone.
 */
public final class Plan {
    /**
     * Three seconds of warm-up, for peers too: after one second, calls of small shapes still took a third less from the first to the third
     * iteration, as C2 was not done (32 x 12 x 16 x 32: 1.43, 1.08 and 0.89 ms, and 0.78 later), while products were steady.
     */
    private static final String DOCS_TIMES = " -wi 3 -w 1s -i 3 -r 500ms";

    private static final String QUICK_TIMES = " -wi 3 -w 1s -i 3 -r 1s";

    private static final String QUICK = "(Sgemm|AttentionForward|AttentionBackward|TrainingStep)Bench"
            + " -p size=1024 -p shape=1x8x2048x64 -p tokens=1024 -p threads=1";

    /** Those that take seconds a call where others take milliseconds. */
    private static final Set<String> SLOW = Set.of("scalar", "reducelanes", "jlama");

    /** Batch, heads, tokens and headDim of small encoders. */
    private static final String SMALL = Stream.of(1, 8, 32)
            .flatMap(batch -> Stream.of(16, 64, 128, 256).map(tokens -> batch + "x12x" + tokens + "x32"))
            .collect(Collectors.joining(","));

    private final List<String> lines = new ArrayList<>();

    private Plan() {}

    /**
     * Prints a line for each invocation.
     *
     * @param arguments {@code quick}, {@code docs}, {@code full} or {@code compare}
     */
    public static void main(String[] arguments) {
        lines(arguments[0]).forEach(line -> System.out.println(line.strip().replaceAll(" +", "\t")));
    }

    /** Returns the lines of a set. */
    static List<String> lines(String set) {
        return switch (set) {
            case "quick" -> List.of(QUICK + QUICK_TIMES);
            case "full" -> List.of(".*");
            case "compare" -> compare();
            case "docs" -> {
                Plan plan = new Plan();
                plan.comparisons();
                plan.ownVariants();
                yield plan.lines;
            }
            default -> throw new IllegalArgumentException("set: " + set + "; expected quick, docs, full or compare");
        };
    }

    /** This library alone: what {@code quick} has, decode, and the layer. */
    private static List<String> compare() {
        return List.of(
                QUICK + " -p impl=multihead" + QUICK_TIMES,
                "\\.AttentionDecodeBench\\. -p keys=4096 -p threads=1 -p impl=multihead,bf16,i8" + QUICK_TIMES,
                "\\.MultiHeadAttentionLayerBench\\. -p threads=1 -p impl=multihead" + QUICK_TIMES);
    }

    private void comparisons() {
        // of one thread, the controls
        lines.add("\\.Roofline\\.\\w+2$" + DOCS_TIMES);
        add(SgemmBench.class, "size=256,1024,2048", "threads=1", "impl=multihead,onnxruntime,openblas,onednn");
        add(SgemmBench.class, "size=1024", "threads=2", "impl=multihead,onnxruntime,openblas,onednn");
        add(LinearBench.class, "rows=1,8,64,512", "threads=1", "impl=multihead,onnxruntime");
        add(LinearBench.class, "rows=512", "threads=1", "impl=openblas,onednn");
        add(FewRowsBench.class, "rows=1,4", "features=1024,4096");
        add(ExpertsBench.class, "threads=2");
        add(WeightFormatBench.class, "rows=1", "outputs=4096", "threads=1,2");
        add(
                WeightFormatBench.class,
                "rows=4,64,512",
                "outputs=4096",
                "threads=1,2",
                "impl=multihead,multihead-8bit,multihead-f32,onnxruntime,onnxruntime-8bit,llamacpp");
        add(
                AttentionForwardBench.class,
                "shape=1x8x512x64,1x8x2048x64,1x8x4096x64,1x32x1024x128",
                "threads=1",
                "impl=multihead,onnxruntime,pytorch");
        add(
                AttentionForwardBench.class,
                "shape=" + SMALL,
                "causal=false",
                "threads=1",
                "impl=multihead,materialising,onnxruntime,pytorch");
        add(AttentionForwardBench.class, "shape=1x8x2048x64", "causal=true", "threads=1", "impl=onnxgqa");
        add(AttentionForwardBench.class, "shape=1x8x2048x64", "threads=2", "impl=multihead,onnxruntime");
        add(
                AttentionDecodeBench.class,
                "keyValueHeads=8",
                "threads=1",
                "impl=multihead,paged,bf16,f16,i8,i8blocks,onnxruntime,pytorch");
        add(AttentionDecodeBench.class, "keyValueHeads=8", "threads=2", "impl=multihead,paged,bf16,i8,onnxruntime");
        add(AttentionDecodeBench.class, "keyValueHeads=32", "threads=1", "impl=multihead,bf16,onnxruntime,pytorch");
        add(MultiHeadAttentionLayerBench.class, "threads=1", "impl=multihead,onnxruntime,pytorch");
        add(AttentionBackwardBench.class, "threads=1");
        add(TrainingStepBench.class, "threads=1");
        add(SoftmaxBench.class, "threads=1");
        add(ExponentialBench.class);
        add(EmbeddingsBench.class, "threads=1", "impl=multihead,multiheadids,onnxpadded,onnxsingle,onnxint8");
        add(EmbeddingsBench.class, "texts=1x128,32x128,32xragged", "threads=2");
        add(
                DecoderBench.class,
                "model=LLAMA3_1B",
                "format=Q8_0,Q4_0,Q4_K,F16",
                "depth=128",
                "impl=multihead,multihead-8bit,llamacpp");
        add(PrefillBench.class, "model=LLAMA3_1B", "format=Q8_0,Q4_0,F16", "threads=2");
        add(RerankBench.class);
        add(MaxSimBench.class);
        add(TokenizerBench.class);
        sample(AttentionDecodeBench.class, "keys=4096", "keyValueHeads=8", "threads=1", "impl=multihead,onnxruntime");
    }

    private void ownVariants() {
        add(MixedBench.class);
        add(DecodeBatchBench.class);
        add(PrefillOptionsBench.class);
        add(BackwardOptionsBench.class);
        add(
                AttentionForwardBench.class,
                "shape=1x8x1x64,1x8x16x64,1x8x128x64",
                "causal=false",
                "threads=1",
                "impl=multihead,materialising");
        add(
                AttentionForwardBench.class,
                "shape=1x8x512x64,1x8x2048x64",
                "causal=false",
                "threads=1",
                "impl=materialising");
        slow(AttentionForwardBench.class, "shape=1x8x512x64", "threads=1");
        slow(AttentionDecodeBench.class, "keyValueHeads=8", "keys=4096", "threads=1");
        slow(SgemmBench.class, "size=256", "threads=1");
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
        line(benchmark, false, given);
        lines.add(lines.removeLast().replaceFirst(" -i .*", " -bm sample -prof gc -i 3 -r 5s"));
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
            if (!parameters.containsKey(nameAndValues[0])) {
                throw new IllegalArgumentException(benchmark.getSimpleName() + ": no parameter " + nameAndValues[0]);
            }
            parameters.replace(nameAndValues[0], List.of(nameAndValues[1].split(",")));
        }
        parameters.computeIfPresent("impl", (name, values) -> values.stream()
                .filter(impl -> impls.contains(impl) && SLOW.contains(impl) == slow)
                .toList());
        int each = parameters.values().stream().mapToInt(List::size).reduce(1, (a, b) -> a * b);
        if (each == 0) {
            return;
        }
        String options = parameters.entrySet().stream()
                .map(e -> " -p " + e.getKey() + "=" + String.join(",", e.getValue()))
                .collect(Collectors.joining());
        lines.add("\\." + benchmark.getSimpleName() + "\\." + options + DOCS_TIMES);
    }

    /** Returns the parameters of a benchmark with all their values, those that it inherits among them. */
    private static Map<String, List<String>> declared(Class<?> type) {
        Map<String, List<String>> parameters = new LinkedHashMap<>();
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                Param values = field.getAnnotation(Param.class);
                if (values != null) {
                    parameters.put(field.getName(), List.of(values.value()));
                }
            }
        }
        return parameters;
    }
}
