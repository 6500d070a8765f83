package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.tensor.Tensor;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.DoubleSupplier;

/**
 * Compares gradients of a model with differences. The direction of each parameter consists of its gradient and random
 * numbers. A loss in f32 has an error of about 1e-6, so a difference with a step of 0.01 has an error of 1e-4, and
 * about the same error from the third derivative.
 */
final class Slopes {
    private static final double STEP = 0.01;

    private Slopes() {}

    static void assertSlopes(Map<String, Tensor> parameters, Map<String, Tensor> gradients, DoubleSupplier loss) {
        SplittableRandom random = new SplittableRandom(3);
        gradients.forEach((name, tensor) -> {
            Tensor parameter = parameters.get(name);
            float[] at = parameter.toArray();
            float[] gradient = tensor.toArray();
            double size = 0;
            for (float value : gradient) {
                size += value * value;
            }
            // a bias of keys changes all scores of a query by the same number
            assertTrue(size > 0 || name.endsWith("in_proj_bias"), name + " has no gradient");
            double[] direction = new double[at.length];
            double slope = 0;
            for (int i = 0; i < at.length; i++) {
                direction[i] =
                        random.nextGaussian() / Math.sqrt(at.length) + (size == 0 ? 0 : gradient[i] / Math.sqrt(size));
                slope += direction[i] * gradient[i];
            }
            double up = moved(parameter, at, direction, STEP, loss);
            double down = moved(parameter, at, direction, -STEP, loss);
            moved(parameter, at, direction, 0, loss);
            assertEquals(slope, (up - down) / (2 * STEP), 0.01 * Math.max(0.1, Math.abs(slope)), name);
        });
    }

    private static double moved(Tensor parameter, float[] at, double[] direction, double step, DoubleSupplier loss) {
        float[] values = new float[at.length];
        for (int i = 0; i < at.length; i++) {
            values[i] = (float) (at[i] + step * direction[i]);
        }
        Tensor.of(values, parameter.shape().toArray()).copyTo(parameter);
        return loss.getAsDouble();
    }
}
