package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/**
 * GELU, ReLU and their derivatives on rows of scratch whose lengths are multiples of 32.
 *
 * <p>Both GELUs are {@code max(x, 0) - t s(t)} with {@code t = |x|} and a sigmoid's left half {@code s}, which is computed
 * with a small relative error as far as f32 reaches. So negative x lose nothing to cancellation, positive ones at most a
 * factor of 2. The derivative is {@code 1 + c} or {@code -c} with {@code c = -(t s)'}.
 *
 * <p>For erf, {@code s(t) = Phi(-t) = e^(-t^2/2) P(t) / Q(t)}: a minimax fit of relative error 6e-9 on [0, 14], all of whose
 * coefficients are positive, so that no sum cancels. For tanh, {@code s(t) = 1 / (1 + e^w)} with
 * {@code w = 2 sqrt(2 / pi) (t + 0.044715 t^3)}. What the exponents' roundings lose is multiplied in afterwards: a rounding of
 * 80 is worth 64 ulp of the exponential.
 */
public final class Activation {
    /** Beyond this, {@code e^(-t^2/2)} is 0. */
    private static final float ERF_LIMIT = 14f;
    /** Beyond this, {@code e^-w} is 0. */
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

    private Activation() {}

    /** {@code row = max(row, 0)}; NaN stays NaN. */
    public static void relu(float[] row, int at, int length) {
        for (int i = at; i < at + length; i += COUNT) {
            positive(FloatVector.fromArray(FLOATS, row, i)).intoArray(row, i);
        }
    }

    /** {@code dy = 0} where x is not more than 0. */
    public static void reluGradient(float[] x, float[] dy, int length) {
        for (int i = 0; i < length; i += COUNT) {
            VectorMask<Float> off = FloatVector.fromArray(FLOATS, x, i).compare(VectorOperators.LE, 0f);
            FloatVector.fromArray(FLOATS, dy, i).blend(0f, off).intoArray(dy, i);
        }
    }

    /** {@code row = row Phi(row)} with the normal distribution's Phi. */
    public static void gelu(float[] row, int at, int length) {
        for (int i = at; i < at + length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, i);
            FloatVector t = size(x, ERF_LIMIT);
            FloatVector tail = gauss(t).mul(numerator(t)).div(denominator(t));
            t.neg().fma(tail, positive(x)).intoArray(row, i);
        }
    }

    /** {@code dy *= Phi(x) + x phi(x)} with the normal distribution's Phi and density phi. */
    public static void geluGradient(float[] x, float[] dy, int length) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector at = FloatVector.fromArray(FLOATS, x, i);
            FloatVector t = size(at, ERF_LIMIT);
            FloatVector ratio = numerator(t).div(denominator(t));
            FloatVector c = gauss(t).mul(t.mul(INVERSE_ROOT_TWO_PI).sub(ratio));
            slope(at, c).mul(FloatVector.fromArray(FLOATS, dy, i)).intoArray(dy, i);
        }
    }

    /** {@code row = row / (1 + e^-w(row))}, the form with tanh. */
    public static void geluTanh(float[] row, int at, int length) {
        for (int i = at; i < at + length; i += COUNT) {
            FloatVector x = FloatVector.fromArray(FLOATS, row, i);
            FloatVector t = size(x, TANH_LIMIT);
            FloatVector e = logistic(t);
            t.neg().fma(e.div(e.add(1f)), positive(x)).intoArray(row, i);
        }
    }

    /** {@code dy *=} the derivative of the form with tanh. */
    public static void geluTanhGradient(float[] x, float[] dy, int length) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector at = FloatVector.fromArray(FLOATS, x, i);
            FloatVector t = size(at, TANH_LIMIT);
            FloatVector e = logistic(t);
            FloatVector d = FloatVector.broadcast(FLOATS, 1f).div(e.add(1f));
            FloatVector steep = t.mul(t)
                    .fma(FloatVector.broadcast(FLOATS, 3 * CUBIC_HIGH), FloatVector.broadcast(FLOATS, LINEAR_HIGH))
                    .mul(t);
            FloatVector c =
                    steep.fma(d, FloatVector.broadcast(FLOATS, -1f)).mul(e).mul(d);
            slope(at, c).mul(FloatVector.fromArray(FLOATS, dy, i)).intoArray(dy, i);
        }
    }

    private static FloatVector positive(FloatVector x) {
        return x.blend(0f, x.compare(VectorOperators.LT, 0f));
    }

    private static FloatVector size(FloatVector x, float limit) {
        FloatVector t = x.abs();
        return t.blend(limit, t.compare(VectorOperators.GT, limit));
    }

    private static FloatVector slope(FloatVector x, FloatVector c) {
        FloatVector zero = FloatVector.zero(FLOATS);
        return zero.sub(c).blend(c.add(1f), x.compare(VectorOperators.GT, 0f));
    }

    /** {@code e^(-t^2/2)}. */
    private static FloatVector gauss(FloatVector t) {
        FloatVector square = t.mul(t);
        FloatVector lost = t.fma(t, square.neg());
        FloatVector e = Exp.of(square.mul(-0.5f));
        return lost.mul(-0.5f).fma(e, e);
    }

    private static FloatVector numerator(FloatVector t) {
        FloatVector p = t.fma(FloatVector.broadcast(FLOATS, P4), FloatVector.broadcast(FLOATS, P3));
        p = p.fma(t, FloatVector.broadcast(FLOATS, P2));
        p = p.fma(t, FloatVector.broadcast(FLOATS, P1));
        return p.fma(t, FloatVector.broadcast(FLOATS, P0));
    }

    private static FloatVector denominator(FloatVector t) {
        FloatVector q = t.fma(FloatVector.broadcast(FLOATS, Q5), FloatVector.broadcast(FLOATS, Q4));
        q = q.fma(t, FloatVector.broadcast(FLOATS, Q3));
        q = q.fma(t, FloatVector.broadcast(FLOATS, Q2));
        q = q.fma(t, FloatVector.broadcast(FLOATS, Q1));
        return q.fma(t, FloatVector.broadcast(FLOATS, 1f));
    }

    /** {@code e^-w(t)}; {@code w = t (linear + cubic t^2)} as an unevaluated sum of two floats. */
    private static FloatVector logistic(FloatVector t) {
        FloatVector square = t.mul(t);
        FloatVector squareLost = t.fma(t, square.neg());
        FloatVector cube = square.mul(CUBIC_HIGH);
        FloatVector cubeLost = square.fma(FloatVector.broadcast(FLOATS, CUBIC_HIGH), cube.neg())
                .add(squareLost.mul(CUBIC_HIGH))
                .add(square.mul(CUBIC_LOW));
        // Knuth's two-sum, since either may be the larger
        FloatVector sum = cube.add(LINEAR_HIGH);
        FloatVector part = sum.sub(cube);
        FloatVector sumLost = cube.sub(sum.sub(part)).sub(part.sub(LINEAR_HIGH));
        FloatVector lost = sumLost.add(cubeLost).add(LINEAR_LOW);
        FloatVector w = t.mul(sum);
        FloatVector wLost = t.fma(sum, w.neg()).add(t.mul(lost));
        FloatVector e = Exp.of(w.neg());
        return wLost.neg().fma(e, e);
    }
}
