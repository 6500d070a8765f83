package io.multihead.reference;

/** Steps of optimizers as plain loops in {@code double}. */
public final class ReferenceOptimizer {
    private ReferenceOptimizer() {}

    /**
     * AdamW (Loshchilov and Hutter 2019, algorithm 2).
     *
     * @param p parameters, changed
     * @param g gradients
     * @param moments the first and the second ones, changed
     * @param step from 1
     * @param rate the learning rate
     * @param options beta1, beta2, epsilon and weight decay
     */
    public static void adamW(double[] p, double[] g, double[][] moments, long step, double rate, double... options) {
        double[] m = moments[0];
        double[] v = moments[1];
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
     * Gradient descent with momentum (Polyak 1964), without dampening.
     *
     * @param p parameters, changed
     * @param g gradients
     * @param velocity changed
     * @param rate the learning rate
     * @param momentum what is kept of the velocity
     */
    public static void sgd(double[] p, double[] g, double[] velocity, double rate, double momentum) {
        for (int i = 0; i < p.length; i++) {
            velocity[i] = momentum * velocity[i] + g[i];
            p[i] -= rate * velocity[i];
        }
    }
}
