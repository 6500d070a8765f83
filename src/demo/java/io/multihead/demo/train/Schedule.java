package io.multihead.demo.train;

/** The learning rate of every step, counted from 0. */
@FunctionalInterface
public interface Schedule {
    /** The rate of a step. */
    double rate(long step);

    /** The same rate at every step. */
    static Schedule constant(double rate) {
        return step -> rate;
    }

    /**
     * Rises in a straight line to {@code peak}, then falls along half a cosine to a tenth of it (Loshchilov and Hutter 2017).
     *
     * @param peak the highest rate
     * @param warmUp steps until it is reached
     * @param all steps in all
     */
    static Schedule cosine(double peak, long warmUp, long all) {
        return step -> {
            if (step < warmUp) {
                return peak * (step + 1) / warmUp;
            }
            double done = Math.min(1, (double) (step - warmUp) / Math.max(1, all - warmUp));
            return peak * (0.1 + 0.9 * 0.5 * (1 + Math.cos(Math.PI * done)));
        };
    }
}
