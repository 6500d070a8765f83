package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * SiLU, {@code x s(x)} with the sigmoid {@code s(x) = 1 / (1 + e^-x)}, its derivative, and the sigmoid itself, on rows of scratch whose lengths are
 * multiples of 32.
 *
 * <p>As in {@link ActivationOps} for GELU, SiLU is {@code max(x, 0) - t s(-t)} with {@code t = |x|}, and {@code s(-t) = e / (1 + e)} with
 * {@code e = e^-t}. There is no cancellation for negative x, and the error is at most doubled for positive x. The exponent is exact. The derivative
 * is {@code 1 - c} or {@code c} with {@code c = s(-t) (1 - t s(t))}.
 */
public final class Silu {
    /** For larger t, {@code e^-t} is 0. */
    private static final float LIMIT = 88f;

    private static final WarmUp WARM_UP = new WarmUp(new Trial());

    private Silu() {}

    /** Computes {@code row = row s(row)}; needs a buffer of {@link ActivationOps#bufferLength} floats. */
    public static void apply(float[] row, int at, int length, float[] buffer) {
        if (WARM_UP.isOver()) {
            vectors(row, at, length, buffer);
        } else {
            scalars(row, at, length);
        }
    }

    static void vectors(float[] row, int at, int length, float[] buffer) {
        exponents(row, at, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        ofExponentials(row, at, length, buffer);
    }

    /** Computes {@code row = s(row)}; needs a buffer of {@link ActivationOps#bufferLength} floats. */
    public static void sigmoid(float[] row, int at, int length, float[] buffer) {
        if (WARM_UP.isOver()) {
            sigmoidVectors(row, at, length, buffer);
        } else {
            sigmoidScalars(row, at, length);
        }
    }

    static void sigmoidVectors(float[] row, int at, int length, float[] buffer) {
        exponents(row, at, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        sigmoidsOfExponentials(row, at, length, buffer);
    }

    private static void sigmoidsOfExponentials(float[] row, int at, int length, float[] buffer) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, at + i);
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            FloatVector over = e.blend(1f, x.compare(VectorOperators.GT, 0f));
            over.div(e.add(1f)).intoArray(row, at + i);
        }
    }

    static void sigmoidScalars(float[] row, int at, int length) {
        for (int i = at; i < at + length; i++) {
            float t = Math.abs(row[i]);
            float e = Exp.scalar(-(t > LIMIT ? LIMIT : t));
            row[i] = (row[i] > 0f ? 1f : e) / (e + 1f);
        }
    }

    /** Computes {@code dy *= s(x) (1 + x (1 - s(x)))}. */
    public static void gradient(float[] x, float[] dy, int length, float[] buffer) {
        exponents(x, 0, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        for (int i = 0; i < length; i += COUNT) {
            FloatVector at = FloatVector.fromArray(FLOATS, x, i);
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            FloatVector t = FloatVector.fromArray(FLOATS, buffer, length + i);
            FloatVector s = FloatVector.broadcast(FLOATS, 1f).div(e.add(1f));
            // s(-t) - t s(t) s(-t)
            FloatVector left = e.mul(s);
            FloatVector c = t.mul(s).neg().fma(left, left);
            FloatVector slope = c.blend(c.neg().add(1f), at.compare(VectorOperators.GT, 0f));
            slope.mul(FloatVector.fromArray(FLOATS, dy, i)).intoArray(dy, i);
        }
    }

    /** Computes -t, and stores t after the row's length. */
    private static void exponents(float[] x, int at, int length, float[] buffer) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector t = FloatVector.fromArray(FLOATS, x, at + i).abs();
            t = t.blend(LIMIT, t.compare(VectorOperators.GT, LIMIT));
            t.neg().intoArray(buffer, i);
            t.intoArray(buffer, length + i);
        }
    }

    private static void ofExponentials(float[] row, int at, int length, float[] buffer) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, at + i);
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            FloatVector t = FloatVector.fromArray(FLOATS, buffer, length + i);
            FloatVector positive = x.blend(0f, x.compare(VectorOperators.LT, 0f));
            t.neg().fma(e.div(e.add(1f)), positive).intoArray(row, at + i);
        }
    }

    static void scalars(float[] row, int at, int length) {
        for (int i = at; i < at + length; i++) {
            float x = row[i];
            float t = Math.abs(x);
            t = t > LIMIT ? LIMIT : t;
            float e = Exp.scalar(-t);
            row[i] = Math.fma(-t, e / (e + 1f), x < 0f ? 0f : x);
        }
    }

    private static final class Trial implements WarmUp.Trial {
        private static final int LENGTH = 8 * PANEL;
        private final float[] row = new float[LENGTH];
        private final float[] buffer = new float[ActivationOps.bufferLength(LENGTH)];

        @Override
        public int operations() {
            return LENGTH / COUNT * 20;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                // this trial does not include Exp, which has separate trials
                exponents(row, 0, lengthFactor * LENGTH, buffer);
                ofExponentials(row, 0, lengthFactor * LENGTH, buffer);
                sigmoidsOfExponentials(row, 0, lengthFactor * LENGTH, buffer);
            }
        }
    }
}
