package io.multihead.train;

import io.multihead.internal.base.Checks;
import java.util.function.DoubleUnaryOperator;

/** The learning rate of each step, counted from 0. The schedules of this interface are immutable and thread-safe. */
@FunctionalInterface
public interface Schedule {
    /**
     * Returns the learning rate of a step.
     *
     * @param step from 0
     * @return the rate, at least 0
     */
    double rate(long step);

    /**
     * {@return a schedule with a constant rate}
     *
     * @param rate the rate of every step, at least 0
     */
    static Schedule constant(double rate) {
        Checks.finiteAtLeast(rate, 0, "rate");
        return step -> rate;
    }

    /**
     * {@return a schedule that rises linearly to {@code peak}, then falls linearly to 0, as transformers' {@code
     * get_linear_schedule_with_warmup}}
     *
     * @param peak the highest rate
     * @param warmUp number of steps until the peak, 0 for none
     * @param all number of all steps; later steps have rate 0
     * @throws IllegalArgumentException if a number is below 0, or there are fewer steps than warm-up steps
     */
    static Schedule linear(double peak, long warmUp, long all) {
        return warmed(peak, warmUp, all, done -> 1 - done);
    }

    /**
     * {@return a schedule that rises linearly to {@code peak}, then falls along half a cosine (Loshchilov and Hutter 2017)}
     *
     * @param peak the highest rate
     * @param least the final rate as a fraction of {@code peak}, 0 to 1
     * @param warmUp number of steps until the peak, 0 for none
     * @param all number of all steps
     * @throws IllegalArgumentException if a number is out of its range, or there are fewer steps than warm-up steps
     */
    static Schedule cosine(double peak, double least, long warmUp, long all) {
        if (!(least >= 0 && least <= 1)) {
            throw Checks.fail("least", String.valueOf(least), "expected 0 to 1");
        }
        return warmed(peak, warmUp, all, done -> least + (1 - least) * 0.5 * (1 + StrictMath.cos(Math.PI * done)));
    }

    private static Schedule warmed(double peak, long warmUp, long all, DoubleUnaryOperator fall) {
        Checks.finiteAtLeast(peak, 0, "peak");
        Checks.atLeast(warmUp, 0, "warmUp");
        if (all < warmUp) {
            throw Checks.fail("all", String.valueOf(all), "expected at least the " + warmUp + " steps of warmUp");
        }
        return step -> {
            if (step < warmUp) {
                return peak * (step + 1) / warmUp;
            }
            return peak * fall.applyAsDouble(Math.min(1, (double) (step - warmUp) / Math.max(1, all - warmUp)));
        };
    }
}
