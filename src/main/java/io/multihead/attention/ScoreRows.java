package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.ScoreOps;

/** What is done to a row of scores between the product and the softmax, but for the limits of visible keys. */
final class ScoreRows {
    private final float[] staging = new float[Lanes.DEPTH];
    private final MaskPlan.Place place = new MaskPlan.Place();
    /** Names the first score of the next row. */
    void place(long batch, long head, long query, long firstKey) {
        place.set(batch, head, query, firstKey);
    }

    /**
     * Changes scores {@code from} up to {@code to} of a row; what it does to the others does not matter.
     *
     * @param position the query's position among the keys; it may be before the first or after the last
     */
    void change(AttentionCall call, Packer packer, float[] scores, int at, long position, int from, int to) {
        int padded = Lanes.roundUp(to, PANEL);
        if (call.scalesFirst()) {
            RowOps.scale(scores, at, padded, call.scale);
        }
        ScoreOptions options = call.scores;
        if (options.softCap() != 0) {
            ScoreOps.softCap(scores, at, padded, (float) options.softCap());
        }
        float[] slopes = options.sharedSlopes();
        if (slopes != null) {
            ScoreOps.addRamp(scores, at, padded, slopes[(int) place.head], place.key - position);
        }
        call.mask.apply(packer, scores, at, staging, place, to);
        if (call.mask.blocks().hides()) {
            call.mask.blocks().apply(scores, at, place, to);
        }
        ScoreModifier modifier = options.modifier();
        if (modifier != null) {
            for (int i = from; i < to; i++) {
                float score = scores[at + i];
                boolean exists = score != Float.NEGATIVE_INFINITY;
                scores[at + i] =
                        exists ? modifier.apply(place.batch, place.head, place.query, place.key + i, score) : score;
            }
        }
    }
}
