package io.multihead.attention;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Packer;

/** Where the blocks of backward pack through: two times 256 rows. Belongs to one thread. */
final class GradientScratch {
    final float[] rows = new float[QueryBlock.MOST * ROW];
    final float[] other = new float[QueryBlock.MOST * ROW];
    final float[] partial = new float[PANEL];
    final int[] words = new int[4];
    final MaskPlan.Place place = new MaskPlan.Place();
    Packer packer;

    GradientScratch() {}
}
