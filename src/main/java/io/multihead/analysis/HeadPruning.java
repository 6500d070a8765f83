package io.multihead.analysis;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Finds the heads that a model does not need: greedy iterative pruning (Michel et al. 2019, section 4). It works with any model for which
 * the caller provides two functions: the accuracy of the model with some heads silenced, and the importance of the remaining heads.
 */
public final class HeadPruning {
    /** More heads than any model has; the search requests the importance of all heads once per head. */
    private static final int MOST_HEADS = 1 << 20;

    private HeadPruning() {}

    /**
     * One removed head.
     *
     * @param layer the layer of the head
     * @param head the number of the head in the layer
     * @param accuracy of the model without this head and the heads that were removed earlier
     */
    public record Step(int layer, int head, double accuracy) {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if one is negative
         */
        public Step {
            Checks.atLeast(layer, 0, "layer");
            Checks.atLeast(head, 0, "head");
        }
    }

    /**
     * The result of greedy pruning.
     *
     * @param before accuracy with all heads
     * @param steps the removed heads, in order. The last step of {@link #greedy} lost more than allowed, so its head survives, unless the
     *     search ended because only one head per layer is left
     * @param kept {@code [layer][head]}: whether the head survives
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Result(double before, List<Step> steps, boolean[][] kept) {
        /** Checks that nothing is missing. */
        public Result {
            steps = Checks.noNulls(steps, "steps");
            Checks.noNulls(kept, "kept");
        }

        /**
         * Returns the surviving heads of a layer.
         *
         * @param layer from 0
         * @return the numbers of the heads, ascending
         * @throws IllegalArgumentException if there is no such layer
         */
        public int[] survivors(int layer) {
            Checks.index(layer, kept.length, "layer");
            int[] heads = new int[kept[layer].length];
            int count = 0;
            for (int h = 0; h < heads.length; h++) {
                if (kept[layer][h]) {
                    heads[count++] = h;
                }
            }
            return Arrays.copyOf(heads, count);
        }
    }

    /**
     * Returns the loss of accuracy when a single head is silenced, for each head.
     *
     * @param layers the number of layers
     * @param heads the number of heads of each layer
     * @param accuracy returns the accuracy of the model with only the heads marked in {@code [layer][head]}
     * @return {@code [layers][heads]}: accuracy of the whole model minus the accuracy without the head
     * @throws IllegalArgumentException if a number is below 1, or there are more than 2^20 heads in total
     */
    public static double[][] ablation(int layers, int heads, ToDoubleFunction<boolean[][]> accuracy) {
        Checks.notNull(accuracy, "accuracy");
        boolean[][] kept = all(layers, heads);
        double whole = accuracy.applyAsDouble(copy(kept));
        double[][] lost = new double[layers][heads];
        for (int l = 0; l < layers; l++) {
            for (int h = 0; h < heads; h++) {
                kept[l][h] = false;
                lost[l][h] = whole - accuracy.applyAsDouble(copy(kept));
                kept[l][h] = true;
            }
        }
        return lost;
    }

    /**
     * Removes the least important head and computes importance again, until accuracy has fallen by more than allowed. Every layer keeps one
     * head.
     *
     * @param layers the number of layers
     * @param heads the number of heads of each layer
     * @param accuracy returns the accuracy of the model with only the heads marked in {@code [layer][head]}
     * @param importance returns the importance of the remaining heads, {@code [layer][head]}, comparable across layers
     * @param allowed the largest loss of accuracy relative to the whole model
     * @return the steps and the surviving heads
     * @throws IllegalArgumentException if a number is below 1, there are more than 2^20 heads in total, {@code allowed} is negative,
     *     or the importance has another shape or is NaN for a head that is left
     */
    public static Result greedy(
            int layers,
            int heads,
            ToDoubleFunction<boolean[][]> accuracy,
            Function<boolean[][], double[][]> importance,
            double allowed) {
        Checks.notNull(accuracy, "accuracy");
        Checks.notNull(importance, "importance");
        if (!(allowed >= 0)) {
            throw Checks.fail("allowed", String.valueOf(allowed), "expected at least 0");
        }
        boolean[][] kept = all(layers, heads);
        double before = accuracy.applyAsDouble(copy(kept));
        List<Step> steps = new ArrayList<>();
        for (Step step = removeLeast(kept, accuracy, importance);
                step != null;
                step = removeLeast(kept, accuracy, importance)) {
            steps.add(step);
            if (!(step.accuracy() >= before - allowed)) {
                kept[step.layer()][step.head()] = true;
                break;
            }
        }
        return new Result(before, List.copyOf(steps), kept);
    }

    /**
     * Removes the least important head and computes importance again, until the given number of heads is left. The loss of accuracy has no
     * limit. Every layer keeps one head.
     *
     * @param layers the number of layers
     * @param heads the number of heads of each layer
     * @param survivors the number of heads that remain in all layers together
     * @param accuracy returns the accuracy of the model with only the heads marked in {@code [layer][head]}
     * @param importance returns the importance of the remaining heads, {@code [layer][head]}, comparable across layers
     * @return the steps, each of which removed a head, and the surviving heads
     * @throws IllegalArgumentException if a number is below 1, there are more than 2^20 heads in total, {@code survivors} is below
     *     {@code layers} or above the number of all heads, or the importance has another shape or is NaN for a head that is left
     */
    public static Result greedyTo(
            int layers,
            int heads,
            int survivors,
            ToDoubleFunction<boolean[][]> accuracy,
            Function<boolean[][], double[][]> importance) {
        Checks.notNull(accuracy, "accuracy");
        Checks.notNull(importance, "importance");
        boolean[][] kept = all(layers, heads);
        int removed = layers * heads - survivors;
        if (survivors < layers || removed < 0) {
            throw Checks.fail(
                    "survivors",
                    String.valueOf(survivors),
                    "expected " + layers + ", one of each layer, to " + layers * heads);
        }
        double before = accuracy.applyAsDouble(copy(kept));
        List<Step> steps = new ArrayList<>();
        while (steps.size() < removed) {
            steps.add(Objects.requireNonNull(removeLeast(kept, accuracy, importance)));
        }
        return new Result(before, List.copyOf(steps), kept);
    }

    /** Removes the least important head of all layers with more than one head; null if there is no such layer. */
    private static @Nullable Step removeLeast(
            boolean[][] kept, ToDoubleFunction<boolean[][]> accuracy, Function<boolean[][], double[][]> importance) {
        int[] least = least(kept, of(importance, kept));
        if (least == null) {
            return null;
        }
        kept[least[0]][least[1]] = false;
        return new Step(least[0], least[1], accuracy.applyAsDouble(copy(kept)));
    }

    /** Returns the least important head of all layers with more than one head; null if there is no such layer. */
    private static int @Nullable [] least(boolean[][] kept, double[][] importance) {
        int[] least = null;
        for (int l = 0; l < kept.length; l++) {
            int count = 0;
            for (boolean head : kept[l]) {
                count += head ? 1 : 0;
            }
            for (int h = 0; count > 1 && h < kept[l].length; h++) {
                if (kept[l][h] && (least == null || importance[l][h] < importance[least[0]][least[1]])) {
                    least = new int[] {l, h};
                }
            }
        }
        return least;
    }

    private static double[][] of(Function<boolean[][], double[][]> importance, boolean[][] kept) {
        double[][] result = Checks.noNulls(importance.apply(copy(kept)), "importance");
        Checks.length(result.length, kept.length, "importance", "one row per layer");
        for (int l = 0; l < kept.length; l++) {
            Checks.length(result[l].length, kept[l].length, "importance[" + l + "]", "one per head");
            for (int h = 0; h < kept[l].length; h++) {
                if (kept[l][h] && Double.isNaN(result[l][h])) {
                    throw Checks.fail("importance[" + l + "][" + h + "]", "NaN", "expected a number");
                }
            }
        }
        return result;
    }

    private static boolean[][] all(int layers, int heads) {
        Checks.atLeast(layers, 1, "layers");
        Checks.atLeast(heads, 1, "heads");
        if ((long) layers * heads > MOST_HEADS) {
            throw Checks.fail("heads", layers + " x " + heads, "expected at most " + MOST_HEADS + " in all");
        }
        boolean[][] kept = new boolean[layers][heads];
        for (boolean[] layer : kept) {
            Arrays.fill(layer, true);
        }
        return kept;
    }

    private static boolean[][] copy(boolean[][] kept) {
        return Arrays.stream(kept).map(boolean[]::clone).toArray(boolean[][]::new);
    }
}
