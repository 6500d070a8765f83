package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** A transform of scaled scores before the softmax: minus infinity means that the key does not exist for the query. */
@FunctionalInterface
public interface ScoreRule {
    /** Every query sees every key. */
    ScoreRule NONE = (batch, head, query, key, score) -> score;

    /**
     * Returns the changed score.
     *
     * @param batch batch index
     * @param head query head
     * @param query query index
     * @param key key index
     * @param score the scaled score; NaN or infinite if its inputs are
     * @return the changed score, or minus infinity when the key does not exist
     */
    double apply(long batch, long head, long query, long key, double score);

    /**
     * {@return the derivative of {@link #apply} with respect to the score, where the key is not removed}. The default is 1, since
     * most rules add to the score or remove the key.
     *
     * @param batch batch index
     * @param head query head
     * @param query query index
     * @param key key index
     * @param score the scaled score
     */
    default double derivative(long batch, long head, long query, long key, double score) {
        return 1;
    }

    /**
     * Returns a rule that applies this rule, then another. A key that one of them removes does not exist.
     *
     * @param next the rule to apply to this rule's result
     * @return both rules
     */
    default ScoreRule and(ScoreRule next) {
        Checks.notNull(next, "next");
        ScoreRule first = this;
        return new ScoreRule() {
            @Override
            public double apply(long batch, long head, long query, long key, double score) {
                double changed = first.apply(batch, head, query, key, score);
                return changed == Double.NEGATIVE_INFINITY ? changed : next.apply(batch, head, query, key, changed);
            }

            @Override
            public double derivative(long batch, long head, long query, long key, double score) {
                double changed = first.apply(batch, head, query, key, score);
                return first.derivative(batch, head, query, key, score)
                        * next.derivative(batch, head, query, key, changed);
            }
        };
    }

    /**
     * {@return a causal rule, bottom-right: query {@code i} sees keys {@code j <= i + keys - queries}}
     *
     * @param queries number of queries
     * @param keys number of keys
     */
    static ScoreRule causal(long queries, long keys) {
        return causalFrom(keys - queries);
    }

    /**
     * {@return a causal rule: query {@code i} of batch {@code b} is at position {@code p = i + offsets[b]} and sees keys {@code j <= p}}
     *
     * @param offsets position of the first query, one per batch, or one for all
     */
    static ScoreRule causalFrom(long... offsets) {
        requirePerBatch(offsets, "offsets");
        return (b, h, i, j, score) -> j <= i + of(offsets, b) ? score : Double.NEGATIVE_INFINITY;
    }

    /**
     * Returns the offsets that align queries bottom-right: the last query is at the position of the last key that exists.
     *
     * @param queries number of queries
     * @param lengths number of keys that exist, one per batch, or one for all
     * @return {@code lengths[b] - queries}
     */
    static long[] bottomRight(long queries, long... lengths) {
        return Arrays.stream(Checks.notNull(lengths, "lengths"))
                .map(length -> length - queries)
                .toArray();
    }

    /** {@return a causal rule, top-left: query {@code i} sees keys {@code j <= i}} */
    static ScoreRule causalTopLeft() {
        return (b, h, i, j, score) -> j <= i ? score : Double.NEGATIVE_INFINITY;
    }

    /**
     * Returns a rule that keeps a key where the tensor is not zero.
     *
     * @param mask broadcasts, from the right, to (batch, heads, queries, keys)
     * @return the rule
     */
    static ScoreRule keep(Tensor mask) {
        requireMask(mask, "mask");
        return (b, h, i, j, score) -> at(mask, b, h, i, j) != 0 ? score : Double.NEGATIVE_INFINITY;
    }

    /**
     * Returns a rule that removes a key where the tensor is not zero.
     *
     * @param mask broadcasts, from the right, to (batch, heads, queries, keys)
     * @return the rule
     */
    static ScoreRule drop(Tensor mask) {
        requireMask(mask, "mask");
        return (b, h, i, j, score) -> at(mask, b, h, i, j) == 0 ? score : Double.NEGATIVE_INFINITY;
    }

    /**
     * Returns a rule that adds to the score; minus infinity removes the key, for any score.
     *
     * @param bias broadcasts, from the right, to (batch, heads, queries, keys)
     * @return the rule
     */
    static ScoreRule bias(Tensor bias) {
        requireMask(bias, "bias");
        return (b, h, i, j, score) -> {
            double added = at(bias, b, h, i, j);
            return added == Double.NEGATIVE_INFINITY ? added : score + added;
        };
    }

    /**
     * {@return attention with linear biases (Press et al. 2022), bottom-right: adds {@code slope_h * (j - p)}, where query {@code i} is at
     * position {@code p = i + keys - queries}}. It removes no key; the paper's decoder is this rule and {@link #causal}.
     *
     * @param slopes one per query head
     * @param queries number of queries
     * @param keys number of keys
     */
    static ScoreRule alibi(double[] slopes, long queries, long keys) {
        return alibiFrom(slopes, keys - queries);
    }

    /**
     * {@return attention with linear biases for queries at given positions: adds {@code slope_h * (j - p)}, where query {@code i} of batch
     * {@code b} is at position {@code p = i + offsets[b]}}
     *
     * @param slopes one per query head
     * @param offsets position of the first query, one per batch, or one for all
     */
    static ScoreRule alibiFrom(double[] slopes, long... offsets) {
        Checks.notNull(slopes, "slopes");
        requirePerBatch(offsets, "offsets");
        return (b, h, i, j, score) ->
                score + slopes[(int) Checks.index(h, slopes.length, "head")] * (j - (i + of(offsets, b)));
    }

    /**
     * {@return a sliding window, bottom-right: query {@code i} at position {@code p = i + keys - queries} sees {@code p - left <= j <= p +
     * right}}
     *
     * @param left the number of visible keys before position {@code p}
     * @param right the number of visible keys after position {@code p}
     * @param queries number of queries
     * @param keys number of keys
     */
    static ScoreRule window(long left, long right, long queries, long keys) {
        return windowFrom(left, right, keys - queries);
    }

    /**
     * {@return a sliding window for queries at given positions: query {@code i} of batch {@code b} at position {@code p = i + offsets[b]}
     * sees {@code p - left <= j <= p + right}}
     *
     * @param left the number of visible keys before position {@code p}
     * @param right the number of visible keys after position {@code p}
     * @param offsets position of the first query, one per batch, or one for all
     */
    static ScoreRule windowFrom(long left, long right, long... offsets) {
        requirePerBatch(offsets, "offsets");
        return (b, h, i, j, score) -> {
            double apart = (double) j - (i + of(offsets, b));
            return -apart <= left && apart <= right ? score : Double.NEGATIVE_INFINITY;
        };
    }

    /**
     * Returns a rule that keeps blocks of scores where the tensor is not zero.
     *
     * @param kept broadcasts, from the right, to (batch, heads, query blocks, key blocks)
     * @param size queries and keys of one block
     * @return the rule
     */
    static ScoreRule blocks(Tensor kept, int size) {
        requireMask(kept, "kept");
        Checks.atLeast(size, 1, "size");
        return (b, h, i, j, score) -> at(kept, b, h, i / size, j / size) != 0 ? score : Double.NEGATIVE_INFINITY;
    }

    /**
     * Returns a rule that caps scores (Gemma 2): {@code cap tanh(score / cap)}.
     *
     * @param cap the largest absolute score
     * @return the rule
     */
    static ScoreRule softCap(double cap) {
        if (!(cap > 0 && cap < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("cap", String.valueOf(cap), "expected a finite number above 0");
        }
        return new ScoreRule() {
            @Override
            public double apply(long batch, long head, long query, long key, double score) {
                return cap * Math.tanh(score / cap);
            }

            @Override
            public double derivative(long batch, long head, long query, long key, double score) {
                double tanh = Math.tanh(score / cap);
                return 1 - tanh * tanh;
            }
        };
    }

    /**
     * Returns a rule that keeps only the first keys of each batch.
     *
     * @param lengths one per batch, or one for all
     * @return the rule
     */
    static ScoreRule keyLengths(long... lengths) {
        requirePerBatch(lengths, "lengths");
        return (b, h, i, j, score) -> j < of(lengths, b) ? score : Double.NEGATIVE_INFINITY;
    }

    private static long of(long[] perBatch, long batch) {
        return perBatch[perBatch.length == 1 ? 0 : (int) Checks.index(batch, perBatch.length, "batch")];
    }

    private static void requirePerBatch(long[] values, String argument) {
        if (Checks.notNull(values, argument).length == 0) {
            throw Checks.fail(argument, "none", "expected one per batch, or one for all");
        }
    }

    private static void requireMask(Tensor tensor, String argument) {
        if (Checks.notNull(tensor, argument).rank() > 4) {
            throw Checks.fail(argument, "shape " + tensor.shape(), "expected at most (batch, heads, queries, keys)");
        }
    }

    private static double at(Tensor tensor, long... full) {
        int rank = tensor.rank();
        long[] index = new long[rank];
        for (int axis = 0; axis < rank; axis++) {
            index[axis] = tensor.dim(axis) == 1 ? 0 : full[full.length - rank + axis];
        }
        return tensor.get(index);
    }
}
