package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.WarmUp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * GELU, ReLU and their derivatives on rows of scratch whose lengths are multiples of 32.
 *
 * <p>Both GELUs are {@code max(x, 0) - t s(t)} with {@code t = |x|} and a sigmoid's left half {@code s}, which is computed with a small
 * relative error over the range of f32. Therefore there is no cancellation for negative x, and for positive x the subtraction at most
 * doubles the error. The derivative is {@code 1 + c} or {@code -c} with {@code c = -(t s)'}.
 *
 * <p>For erf, {@code s(t) = Phi(-t) = e^(-t^2/2) P(t) / Q(t)}: a minimax fit of relative error 6e-9 on [0, 14], whose coefficients are all
 * positive, so that no sum cancels. For tanh, {@code s(t) = 1 / (1 + e^w)} with {@code w = 2 sqrt(2 / pi) (t + 0.044715 t^3)}. The rounding
 * errors of the exponents are corrected by a multiplication afterwards: rounding an exponent of 80 changes the exponential by up to 64 ulp.
 *
 * <p>There are three passes, because C2 could not inline all of them as one: exponents, {@link Exp}, and the rest. For the same reason no
 * vector is passed from method to method.
 */
public final class ActivationOps {
    /** For larger t, {@code e^(-t^2/2)} is 0. */
    private static final float ERF_LIMIT = 14f;
    /** For larger t, {@code e^-w} is 0. */
    private static final float TANH_LIMIT = 11f;

    private static final float P0 = 0.5f;
    private static final float P1 = 0.43700208560189529f;
    private static final float P2 = 0.18226235818993827f;
    private static final float P3 = 0.040300983794801530f;
    private static final float P4 = 0.0040657904175565162f;
    private static final float Q1 = 1.6718890922026572f;
    private static final float Q2 = 1.1984949743431293f;
    private static final float Q3 = 0.46689893658621054f;
    private static final float Q4 = 0.10102641398128800f;
    private static final float Q5 = 0.010191296263578963f;
    private static final float INVERSE_ROOT_TWO_PI = 0.3989422804014327f;

    private static final double LINEAR = 1.5957691216057308;
    private static final double CUBIC = LINEAR * 0.044715;
    private static final float LINEAR_HIGH = (float) LINEAR;
    private static final float LINEAR_LOW = (float) (LINEAR - LINEAR_HIGH);
    private static final float CUBIC_HIGH = (float) CUBIC;
    private static final float CUBIC_LOW = (float) (CUBIC - CUBIC_HIGH);

    private static final WarmUp GELU = new WarmUp(new WarmUp.Trial() {
        private static final int LENGTH = 8 * PANEL;
        private final float[] row = new float[LENGTH];
        private final float[] buffer = new float[bufferLength(LENGTH)];

        @Override
        public int operations() {
            return LENGTH / COUNT * 44;
        }

        @Override
        public void run(int lengthFactor, int calls) {
            for (int call = 0; call < calls; call++) {
                // this trial does not include Exp, which has separate trials
                gauss(row, 0, lengthFactor * LENGTH, buffer);
                geluOfGauss(row, 0, lengthFactor * LENGTH, buffer);
            }
        }
    });

    private ActivationOps() {}

    /** Computes {@code row = max(row, 0)}; NaN stays NaN. */
    public static void relu(float[] row, int at, int length) {
        for (int i = at; i < at + length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, i);
            x.blend(0f, x.compare(VectorOperators.LT, 0f)).intoArray(row, i);
        }
    }

    /** Sets {@code dy = 0} where {@code x <= 0}; where x is NaN, dy does not change. */
    public static void reluGradient(float[] x, float[] dy, int length) {
        for (int i = 0; i < length; i += COUNT) {
            VectorMask<Float> off = FloatVector.fromArray(FLOATS, x, i).compare(VectorOperators.LE, 0f);
            FloatVector.fromArray(FLOATS, dy, i).blend(0f, off).intoArray(dy, i);
        }
    }

    /** Computes {@code row = row Phi(row)} with the normal distribution's Phi; needs a buffer of {@link #bufferLength} floats. */
    public static void gelu(float[] row, int at, int length, float[] buffer) {
        if (GELU.isOver()) {
            geluVectors(row, at, length, buffer);
        } else {
            geluScalars(row, at, length);
        }
    }

    static void geluScalars(float[] row, int at, int length) {
        for (int i = at; i < at + length; i++) {
            row[i] = geluScalar(row[i]);
        }
    }

    private static float geluScalar(float x) {
        float t = Math.abs(x);
        t = t > ERF_LIMIT ? ERF_LIMIT : t;
        float square = t * t;
        float lost = Math.fma(t, t, -square) * -0.5f;
        float p = Math.fma(t, P4, P3);
        p = Math.fma(p, t, P2);
        p = Math.fma(p, t, P1);
        p = Math.fma(p, t, P0);
        float q = Math.fma(t, Q5, Q4);
        q = Math.fma(q, t, Q3);
        q = Math.fma(q, t, Q2);
        q = Math.fma(q, t, Q1);
        q = Math.fma(q, t, 1f);
        float e = Exp.scalar(square * -0.5f);
        e = Math.fma(e, lost, e);
        return Math.fma(-t, e * p / q, x < 0f ? 0f : x);
    }

    static void geluVectors(float[] row, int at, int length, float[] buffer) {
        gauss(row, at, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        geluOfGauss(row, at, length, buffer);
    }

    /** Computes {@code dy *= Phi(x) + x phi(x)} with the normal distribution's Phi and density phi. */
    public static void geluGradient(float[] x, float[] dy, int length, float[] buffer) {
        gauss(x, 0, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        geluGradientOfGauss(x, dy, length, buffer);
    }

    /** Computes {@code row = row / (1 + e^-w(row))}, the form with tanh. */
    public static void geluTanh(float[] row, int at, int length, float[] buffer) {
        logistic(row, at, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        geluOfLogistic(row, at, length, buffer);
    }

    /** Multiplies {@code dy} by the derivative of the form with tanh. */
    public static void geluTanhGradient(float[] x, float[] dy, int length, float[] buffer) {
        logistic(x, 0, length, buffer);
        Exp.shifted(buffer, 0, length, 1f, 0f, buffer, 2 * length, 0f);
        geluGradientOfLogistic(x, dy, length, buffer);
    }

    /**
     * Returns the number of floats in the buffer of a row: exponents, their rounding errors, and an unused output of {@link Exp#shifted}.
     */
    public static int bufferLength(int length) {
        return 2 * length + PANEL;
    }

    /** Computes the exponent {@code -t^2/2} and its rounding error. */
    private static void gauss(float[] x, int at, int length, float[] buffer) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector t = FloatVector.fromArray(FLOATS, x, at + i).abs();
            t = t.blend(ERF_LIMIT, t.compare(VectorOperators.GT, ERF_LIMIT));
            FloatVector square = t.mul(t);
            square.mul(-0.5f).intoArray(buffer, i);
            t.fma(t, square.neg()).mul(-0.5f).intoArray(buffer, length + i);
        }
    }

    /** Computes the exponent {@code -w(t)}, {@code w = t (linear + cubic t^2)}, and its rounding error. */
    private static void logistic(float[] x, int at, int length, float[] buffer) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector t = FloatVector.fromArray(FLOATS, x, at + i).abs();
            t = t.blend(TANH_LIMIT, t.compare(VectorOperators.GT, TANH_LIMIT));
            FloatVector square = t.mul(t);
            FloatVector squareLost = t.fma(t, square.neg());
            FloatVector cube = square.mul(CUBIC_HIGH);
            FloatVector lost = square.fma(FloatVector.broadcast(FLOATS, CUBIC_HIGH), cube.neg());
            lost = squareLost.fma(FloatVector.broadcast(FLOATS, CUBIC_HIGH), lost);
            lost = square.fma(FloatVector.broadcast(FLOATS, CUBIC_LOW), lost);
            // Knuth's two-sum, since either may be the larger
            FloatVector sum = cube.add(LINEAR_HIGH);
            FloatVector part = sum.sub(cube);
            lost = cube.sub(sum.sub(part)).sub(part.sub(LINEAR_HIGH)).add(lost).add(LINEAR_LOW);
            FloatVector w = t.mul(sum);
            w.neg().intoArray(buffer, i);
            t.fma(lost, t.fma(sum, w.neg())).neg().intoArray(buffer, length + i);
        }
    }

    private static void geluOfGauss(float[] row, int at, int length, float[] buffer) {
        if (length <= 0) { // see WarmUp.Trial
            for (int i = length; i < 0; i += COUNT) {}
            return;
        }
        for (int i = 0; i < length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, at + i);
            FloatVector t = x.abs();
            t = t.blend(ERF_LIMIT, t.compare(VectorOperators.GT, ERF_LIMIT));
            FloatVector p = t.fma(FloatVector.broadcast(FLOATS, P4), FloatVector.broadcast(FLOATS, P3));
            p = p.fma(t, FloatVector.broadcast(FLOATS, P2));
            p = p.fma(t, FloatVector.broadcast(FLOATS, P1));
            p = p.fma(t, FloatVector.broadcast(FLOATS, P0));
            FloatVector q = t.fma(FloatVector.broadcast(FLOATS, Q5), FloatVector.broadcast(FLOATS, Q4));
            q = q.fma(t, FloatVector.broadcast(FLOATS, Q3));
            q = q.fma(t, FloatVector.broadcast(FLOATS, Q2));
            q = q.fma(t, FloatVector.broadcast(FLOATS, Q1));
            q = q.fma(t, FloatVector.broadcast(FLOATS, 1f));
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            e = e.fma(FloatVector.fromArray(FLOATS, buffer, length + i), e);
            FloatVector positive = x.blend(0f, x.compare(VectorOperators.LT, 0f));
            t.neg().fma(e.mul(p).div(q), positive).intoArray(row, at + i);
        }
    }

    private static void geluGradientOfGauss(float[] x, float[] dy, int length, float[] buffer) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector at = FloatVector.fromArray(FLOATS, x, i);
            FloatVector t = at.abs();
            t = t.blend(ERF_LIMIT, t.compare(VectorOperators.GT, ERF_LIMIT));
            FloatVector p = t.fma(FloatVector.broadcast(FLOATS, P4), FloatVector.broadcast(FLOATS, P3));
            p = p.fma(t, FloatVector.broadcast(FLOATS, P2));
            p = p.fma(t, FloatVector.broadcast(FLOATS, P1));
            p = p.fma(t, FloatVector.broadcast(FLOATS, P0));
            FloatVector q = t.fma(FloatVector.broadcast(FLOATS, Q5), FloatVector.broadcast(FLOATS, Q4));
            q = q.fma(t, FloatVector.broadcast(FLOATS, Q3));
            q = q.fma(t, FloatVector.broadcast(FLOATS, Q2));
            q = q.fma(t, FloatVector.broadcast(FLOATS, Q1));
            q = q.fma(t, FloatVector.broadcast(FLOATS, 1f));
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            e = e.fma(FloatVector.fromArray(FLOATS, buffer, length + i), e);
            FloatVector c = t.mul(INVERSE_ROOT_TWO_PI).sub(p.div(q)).mul(e);
            FloatVector slope = FloatVector.zero(FLOATS).sub(c).blend(c.add(1f), at.compare(VectorOperators.GT, 0f));
            slope.mul(FloatVector.fromArray(FLOATS, dy, i)).intoArray(dy, i);
        }
    }

    private static void geluOfLogistic(float[] row, int at, int length, float[] buffer) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, at + i);
            FloatVector t = x.abs();
            t = t.blend(TANH_LIMIT, t.compare(VectorOperators.GT, TANH_LIMIT));
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            e = e.fma(FloatVector.fromArray(FLOATS, buffer, length + i), e);
            FloatVector positive = x.blend(0f, x.compare(VectorOperators.LT, 0f));
            t.neg().fma(e.div(e.add(1f)), positive).intoArray(row, at + i);
        }
    }

    private static void geluGradientOfLogistic(float[] x, float[] dy, int length, float[] buffer) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector at = FloatVector.fromArray(FLOATS, x, i);
            FloatVector t = at.abs();
            t = t.blend(TANH_LIMIT, t.compare(VectorOperators.GT, TANH_LIMIT));
            FloatVector e = FloatVector.fromArray(FLOATS, buffer, i);
            e = e.fma(FloatVector.fromArray(FLOATS, buffer, length + i), e);
            FloatVector d = FloatVector.broadcast(FLOATS, 1f).div(e.add(1f));
            FloatVector steep = t.mul(t)
                    .fma(FloatVector.broadcast(FLOATS, 3 * CUBIC_HIGH), FloatVector.broadcast(FLOATS, LINEAR_HIGH))
                    .mul(t);
            FloatVector c =
                    steep.fma(d, FloatVector.broadcast(FLOATS, -1f)).mul(e).mul(d);
            FloatVector slope = FloatVector.zero(FLOATS).sub(c).blend(c.add(1f), at.compare(VectorOperators.GT, 0f));
            slope.mul(FloatVector.fromArray(FLOATS, dy, i)).intoArray(dy, i);
        }
    }
}
