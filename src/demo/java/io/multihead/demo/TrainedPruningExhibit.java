package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/** The exhibit about the heads of the trained model that can be removed, with cost and gain. */
final class TrainedPruningExhibit {
    /** The numbers of removals after which vectors are evaluated. */
    private static final int[] POINTS = {0, 6, 12, 18, 24, 36, 48, 60, 66};
    /** The numbers of removals for heads in random order. */
    private static final int[] RANDOM_POINTS = {0, 12, 24, 36, 48, 60, 66};

    private static final int[] TIMED_POINTS = {0, 24, 48, 66};
    /** Vectors with a larger cosine find nearly the same neighbors. */
    private static final double CLOSE = 0.95;

    private final TrainedPruning pruning;
    private final double[][] lost;
    private final List<int[]> order;
    private final List<MaskedCosine.Left> left;
    private final double[] random;
    private final double[] milliseconds;

    TrainedPruningExhibit(TrainedPruning pruning, long seed) {
        this.pruning = pruning;
        TrainedPruning.Order found = pruning.order();
        lost = found.lost();
        order = found.steps().stream()
                .map(step -> new int[] {step.layer(), step.head()})
                .toList();
        left = pruning.left(order, POINTS);
        random = pruning.left(TrainedPruning.randomOrder(seed), RANDOM_POINTS).stream()
                .mapToDouble(MaskedCosine.Left::cosine)
                .toArray();
        milliseconds = pruning.milliseconds(Arrays.stream(TIMED_POINTS)
                .mapToObj(count -> TrainedPruning.kept(order, count))
                .toList());
    }

    Exhibit draw() {
        return new Exhibit(
                "Heads that the trained model does not need",
                format(
                        "Cosine between the vectors of %d sentences (%s) with and without heads. The order is greedy: each step removes "
                                + "the head with the smallest loss. The losses are measured again after every %d steps, on other "
                                + "sentences than the evaluation. Each layer keeps one head. At the end, the weights of these heads are "
                                + "removed, and a batch of %d tokens is timed (median of 5, with all threads) on %s.",
                        pruning.sentences(), Fables.SOURCE, pruning.round(), pruning.timedTokens(), Processor.name()),
                List.of(
                        WeightMap.heads(
                                "trained-ablation",
                                "Cosine lost without one head",
                                "in thousandths",
                                thousandths(),
                                "%.1f"),
                        WeightMap.heads(
                                "trained-order",
                                "Order of removal",
                                "the step at which a head is removed; 67: kept",
                                orders(),
                                "%.0f"),
                        curve(),
                        speed()),
                table(),
                finding());
    }

    private double[][] thousandths() {
        return Arrays.stream(lost)
                .map(layer ->
                        Arrays.stream(layer).map(x -> Math.max(0, 1e3 * x)).toArray())
                .toArray(double[][]::new);
    }

    private double[][] orders() {
        double[][] orders = new double[lost.length][lost[0].length];
        for (double[] layer : orders) {
            Arrays.fill(layer, order.size() + 1.0);
        }
        for (int i = 0; i < order.size(); i++) {
            orders[order.get(i)[0]][order.get(i)[1]] = i + 1.0;
        }
        return orders;
    }

    private Exhibit.Picture curve() {
        XYChart chart = Charts.smallLines("Vectors while heads are removed", "heads removed of 72", "", false);
        double[] x = doubles(POINTS);
        Charts.line(chart, "cosine, greedy", x, values(true), false);
        Charts.line(chart, "cosine, random", doubles(RANDOM_POINTS), random, false);
        Charts.line(chart, "same nearest sentence", x, values(false), false);
        chart.getStyler().setYAxisMax(1.0);
        return Charts.draw("trained-pruning", chart);
    }

    private Exhibit.Picture speed() {
        XYChart chart = Charts.smallLines(
                "Time of a batch without their weights", "heads removed of 72", "milliseconds", false);
        Charts.line(chart, "measured", doubles(TIMED_POINTS), milliseconds, false);
        return Charts.draw("trained-speed", chart);
    }

    private List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("heads removed", "cosine", "same nearest sentence", "weights of the blocks", "ms per batch"));
        for (int i = 0; i < POINTS.length; i++) {
            int timed = Arrays.binarySearch(TIMED_POINTS, POINTS[i]);
            rows.add(List.of(
                    String.valueOf(POINTS[i]),
                    format("%.4f", left.get(i).cosine()),
                    format("%.0f %%", 100 * left.get(i).sameNeighbor()),
                    format("%,d", pruning.parameters(POINTS[i])),
                    timed < 0 ? "" : format("%.1f", milliseconds[timed])));
        }
        return rows;
    }

    private String finding() {
        int last = IntStream.range(0, POINTS.length)
                .filter(i -> left.get(i).cosine() >= CLOSE)
                .max()
                .orElse(0);
        int half = Arrays.binarySearch(POINTS, 36);
        int end = TIMED_POINTS.length - 1;
        int worst = Values.largest(lost.length * lost[0].length, this::lost);
        return format(
                "Without %d of 72 heads the mean cosine is %.3f, without half of them %.3f and in random order %.3f; the head whose loss "
                        + "alone costs most is layer %d head %d (%.3f). With one head a layer the model runs %.2f times as fast "
                        + "as with all of them, since most of its weights are not in attention.",
                POINTS[last],
                left.get(last).cosine(),
                left.get(half).cosine(),
                random[Arrays.binarySearch(RANDOM_POINTS, 36)],
                worst / lost[0].length + 1,
                worst % lost[0].length + 1,
                lost(worst),
                milliseconds[0] / milliseconds[end]);
    }

    private double lost(int head) {
        return lost[head / lost[0].length][head % lost[0].length];
    }

    private double[] values(boolean cosine) {
        return left.stream()
                .mapToDouble(at -> cosine ? at.cosine() : at.sameNeighbor())
                .toArray();
    }

    private static double[] doubles(int... values) {
        return Arrays.stream(values).asDoubleStream().toArray();
    }
}
