package io.multihead.demo;

import static io.multihead.demo.HeadExhibits.format;

import io.multihead.analysis.HeadImportance;
import io.multihead.analysis.HeadPruning;
import io.multihead.compute.Compute;
import io.multihead.demo.train.Task;
import io.multihead.demo.train.TokenModel;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.knowm.xchart.XYChart;

/** Exhibits about which heads of a trained model matter: ablation, importance, pruning. */
final class PruningExhibits {
    private static final int LAYERS = 2;
    private static final int HEADS = 8;
    /** The number of batches for accuracy and importance in a whole study. It is smaller after fewer training steps. */
    private static final int TEST_BATCHES = 8;

    private static final double ALLOWED = 0.01;
    private static final int TIMED = 9;

    /** The model, which computes on the calling thread only. */
    private final TokenModel model;

    private final Compute cpu;
    private final Parallel parallel;
    private final long seed;
    private final int batches;
    private final int timed;
    private final double[][] lost;
    private final double[][] importance;
    private final HeadPruning.Result pruned;

    /**
     * Trains the model, if it has not been trained yet, and measures its heads.
     *
     * @param cpu all threads, for the measured times of a batch
     */
    PruningExhibits(Compute cpu, Trainings trainings) {
        this.cpu = cpu;
        parallel = trainings.parallel();
        seed = trainings.seed();
        batches = trainings.batches(TEST_BATCHES);
        timed = trainings.batches(TIMED);
        model = start(trainings).join().model();
        lost = HeadPruning.ablation(LAYERS, HEADS, this::accuracy);
        importance = importance(all());
        pruned = HeadPruning.greedy(LAYERS, HEADS, this::accuracy, this::importance, ALLOWED);
    }

    static CompletableFuture<Trainings.Trained> start(Trainings trainings) {
        return trainings.start(Task.RECALL, HEADS, LAYERS);
    }

    private double accuracy(boolean[][] kept) {
        TokenModel masked = masked(kept, Shape.of(HEADS));
        return Values.mean(parallel.map(batches, batch -> masked.batchAccuracy(seed, batch)));
    }

    private TokenModel masked(boolean[][] kept, Shape shape) {
        List<Tensor> masks = new ArrayList<>();
        for (boolean[] layer : kept) {
            float[] factors = new float[(int) shape.elements()];
            for (int i = 0; i < factors.length; i++) {
                factors[i] = layer[i % HEADS] ? 1f : 0f;
            }
            masks.add(Tensor.of(factors, shape.toArray()));
        }
        return model.withHeadMasks(masks);
    }

    /**
     * Returns the importance by layer and head from the gradients of single examples. The values of each layer are a
     * vector of length 1.
     */
    private double[][] importance(boolean[][] kept) {
        Task.Sizes sizes = model.config().sizes();
        int examples = sizes.batch();
        TokenModel watched = masked(kept, Shape.of(examples, HEADS));
        List<double[][]> ofBatches = parallel.map(batches, i -> {
            Map<String, Tensor> gradients = new LinkedHashMap<>();
            for (int l = 0; l < LAYERS; l++) {
                gradients.put(
                        "layers." + l + ".self_attn.head_mask",
                        Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(examples, HEADS)));
            }
            watched.learn(Task.RECALL.batch(sizes, ~seed, i), 0, gradients);
            double[][] own = new double[LAYERS][];
            for (int l = 0; l < LAYERS; l++) {
                own[l] = HeadImportance.of(gradients.get("layers." + l + ".self_attn.head_mask"));
            }
            return own;
        });
        double[][] result = new double[LAYERS][HEADS];
        for (double[][] own : ofBatches) {
            for (int i = 0; i < LAYERS * HEADS; i++) {
                result[i / HEADS][i % HEADS] += own[i / HEADS][i % HEADS];
            }
        }
        return Arrays.stream(result).map(HeadImportance::normalized).toArray(double[][]::new);
    }

    private static boolean[][] all() {
        boolean[][] kept = new boolean[LAYERS][HEADS];
        for (boolean[] layer : kept) {
            Arrays.fill(layer, true);
        }
        return kept;
    }

    /** Returns the exhibit that compares ablation with importance. */
    Exhibit importanceExhibit() {
        List<String> names = new ArrayList<>();
        double[] ablation = new double[LAYERS * HEADS];
        double[] gradient = new double[LAYERS * HEADS];
        for (int i = 0; i < ablation.length; i++) {
            names.add((i / HEADS + 1) + "." + (i % HEADS + 1));
            ablation[i] = 100 * lost[i / HEADS][i % HEADS];
            gradient[i] = importance[i / HEADS][i % HEADS];
        }
        int worst = Values.largest(ablation.length, i -> ablation[i]);
        int most = Values.largest(gradient.length, i -> gradient[i]);
        return new Exhibit(
                "Which heads matter",
                format(
                        "A model of %d blocks with %d heads, trained on the classification (accuracy %.1f %%). Ablation: accuracy lost "
                                + "when one head is masked. Importance: the mean absolute gradient of the "
                                + "loss with respect to a head's mask; the vector of each layer has length 1 (Michel et al. 2019).",
                        LAYERS, HEADS, 100 * pruned.before()),
                List.of(
                        Charts.draw(
                                "ablation",
                                Charts.bars(
                                        "Accuracy lost without one head",
                                        "layer.head",
                                        "percentage points",
                                        names,
                                        Map.of("lost", ablation))),
                        Charts.draw(
                                "importance",
                                Charts.bars(
                                        "Importance by gradient",
                                        "layer.head",
                                        "importance",
                                        names,
                                        Map.of("importance", gradient)))),
                format(
                        "The mask of head %s costs most, %.2f percentage points; head %s has the largest gradient; the ranks of both "
                                + "measures correlate with %.2f.",
                        names.get(worst), ablation[worst], names.get(most), rankCorrelation(ablation, gradient)));
    }

    /** Returns the exhibit of greedy pruning, the kept heads, and the gain from the removal of weights. */
    Exhibit pruningExhibit() {
        double[] x = new double[pruned.steps().size() + 1];
        double[] y = new double[x.length];
        y[0] = 100 * pruned.before();
        for (int i = 1; i < x.length; i++) {
            x[i] = i;
            y[i] = 100 * pruned.steps().get(i - 1).accuracy();
        }
        XYChart curve = Charts.lines("Accuracy while heads are removed", "heads removed", "accuracy, %", false);
        Charts.line(curve, "greedy pruning", x, y, false);
        double floor = 100 * (pruned.before() - ALLOWED);
        Charts.line(curve, "1 % less", new double[] {0, x.length - 1.0}, new double[] {floor, floor}, true);
        double[][] map = new double[LAYERS][HEADS];
        int survivors = 0;
        List<int[]> kept = new ArrayList<>();
        for (int l = 0; l < LAYERS; l++) {
            kept.add(pruned.survivors(l));
            survivors += kept.get(l).length;
            for (int h : kept.get(l)) {
                map[l][h] = Math.max(0.05, importance[l][h]);
            }
        }
        TokenModel smaller = model.keepHeads(kept);
        double whole = seconds(model.on(cpu));
        double small = seconds(smaller.on(cpu));
        return new Exhibit(
                "Pruning heads",
                "The least important head is masked, importance is measured again, and so on until accuracy has fallen by more than "
                        + "1 %. Every layer keeps one head. Colors show the importance of kept heads, and removed heads are dark. "
                        + "Then the weights of the other heads are removed, and the model runs without them.",
                List.of(
                        Charts.draw("pruning", curve),
                        WeightMap.heads("survivors", "Survivors", "importance; 0: removed", map, "%.2f")),
                format(
                        "%d of %d heads remain with an accuracy of %.1f %% (%.1f %% before); with their weights only, the model has "
                                + "%,d attention parameters instead of %,d and runs %.2f times as fast (%.2f ms and %.2f ms per "
                                + "batch, medians).",
                        survivors,
                        LAYERS * HEADS,
                        100 * smaller.accuracy(seed, batches),
                        100 * pruned.before(),
                        parameters(kept),
                        parameters(List.of(new int[HEADS], new int[HEADS])),
                        whole / small,
                        1e3 * small,
                        1e3 * whole));
    }

    private static long parameters(List<int[]> kept) {
        long dim = Trainings.EMBED_DIM;
        long headDim = dim / HEADS;
        return kept.stream()
                .mapToLong(heads -> heads.length * headDim * (4 * dim + 3) + dim)
                .sum();
    }

    /** Returns the median seconds of a warm batch. */
    private double seconds(TokenModel runs) {
        int[] tokens = Task.RECALL.batch(model.config().sizes(), ~seed, 0).tokens();
        double[] times = new double[timed];
        for (int i = -timed; i < timed; i++) {
            long start = System.nanoTime();
            runs.logits(tokens);
            times[Math.max(0, i)] = (System.nanoTime() - start) * 1e-9;
        }
        Arrays.sort(times);
        return times[timed / 2];
    }

    /** Returns Spearman's rank correlation. Equal values share a rank. */
    private static double rankCorrelation(double[] a, double[] b) {
        double[] x = ranks(a);
        double[] y = ranks(b);
        double mean = (a.length - 1) / 2.0;
        double xy = 0;
        double xx = 0;
        double yy = 0;
        for (int i = 0; i < a.length; i++) {
            xy += (x[i] - mean) * (y[i] - mean);
            xx += (x[i] - mean) * (x[i] - mean);
            yy += (y[i] - mean) * (y[i] - mean);
        }
        return xx == 0 || yy == 0 ? 0 : xy / Math.sqrt(xx * yy);
    }

    private static double[] ranks(double[] values) {
        double[] ranks = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            for (double other : values) {
                ranks[i] += other < values[i] ? 1 : other == values[i] ? 0.5 : 0;
            }
            ranks[i] -= 0.5;
        }
        return ranks;
    }
}
