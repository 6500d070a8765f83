package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.analysis.AttentionCost;
import io.multihead.analysis.AttentionCost.Component;
import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.compute.Compute;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.awt.BasicStroke;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;

/** Exhibits about the cost of attention. */
final class CostExhibits {
    private static final int HEAD_DIM = 64;
    private static final long SHORTEST = 256;

    private CostExhibits() {}

    /** Returns exhibit 5: the memory of both paths, as measured in this run. */
    static Exhibit memory(long longest, Parallel parallel, Consumer<String> step) {
        long[] lengths = lengths(SHORTEST, longest);
        double[] tiled = new double[lengths.length];
        double[] whole = new double[lengths.length];
        for (int i = 0; i < lengths.length; i++) {
            long length = lengths[i];
            step.accept("L = " + length);
            List<Long> bytes = parallel.map(2, weights -> bytes(length, weights == 0));
            whole[i] = bytes.get(0) / 1024.0;
            tiled[i] = bytes.get(1) / 1024.0;
        }
        double[] x = Arrays.stream(lengths).asDoubleStream().toArray();
        XYChart chart = Charts.lines("Memory beyond the inputs, one head of 64", "tokens L", "KiB", true);
        Charts.line(chart, "materialized", x, whole, false);
        Charts.line(chart, "tiled", x, tiled, false);
        Charts.line(chart, "O(L²): 4 L² bytes", x, scaled(x, 2, 4 / 1024.0), true);
        Charts.line(chart, "O(L): output, 256 L bytes", x, scaled(x, 1, 4 * HEAD_DIM / 1024.0), true);
        int last = lengths.length - 1;
        return new Exhibit(
                "Memory against length",
                "Measured are the scratch memory that a new Compute holds after one call, in arrays on the Java heap and in native memory, "
                        + "and the bytes of the output and, for materialized attention, of the weights.",
                List.of(Charts.draw("memory", chart)),
                format(
                        "At %,d tokens tiled attention took %.1f MiB and materialized attention %.1f MiB, %.0f times as much; from "
                                + "%,d tokens on, tiled memory grew by a factor of %.1f while length grew by %.0f.",
                        lengths[last],
                        tiled[last] / 1024,
                        whole[last] / 1024,
                        whole[last] / tiled[last],
                        lengths[0],
                        tiled[last] / tiled[0],
                        x[last] / x[0]));
    }

    /** Returns exhibit 6: operations by component. */
    static Exhibit operations() {
        AttentionCost cost = new AttentionCost(Subject.EMBED_DIM, Subject.HEADS);
        long[] lengths = lengths(16, 16_384);
        double[] x = Arrays.stream(lengths).asDoubleStream().toArray();
        XYChart chart = Charts.lines("Operations of one layer, d = 64, h = 8", "tokens L", "operations", true);
        chart.getStyler().setYAxisDecimalPattern("0E0");
        for (Component component : Component.values()) {
            double[] y = Arrays.stream(lengths)
                    .mapToDouble(l -> cost.operations(component, l))
                    .toArray();
            XYSeries line = Charts.line(chart, component.name().toLowerCase(Locale.ROOT), x, y, false);
            if (component == Component.SCORES) {
                line.setLineStyle(new BasicStroke(6f)); // the line of the values is equal and on top
            }
        }
        double crossover = cost.crossover();
        double least = cost.operations(Component.OUTPUT, lengths[0]) / 10;
        double highest = cost.operations(Component.SCORES, lengths[lengths.length - 1]);
        Charts.line(
                chart,
                format("crossover at L = %.0f", crossover),
                new double[] {crossover, crossover},
                new double[] {least, highest},
                true);
        long last = lengths[lengths.length - 1];
        return new Exhibit(
                "Operations by component",
                "Operations are counted, not measured. A multiply-add has two operations, and the softmax has five per score.",
                List.of(Charts.draw("operations", chart)),
                format(
                        "From %.0f tokens on, scores, softmax and values cost more than all projections; at %,d tokens they are "
                                + "%.1f %% of the layer, at 16 tokens %.1f %%.",
                        crossover, last, 100 * share(cost, last), 100 * share(cost, 16)));
    }

    private static double share(AttentionCost cost, long length) {
        double all = Arrays.stream(Component.values())
                .mapToDouble(c -> cost.operations(c, length))
                .sum();
        double attention = cost.operations(Component.SCORES, length)
                + cost.operations(Component.SOFTMAX, length)
                + cost.operations(Component.VALUES, length);
        return attention / all;
    }

    /** Returns the bytes of scratch memory and outputs of one call. */
    private static long bytes(long length, boolean weights) {
        Shape shape = Shape.of(1, 1, length, HEAD_DIM);
        try (Arena arena = Arena.ofConfined();
                Compute cpu = Compute.serial()) {
            Tensor input = Tensor.allocate(arena, DType.F32, shape);
            AttentionOutputs outputs = AttentionOutputs.of(Tensor.allocate(arena, DType.F32, shape));
            long asked = 4 * shape.elements();
            if (weights) {
                outputs = outputs.withWeights(Tensor.allocate(arena, DType.F32, Shape.of(1, 1, length, length)));
                asked += 4 * length * length;
            }
            Attention.forward(cpu, input, input, input, outputs, AttentionOptions.DEFAULT);
            return asked + cpu.heldBytes();
        }
    }

    private static double[] scaled(double[] x, int power, double factor) {
        return Arrays.stream(x).map(l -> Math.pow(l, power) * factor).toArray();
    }

    /** Returns the powers of two from the first to the last. */
    static long[] lengths(long first, long last) {
        return LongStream.iterate(first, l -> l <= Math.max(first, last), l -> 2 * l)
                .toArray();
    }
}
