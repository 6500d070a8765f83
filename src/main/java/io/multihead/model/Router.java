package io.multihead.model;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The choice of a token's experts (Shazeer et al. 2017). A linear layer computes a logit for each expert. The scores are the softmax or the
 * sigmoids of the logits. The experts with the largest scores compute, and their results are added with the scores as factors. Among experts
 * with equal scores, the lower index is chosen.
 *
 * <p>Scores are computed in double and rounded once. If a logit of a token is NaN, its factors are NaN. Immutable and thread-safe.
 */
public final class Router {
    private final PackedLinear logits;
    private final int used;
    private final boolean sigmoid;
    private final boolean normalized;
    private final double scale;
    private final Additions additions;

    /**
     * Further settings of some families.
     *
     * @param norm the norm of the logits' input, or null
     * @param bias values that are added to the scores for the choice, or null
     * @param scales values by which the experts' factors are multiplied, or null
     */
    @SuppressWarnings("ArrayRecordComponent")
    private record Additions(@Nullable Norm norm, float @Nullable [] bias, float @Nullable [] scales) {}

    private Router(
            PackedLinear logits, int used, boolean sigmoid, boolean normalized, double scale, Additions additions) {
        this.logits = logits;
        this.used = used;
        this.sigmoid = sigmoid;
        this.normalized = normalized;
        this.scale = scale;
        this.additions = additions;
    }

    /**
     * {@return a softmax router, whose factors are divided by their sum: as in Mixtral and Qwen 3, and as in GPT-OSS, which takes the
     * softmax of the chosen logits only}
     *
     * @param logits the linear layer from a state to a logit for each expert
     * @param used the number of experts of a token
     * @throws IllegalArgumentException if the number is below 1, or there are fewer experts than this number
     */
    public static Router of(PackedLinear logits, int used) {
        int experts = Checks.notNull(logits, "logits").outputs();
        if (used < 1 || used > experts) {
            throw Checks.fail("used", String.valueOf(used), "expected 1 to " + experts + " experts");
        }
        return new Router(logits, used, false, true, 1, new Additions(null, null, null));
    }

    /** {@return this router with sigmoid scores, as in DeepSeek-V3} */
    public Router withSigmoid() {
        return new Router(logits, used, true, normalized, scale, additions);
    }

    /**
     * {@return this router with or without division of the factors by their sum}
     *
     * @param divided whether the factors are divided; otherwise they are the scores
     */
    public Router withNormalized(boolean divided) {
        return new Router(logits, used, sigmoid, divided, scale, additions);
    }

    /**
     * {@return this router with factors that are multiplied by a number}
     *
     * @param factor the number
     * @throws IllegalArgumentException if it is not finite
     */
    public Router withScale(double factor) {
        if (!Double.isFinite(factor)) {
            throw Checks.fail("factor", String.valueOf(factor), "expected a finite number");
        }
        return new Router(logits, used, sigmoid, normalized, factor, additions);
    }

    /**
     * {@return this router with values that are added to the scores only for the choice of experts, as DeepSeek-V3 does to balance the use of
     * experts}. Factors are computed from the scores without these values.
     *
     * @param addends {@code [experts]}, any element type, copied as f32; null for none
     * @throws IllegalArgumentException if the shape does not fit
     */
    public Router withSelectionBias(@Nullable Tensor addends) {
        float[] copy = ofExperts(addends, "addends");
        return with(new Additions(additions.norm, copy, additions.scales));
    }

    /**
     * {@return this router with factors that are multiplied by a value for each expert, as in Gemma 4}
     *
     * @param factors {@code [experts]}, any element type, copied as f32; null for none
     * @throws IllegalArgumentException if the shape does not fit
     */
    public Router withExpertScales(@Nullable Tensor factors) {
        float[] copy = ofExperts(factors, "factors");
        return with(new Additions(additions.norm, additions.bias, copy));
    }

    /**
     * {@return this router with logits of the normalized states, as in Gemma 4}. Experts read the states without
     * this normalization.
     *
     * @param norm a norm whose number of elements is the number of inputs of the linear layer; null for none
     * @throws IllegalArgumentException if it has another number of elements
     */
    public Router withNorm(@Nullable Norm norm) {
        if (norm != null && norm.dim() != logits.inputs()) {
            throw Checks.fail("norm", norm.dim() + " elements", "expected the " + logits.inputs() + " of a state");
        }
        return with(new Additions(norm, additions.bias, additions.scales));
    }

    private Router with(Additions changed) {
        return new Router(logits, used, sigmoid, normalized, scale, changed);
    }

    private float @Nullable [] ofExperts(@Nullable Tensor numbers, String argument) {
        if (numbers == null) {
            return null;
        }
        TensorChecks.requireShape(numbers, argument, Shape.of(experts()));
        return numbers.toArray();
    }

    /** Returns the norm of the logits' input; null for none. */
    @Nullable
    Norm norm() {
        return additions.norm;
    }

    /** {@return the linear layer} */
    public PackedLinear logits() {
        return logits;
    }

    /** {@return the number of experts} */
    public int experts() {
        return logits.outputs();
    }

    /** {@return the number of experts of a token} */
    public int used() {
        return used;
    }

    /**
     * Chooses the experts of a token.
     *
     * @param row the row with the token's logits, from {@code at} on
     * @param ids receives the experts, ascending, from {@code to} on
     * @param factors receives their factors
     * @param buffer holds a number for each expert
     */
    void choose(float[] row, int at, int[] ids, float[] factors, int to, double[] buffer) {
        int experts = experts();
        double largest = Double.NEGATIVE_INFINITY;
        boolean isNumber = true;
        for (int i = 0; i < experts; i++) {
            largest = Math.max(largest, row[at + i]);
            isNumber &= !Float.isNaN(row[at + i]);
        }
        if (!isNumber) {
            for (int i = 0; i < used; i++) {
                ids[to + i] = i;
                factors[to + i] = Float.NaN;
            }
            return;
        }
        double sum = scores(row, at, largest, buffer);
        select(row, at, ids, to, sum, buffer);
        Arrays.sort(ids, to, to + used);
        double divisor = sum;
        if (normalized) {
            divisor = 0;
            for (int i = to; i < to + used; i++) {
                divisor += buffer[ids[i]];
            }
        }
        for (int i = to; i < to + used; i++) {
            double factor = scale * (buffer[ids[i]] / divisor);
            factors[i] = (float) (additions.scales == null ? factor : factor * additions.scales[ids[i]]);
        }
    }

    /** Computes scores and returns their divisor. A softmax is computed without its division. */
    private double scores(float[] row, int at, double largest, double[] buffer) {
        double sum = 0;
        for (int i = 0; i < experts(); i++) {
            double logit = row[at + i];
            // StrictMath, since Math may return other bits on another processor
            buffer[i] = sigmoid ? 1 / (1 + StrictMath.exp(-logit)) : StrictMath.exp(logit - largest);
            sum += buffer[i];
        }
        return sigmoid ? 1 : sum;
    }

    /**
     * Selects the experts with the largest keys, in descending order of the keys. Among experts with equal keys, the lower index comes first.
     */
    private void select(float[] row, int at, int[] ids, int to, double sum, double[] buffer) {
        int count = 0;
        for (int i = 0; i < experts(); i++) {
            double key = key(row, at, i, sum, buffer);
            int place = count;
            while (place > 0 && key > key(row, at, ids[to + place - 1], sum, buffer)) {
                place--;
            }
            if (place == used) {
                continue;
            }
            count = Math.min(count + 1, used);
            System.arraycopy(ids, to + place, ids, to + place + 1, count - 1 - place);
            ids[to + place] = i;
        }
    }

    /**
     * Returns the key by which experts are chosen. It is the logit if no bias is added, because logits have the order of the scores, and are
     * not rounded.
     */
    private double key(float[] row, int at, int expert, double sum, double[] buffer) {
        float[] addends = additions.bias;
        return addends == null ? row[at + expert] : buffer[expert] / sum + addends[expert];
    }
}
