package io.multihead.internal.attention.forward;

import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.kernel.Exp;
import io.multihead.internal.kernel.NativeSoftmax;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * The softmax of f32 rows that are contiguous in native memory, computed in the output without a copy; only the elements after the last
 * whole panel of a row pass through scratch. Belongs to one thread.
 */
final class NativeRows {
    /** Maxima of the panels of a row, then the rest of the row. */
    private final float[] buffer = new float[2 * PANEL];

    private final float[] sums = new float[PANEL];
    private float max;
    private float total;

    NativeRows() {}

    /** Returns whether rows of these tensors are read and written in place. */
    static boolean fit(Tensor scores, Tensor output) {
        return isNative(scores) && isNative(output) && scores.dim(-1) >= PANEL;
    }

    private static boolean isNative(Tensor tensor) {
        return tensor.dtype() == DType.F32
                && tensor.stride(-1) == 1
                && tensor.memory().isNative();
    }

    /** Finds the maxima of the row that {@link #softmax} computes next. */
    void begin(Tensor from, long f0) {
        NativeSoftmax.maxima(from.memory(), f0 * WORD, (int) from.dim(-1) / PANEL * PANEL, buffer, 0);
    }

    /**
     * Computes a row; {@code f0} and {@code t0} are the positions of its first elements. The maxima of the next row are found between the
     * exponentials and their sum. The maxima depend on neither, so the processor computes them while it waits for the last exponentials,
     * which saves 12 % with rows of 256 and 5 % with rows of 2048 (Zen 4).
     *
     * @param next position of the first element of the next row; for the last row, of any row
     */
    void softmax(Packer packer, Tensor from, long f0, Tensor to, long t0, long next) {
        int keys = (int) from.dim(-1);
        int whole = keys / PANEL * PANEL;
        int rest = keys - whole;
        if (rest > 0) {
            packer.read(from, f0 + whole, 0, 1, 1, rest, buffer, PANEL, PANEL);
            Arrays.fill(buffer, PANEL + rest, 2 * PANEL, Float.NEGATIVE_INFINITY);
        }
        max = RowOps.max(buffer, 0, rest > 0 ? 2 * PANEL : PANEL);
        float shift = max == Float.NEGATIVE_INFINITY ? 0f : max;
        NativeSoftmax.exponentials(from.memory(), f0 * WORD, to.memory(), t0 * WORD, whole, shift, sums);
        if (rest > 0) {
            Exp.shifted(buffer, PANEL, PANEL, 1f, shift, sums, 0, 1f);
        }
        begin(from, next);
        total = RowOps.total(sums, 0);
        if (total != 0f) {
            NativeSoftmax.normalize(to.memory(), t0 * WORD, whole, total);
        }
        if (rest > 0) {
            writeRest(packer, rest, to, t0 + whole);
        }
    }

    private void writeRest(Packer packer, int rest, Tensor to, long at) {
        if (total != 0f) {
            RowOps.normalize(buffer, PANEL, PANEL, total);
        }
        packer.write(buffer, PANEL, 0, 1, rest, to, at, 0, 1);
    }

    /** Returns the log-sum-exp of the last row. */
    double logSumExp() {
        return max + StrictMath.log(total);
    }
}
