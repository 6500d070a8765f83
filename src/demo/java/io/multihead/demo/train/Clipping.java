package io.multihead.demo.train;

import io.multihead.tensor.Tensor;
import java.util.Map;

/** Keeps the length of all gradients together below a limit (Pascanu et al. 2013). */
public final class Clipping {
    private Clipping() {}

    /**
     * Scales the gradients down if their norm exceeds the limit.
     *
     * @param gradients dense f32 tensors, changed in place
     * @param limit the largest norm that is left alone
     * @return the norm before
     * @throws ArithmeticException if a gradient is not finite, naming the first one; nothing has been changed then
     */
    public static double clip(Map<String, Tensor> gradients, double limit) {
        double squares = 0;
        for (Map.Entry<String, Tensor> entry : gradients.entrySet()) {
            double sum = 0;
            for (float g : entry.getValue().toArray()) {
                sum += (double) g * g;
            }
            if (!Double.isFinite(sum)) {
                throw new ArithmeticException("gradient of " + entry.getKey() + ": not finite; expected numbers");
            }
            squares += sum;
        }
        double norm = Math.sqrt(squares);
        if (norm > limit) {
            float factor = (float) (limit / norm);
            for (Tensor gradient : gradients.values()) {
                float[] values = gradient.toArray();
                for (int i = 0; i < values.length; i++) {
                    values[i] *= factor;
                }
                Optimizer.write(values, gradient);
            }
        }
        return norm;
    }
}
