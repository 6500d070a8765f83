package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.analysis.AttentionCost;
import io.multihead.analysis.AttentionCost.Component;
import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.demo.train.Tensors;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.knowm.xchart.XYChart;

/** Exhibits about a layer's parameters, and about its cost with 1, 8 and 16 heads and with a long context. */
final class LayerExhibits {
    private static final int WIDE = 512;
    private static final int HEADS = 8;
    private static final long EFFICIENT_LENGTH = 512;
    private static final int TIMED = 7;
    /** The time for which each size runs before it is timed, so that C2 compiles the whole path. */
    private static final long WARM_UP_NANOS = 700_000_000L;

    private LayerExhibits() {}

    /** Returns the exhibit of the parameters of a layer with d_model 512 and 8 heads. */
    static Exhibit parameters() {
        AttentionCost cost = new AttentionCost(WIDE, HEADS);
        long matrix = (long) WIDE * WIDE;
        List<List<String>> table = new ArrayList<>();
        table.add(List.of("part", "shape", "without bias", "with bias"));
        for (String name : List.of("W_q", "W_k", "W_v", "W_o")) {
            table.add(
                    List.of(name, format("%d × %d", WIDE, WIDE), format("%,d", matrix), format("%,d", matrix + WIDE)));
        }
        table.add(List.of(
                "attention, h = 8, d_k = " + WIDE / HEADS,
                "",
                format("%,d", cost.parameters(false)),
                format("%,d", cost.parameters(true))));
        long single = MultiHeadConfig.of(WIDE, 1).parameterCount();
        table.add(List.of(
                "attention, h = 1, d_k = " + WIDE,
                "",
                format("%,d", MultiHeadConfig.of(WIDE, 1).withBias(false).parameterCount()),
                format("%,d", single)));
        long hidden = 4L * WIDE;
        table.add(List.of(
                "feed-forward, 4 d wide",
                format("2 × %d × %d", WIDE, hidden),
                format("%,d", cost.feedForwardParameters(hidden, false)),
                format("%,d", cost.feedForwardParameters(hidden, true))));
        double share =
                (double) cost.parameters(true) / (cost.parameters(true) + cost.feedForwardParameters(hidden, true));
        return new Exhibit(
                "Parameters of a layer",
                "d_model 512. Heads divide the same four matrices, so their number does not change the counts.",
                List.of(),
                table,
                format(
                        "8 heads of %d and one head of %d have the same %,d parameters; attention holds %.1f %% of a block's weights, the "
                                + "feed-forward network %.1f %%.",
                        WIDE / HEADS, WIDE, single, 100 * share, 100 * (1 - share)));
    }

    /** Returns the exhibit of the time of forward and backward for 1, 8 and 16 heads, and for increasing contexts. */
    static Exhibit efficiency(Compute cpu, long longest, Consumer<String> step) {
        long[] lengths = CostExhibits.lengths(Math.min(EFFICIENT_LENGTH, longest), longest);
        // one length is a quick run, not a study
        boolean brief = lengths.length == 1;
        long warmUp = brief ? 0 : WARM_UP_NANOS;
        int timed = brief ? 1 : TIMED;
        int[] heads = {1, 8, 16};
        List<TimedLayer> wide = new ArrayList<>();
        for (int h : heads) {
            step.accept("h = " + h);
            wide.add(new TimedLayer(Arena.ofAuto(), h, lengths[0]));
        }
        double[][] times = times(cpu, wide, timed, warmUp);
        double[] forward = column(times, 0);
        double[] backward = column(times, 1);
        List<TimedLayer> contexts = new ArrayList<>();
        List<List<String>> table = new ArrayList<>();
        table.add(List.of(
                "tokens",
                "operations forward",
                "operations backward",
                "kept for backward",
                "weights, if materialized"));
        AttentionCost cost = new AttentionCost(WIDE, HEADS);
        for (int i = 0; i < lengths.length; i++) {
            step.accept("L = " + lengths[i]);
            contexts.add(new TimedLayer(Arena.ofAuto(), HEADS, lengths[i]));
            table.add(row(cost, lengths[i]));
        }
        double[][] curves = times(cpu, contexts, Math.min(3, timed), warmUp);
        double[] x = Arrays.stream(lengths).asDoubleStream().toArray();
        XYChart chart = Charts.lines("One context, d_model 512, h = 8", "tokens L", "milliseconds", true);
        Charts.line(chart, "forward", x, column(curves, 0), false);
        Charts.line(chart, "backward", x, column(curves, 1), false);
        Charts.labelWithinDecades(chart);
        int last = lengths.length - 1;
        return new Exhibit(
                "The cost of heads and length, forward and backward",
                format(
                        "The whole layer with projections, batch 1, medians of %d warm calls; bars at %d tokens. Operations are counted, "
                                + "times measured.",
                        timed, lengths[0]),
                List.of(heads(forward, backward), Charts.draw("efficiency-length", chart)),
                table,
                format(
                        "16 heads take %.2f times as long as one head forward and %.2f times as long backward; at %,d tokens, forward took %.1f ms and "
                                + "backward %.1f ms, with %.1f MiB of memory; the weights alone would take %.0f MiB.",
                        forward[2] / forward[0],
                        backward[2] / backward[0],
                        lengths[last],
                        curves[last][0],
                        curves[last][1],
                        cost.recordedBytes(lengths[last]) / 0x1p20,
                        cost.weightBytes(lengths[last]) / 0x1p20));
    }

    private static double[] column(double[][] times, int column) {
        return Arrays.stream(times).mapToDouble(row -> row[column]).toArray();
    }

    private static Exhibit.Picture heads(double[] forward, double[] backward) {
        Map<String, double[]> bars = new LinkedHashMap<>();
        bars.put("forward", forward);
        bars.put("backward", backward);
        List<String> names = List.of("h = 1", "h = 8", "h = 16");
        return Charts.draw("efficiency-heads", Charts.bars("One layer, d_model 512", "", "milliseconds", names, bars));
    }

    private static List<String> row(AttentionCost cost, long length) {
        double forward = 0;
        double backward = 0;
        for (Component component : Component.values()) {
            forward += cost.operations(component, length);
            backward += cost.backwardOperations(component, length);
        }
        return List.of(
                format("%,d", length),
                format("%.2f G", forward / 1e9),
                format("%.2f G", backward / 1e9),
                format("%.1f MiB", cost.recordedBytes(length) / 0x1p20),
                format("%.1f MiB", cost.weightBytes(length) / 0x1p20));
    }

    /**
     * Returns the median milliseconds of recording and of backward of each layer. Layers alternate, also in the
     * warm-up. Otherwise, the first layer would be timed while the JVM still compiles.
     */
    private static double[][] times(Compute cpu, List<TimedLayer> layers, int repeats, long warmUp) {
        double[][] forward = new double[layers.size()][repeats];
        double[][] backward = new double[layers.size()][repeats];
        long warm = System.nanoTime() + layers.size() * warmUp;
        for (int i = -2; i < repeats; i += i >= 0 || System.nanoTime() > warm ? 1 : 0) {
            for (int l = 0; l < layers.size(); l++) {
                long[] nanos = layers.get(l).run(cpu);
                forward[l][Math.max(0, i)] = nanos[0] * 1e-6;
                backward[l][Math.max(0, i)] = nanos[1] * 1e-6;
            }
        }
        double[][] medians = new double[layers.size()][];
        for (int l = 0; l < medians.length; l++) {
            Arrays.sort(forward[l]);
            Arrays.sort(backward[l]);
            medians[l] = new double[] {forward[l][repeats / 2], backward[l][repeats / 2]};
        }
        return medians;
    }

    /** A layer of self-attention with random input, and memory for its results. */
    private static final class TimedLayer {
        private final MultiHeadAttention layer;
        private final Tensor x;
        private final Tensor y;
        private final Tensor dx;
        private final Map<String, Tensor> gradients;

        TimedLayer(Arena arena, int heads, long length) {
            layer = MultiHeadAttention.initialize(
                    arena, MultiHeadConfig.of(WIDE, heads).withOptions(AttentionOptions.DEFAULT), 1);
            x = Tensors.normal(new SplittableRandom(1), 1, 1, length, WIDE);
            y = Tensor.allocate(arena, DType.F32, x.shape());
            dx = Tensor.allocate(arena, DType.F32, x.shape());
            gradients = Gradients.zeros(arena, layer);
        }

        /** Returns the nanoseconds of recording and of backward. */
        long[] run(Compute cpu) {
            long start = System.nanoTime();
            try (Pass pass = layer.record(cpu, x, y)) {
                long middle = System.nanoTime();
                pass.backward(x, dx, gradients);
                return new long[] {middle - start, System.nanoTime() - middle};
            }
        }
    }
}
