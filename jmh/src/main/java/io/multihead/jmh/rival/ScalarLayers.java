package io.multihead.jmh.rival;

/** Layers in Java without a library: scalar loops over {@code float[]} in one thread. */
public final class ScalarLayers {
    private static final float EPSILON = 1e-5f;
    private static final float LINEAR = 1.5957691f;
    private static final float CUBIC = 0.07135481f;
    private static final float DENSITY = 0.3989423f;

    private ScalarLayers() {}

    public static void layerNorm(float[] x, float[] weight, float[] bias, float[] y) {
        int length = weight.length;
        for (int at = 0; at < x.length; at += length) {
            float mean = mean(x, at, length);
            float factor = factor(x, at, length, mean);
            for (int i = 0; i < length; i++) {
                y[at + i] = (x[at + i] - mean) * factor * weight[i] + bias[i];
            }
        }
    }

    public static void layerNormGradient(
            float[] x, float[] weight, float[] dy, float[] dx, float[] weightGradient, float[] biasGradient) {
        int length = weight.length;
        for (int at = 0; at < x.length; at += length) {
            float mean = mean(x, at, length);
            float factor = factor(x, at, length, mean);
            float sum = 0;
            float products = 0;
            for (int i = 0; i < length; i++) {
                float z = (x[at + i] - mean) * factor;
                float g = dy[at + i] * weight[i];
                sum += g;
                products += g * z;
                weightGradient[i] += dy[at + i] * z;
                biasGradient[i] += dy[at + i];
            }
            for (int i = 0; i < length; i++) {
                float z = (x[at + i] - mean) * factor;
                dx[at + i] = factor * (dy[at + i] * weight[i] - sum / length - z * products / length);
            }
        }
    }

    /** Computes {@code x / (1 + e^-x)}. */
    public static void silu(float[] x, float[] y) {
        for (int i = 0; i < x.length; i++) {
            y[i] = x[i] / (1 + (float) Math.exp(-x[i]));
        }
    }

    /** Computes {@code dx = dy s (1 + x (1 - s))} with the sigmoid s of x. */
    public static void siluGradient(float[] x, float[] dy, float[] dx) {
        for (int i = 0; i < x.length; i++) {
            float s = 1 / (1 + (float) Math.exp(-x[i]));
            dx[i] = dy[i] * s * (1 + x[i] * (1 - s));
        }
    }

    public static void geluTanh(float[] x, float[] y) {
        for (int i = 0; i < x.length; i++) {
            y[i] = x[i] * sigmoid(x[i]);
        }
    }

    public static void geluTanhGradient(float[] x, float[] dy, float[] dx) {
        for (int i = 0; i < x.length; i++) {
            float s = sigmoid(x[i]);
            dx[i] = dy[i] * (s + x[i] * s * (1 - s) * (LINEAR + 3 * CUBIC * x[i] * x[i]));
        }
    }

    public static void gelu(float[] x, float[] y) {
        for (int i = 0; i < x.length; i++) {
            y[i] = x[i] * normal(x[i]);
        }
    }

    public static void geluGradient(float[] x, float[] dy, float[] dx) {
        for (int i = 0; i < x.length; i++) {
            dx[i] = dy[i] * (normal(x[i]) + x[i] * DENSITY * (float) Math.exp(-0.5 * x[i] * x[i]));
        }
    }

    private static float mean(float[] x, int at, int length) {
        float sum = 0;
        for (int i = 0; i < length; i++) {
            sum += x[at + i];
        }
        return sum / length;
    }

    private static float factor(float[] x, int at, int length, float mean) {
        float squares = 0;
        for (int i = 0; i < length; i++) {
            squares += (x[at + i] - mean) * (x[at + i] - mean);
        }
        return (float) (1 / Math.sqrt(squares / length + EPSILON));
    }

    private static float sigmoid(float x) {
        return 1 / (1 + (float) Math.exp(-x * (LINEAR + CUBIC * x * x)));
    }

    /**
     * Returns the normal distribution by the often used formula of Abramowitz and Stegun 7.1.26, with an absolute error
     * of 1e-7.
     */
    private static float normal(float x) {
        float z = Math.abs(x) * 0.70710677f;
        float t = 1 / (1 + 0.3275911f * z);
        float series = t * (0.2548296f + t * (-0.28449672f + t * (1.4214138f + t * (-1.4531521f + t * 1.0614054f))));
        float tail = 0.5f * series * (float) Math.exp(-z * z);
        return x < 0 ? tail : 1 - tail;
    }
}
