package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Passes of the softmax over rows of f32 in native memory of any alignment. Positions are in bytes; every length is a multiple of 32. The
 * results have the same bits as {@link RowOps#max}, {@link Exp#shifted} and {@link RowOps#normalize}.
 */
public final class NativeSoftmax {
    private NativeSoftmax() {}

    /** Writes 32 numbers to {@code to}, of which the largest is the largest element of the row; NaN is skipped. */
    public static void maxima(MemorySegment row, long at, int length, float[] to, int t0) {
        MemorySegment memory = NativeMemory.known(row);
        FloatVector low = FloatVector.broadcast(FLOATS, Float.NEGATIVE_INFINITY);
        FloatVector high = low;
        for (int i = 0; i < length; i += 2 * COUNT) {
            FloatVector a = FloatVector.fromMemorySegment(FLOATS, memory, at + i * WORD, ORDER);
            low = low.blend(a, a.compare(VectorOperators.GT, low));
            FloatVector b = FloatVector.fromMemorySegment(FLOATS, memory, at + (i + COUNT) * WORD, ORDER);
            high = high.blend(b, b.compare(VectorOperators.GT, high));
        }
        for (int lane = 0; lane < PANEL; lane += 2 * COUNT) {
            low.intoArray(to, t0 + lane);
            high.intoArray(to, t0 + lane + COUNT);
        }
    }

    /**
     * Computes {@code to[i] = e^(from[i] - shift)}, and sums the results by position modulo 32.
     *
     * <p>The exponential is the same as in {@link Exp}, and is repeated here because C2 boxes vectors that are passed to a method. It has
     * no factor, which saves 1.4 of 14.6 cycles per vector.
     *
     * @param from may be {@code to} at the same position
     * @param shift a number that is at least every element that is not NaN
     */
    public static void exponentials(
            MemorySegment from, long f0, MemorySegment to, long t0, int length, float shift, float[] partial) {
        MemorySegment scores = NativeMemory.known(from);
        MemorySegment output = NativeMemory.known(to);
        for (int slot = 0; slot < PANEL; slot += COUNT) {
            FloatVector sum = FloatVector.zero(FLOATS);
            for (int i = slot; i < length; i += PANEL) {
                FloatVector x = FloatVector.fromMemorySegment(FLOATS, scores, f0 + i * WORD, ORDER)
                        .sub(shift);
                FloatVector biased = x.fma(
                        FloatVector.broadcast(FLOATS, Exp.LOG2_E), FloatVector.broadcast(FLOATS, Exp.ROUND_AND_BIAS));
                FloatVector n = biased.sub(Exp.ROUND_AND_BIAS);
                FloatVector r = n.fma(FloatVector.broadcast(FLOATS, -Exp.LN2_HIGH), x);
                r = n.fma(FloatVector.broadcast(FLOATS, -Exp.LN2_LOW), r);
                FloatVector p = FloatVector.broadcast(FLOATS, Exp.C6).fma(r, FloatVector.broadcast(FLOATS, Exp.C5));
                p = p.fma(r, FloatVector.broadcast(FLOATS, Exp.C4));
                p = p.fma(r, FloatVector.broadcast(FLOATS, Exp.C3));
                p = p.fma(r, FloatVector.broadcast(FLOATS, Exp.C2));
                FloatVector fraction = r.mul(r).fma(p, r);
                FloatVector power = biased.viewAsIntegralLanes()
                        .lanewise(VectorOperators.LSHL, 23)
                        .viewAsFloatingLanes()
                        .reinterpretAsFloats();
                FloatVector y = fraction.fma(power, power).blend(0f, x.compare(VectorOperators.LT, Exp.LOWEST));
                y.intoMemorySegment(output, t0 + i * WORD, ORDER);
                sum = y.add(sum);
            }
            sum.intoArray(partial, slot);
        }
    }

    /** Computes {@code row /= sum}, as {@link RowOps#normalize} does. */
    public static void normalize(MemorySegment row, long at, int length, float sum) {
        MemorySegment memory = NativeMemory.known(row);
        FloatVector reciprocal = FloatVector.broadcast(FLOATS, 1f / sum);
        FloatVector negative = FloatVector.broadcast(FLOATS, -sum);
        for (int i = 0; i < length; i += COUNT) {
            FloatVector x = FloatVector.fromMemorySegment(FLOATS, memory, at + i * WORD, ORDER);
            FloatVector q = x.mul(reciprocal);
            q.fma(negative, x).fma(reciprocal, q).intoMemorySegment(memory, at + i * WORD, ORDER);
        }
    }
}
