package io.multihead.reference;

/** Activations and their derivatives, one element at a time in {@code double}. */
public final class ReferenceActivation {
    private static final double ROOT_TWO_PI = Math.sqrt(2 * Math.PI);
    private static final double LINEAR = Math.sqrt(8 / Math.PI);
    private static final double CUBIC = LINEAR * 0.044715;

    private ReferenceActivation() {}

    /**
     * Returns GELU with the error function.
     *
     * @param x an element
     * @return {@code x Phi(x)}
     */
    public static double gelu(double x) {
        return x < 0 ? x * tail(-x) : x - x * tail(x);
    }

    /**
     * Returns the derivative of {@link #gelu}.
     *
     * @param x an element
     * @return {@code Phi(x) + x phi(x)}
     */
    public static double geluSlope(double x) {
        return (x < 0 ? tail(-x) : 1 - tail(x)) + x * density(x);
    }

    /**
     * Returns GELU in the form with tanh; {@code (1 + tanh(w / 2)) / 2 = 1 / (1 + e^-w)}.
     *
     * @param x an element
     * @return {@code x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))}
     */
    public static double geluTanh(double x) {
        return x / (1 + Math.exp(-x * (LINEAR + CUBIC * x * x)));
    }

    /**
     * {@return the derivative of {@link #geluTanh}}
     *
     * @param x an element
     */
    public static double geluTanhSlope(double x) {
        double w = x * (LINEAR + CUBIC * x * x);
        double left = 1 / (1 + Math.exp(w));
        double right = 1 / (1 + Math.exp(-w));
        return right + x * left * right * (LINEAR + 3 * CUBIC * x * x);
    }

    /**
     * {@return the sigmoid, {@code 1 / (1 + e^-x)}}
     *
     * @param x an element
     */
    public static double sigmoid(double x) {
        return 1 / (1 + Math.exp(-x));
    }

    /**
     * Returns the sigmoid linear unit.
     *
     * @param x an element
     * @return {@code x / (1 + e^-x)}
     */
    public static double silu(double x) {
        return x / (1 + Math.exp(-x));
    }

    /**
     * {@return the derivative of {@link #silu}}
     *
     * @param x an element
     */
    public static double siluSlope(double x) {
        double right = 1 / (1 + Math.exp(-x));
        return right + x * right * (1 / (1 + Math.exp(x)));
    }

    /** Returns {@code log(1 + e^x)}. */
    static double softplus(double x) {
        return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
    }

    /**
     * Returns the normal distribution's density.
     *
     * @param x an element
     * @return {@code e^(-x^2/2) / sqrt(2 pi)}
     */
    public static double density(double x) {
        return Math.exp(-x * x / 2) / ROOT_TWO_PI;
    }

    /**
     * Returns the normal distribution's upper tail, {@code Phi(-t)}: near 0 with the series
     * {@code 1/2 - phi(t) (t + t^3/3 + t^5/15 + ...)}, farther out with Laplace's continued fraction
     * {@code phi(t) / (t + 1/(t + 2/(t + 3/(t + ...))))} (Abramowitz and Stegun 26.2.11 and 26.2.14).
     *
     * @param t at least 0
     * @return the probability of more than t; relative error below 1e-12
     */
    public static double tail(double t) {
        if (t < 3) {
            double term = t;
            double sum = 0;
            for (int k = 1; term > 1e-20 * sum; k += 2) {
                sum += term;
                term *= t * t / (k + 2);
            }
            return 0.5 - density(t) * sum;
        }
        double fraction = t;
        for (int k = 120; k >= 1; k--) {
            fraction = t + k / fraction;
        }
        return density(t) / fraction;
    }
}
