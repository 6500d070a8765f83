package io.multihead.reference;

import io.multihead.internal.base.Checks;

/** Steps of optimizers as plain loops in {@code double}. */
public final class ReferenceOptimizer {
    private ReferenceOptimizer() {}

    /**
     * Makes a step of AdamW (Loshchilov and Hutter 2019, algorithm 2).
     *
     * @param p parameters, changed
     * @param g gradients
     * @param moments the first and the second moments, changed
     * @param step the number of this step, from 1
     * @param rate the learning rate
     * @param options beta1, beta2, epsilon and weight decay
     */
    public static void adamW(double[] p, double[] g, double[][] moments, long step, double rate, double... options) {
        Checks.length(
                Checks.notNull(options, "options").length, 4, "options", "beta1, beta2, epsilon and weight decay");
        Checks.length(Checks.notNull(moments, "moments").length, 2, "moments", "the first and the second ones");
        requireEqual(p, g, "g");
        double[] m = requireEqual(p, moments[0], "moments");
        double[] v = requireEqual(p, moments[1], "moments");
        double beta1 = options[0];
        double beta2 = options[1];
        for (int i = 0; i < p.length; i++) {
            m[i] = beta1 * m[i] + (1 - beta1) * g[i];
            v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
            double first = m[i] / (1 - Math.pow(beta1, step));
            double second = v[i] / (1 - Math.pow(beta2, step));
            p[i] = (1 - rate * options[3]) * p[i] - rate * first / (Math.sqrt(second) + options[2]);
        }
    }

    /**
     * Makes a step of gradient descent with momentum (Polyak 1964), without dampening.
     *
     * @param p parameters, changed
     * @param g gradients
     * @param velocity the velocities, changed
     * @param rate the learning rate
     * @param momentum the fraction of the velocity that is kept
     */
    public static void sgd(double[] p, double[] g, double[] velocity, double rate, double momentum) {
        requireEqual(p, g, "g");
        requireEqual(p, velocity, "velocity");
        for (int i = 0; i < p.length; i++) {
            velocity[i] = momentum * velocity[i] + g[i];
            p[i] -= rate * velocity[i];
        }
    }

    private static double[] requireEqual(double[] p, double[] values, String name) {
        Checks.length(
                Checks.notNull(values, name).length, Checks.notNull(p, "p").length, name, "as many as parameters");
        return values;
    }
}
