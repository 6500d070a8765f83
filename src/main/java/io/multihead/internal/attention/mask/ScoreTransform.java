package io.multihead.internal.attention.mask;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.ScoreFunction;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreOps;
import io.multihead.internal.layout.Packer;

/**
 * Transforms a row of scores between Q K^T and the softmax: scale, soft-cap, linear bias, tensors and blocks of the mask, modifier, in this
 * order. The range of visible keys is applied elsewhere. Belongs to one thread.
 */
public final class ScoreTransform {
    private final float[] staging = new float[AttentionBlocking.KEY_BLOCK];
    private final ScoreIndex index = new ScoreIndex();

    public ScoreTransform() {}

    /** Returns whether there is any transform. */
    public static boolean isNeeded(ScoreRule rule, BoundMask mask) {
        return rule.scalesFirst() || mask.hidesSingleKeys();
    }

    /** Sets the index of the first score of the next row. */
    public void moveTo(long batch, long head, long query, long firstKey) {
        index.set(batch, head, query, firstKey);
    }

    /**
     * Transforms the scores {@code from} to {@code to - 1} of a row; the other scores become arbitrary.
     *
     * @param at index of the first score of the row in {@code scores}
     * @param position the query's position among the keys; it may be before the first or after the last
     */
    public void apply(
            ScoreRule rule, BoundMask mask, Packer packer, float[] scores, int at, long position, int from, int to) {
        int padded = Lanes.roundUp(to, PANEL);
        if (rule.scalesFirst()) {
            RowOps.scale(scores, at, padded, rule.scale());
        }
        if (rule.softCap() != 0) {
            ScoreOps.softCap(scores, at, padded, (float) rule.softCap());
        }
        float[] slopes = rule.slopes();
        if (slopes != null) {
            ScoreOps.addRamp(scores, at, padded, slopes[(int) index.head], index.key - position);
        }
        mask.apply(packer, scores, at, staging, index, to);
        if (mask.blocks().hides()) {
            mask.blocks().apply(scores, at, index, to);
        }
        ScoreFunction modifier = rule.modifier();
        if (modifier != null) {
            modify(modifier, scores, at, from, to);
        }
    }

    /** Calls the modifier for every score that the mask does not hide. */
    private void modify(ScoreFunction modifier, float[] scores, int at, int from, int to) {
        for (int i = from; i < to; i++) {
            float score = scores[at + i];
            if (score != Float.NEGATIVE_INFINITY) {
                scores[at + i] = modifier.apply(index.batch, index.head, index.query, index.key + i, score);
            }
        }
    }
}
