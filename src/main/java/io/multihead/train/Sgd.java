package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * Stochastic gradient descent with momentum (Polyak 1964), like PyTorch's {@code SGD} without dampening:
 * {@code v = momentum v + g; p = p - rate v}. Elements are computed in f32. The state has 4 bytes per element, on the heap.
 */
public final class Sgd extends ParameterLoop {
    private final float momentum;
    private float rate;

    private Sgd(Map<String, Tensor> parameters, double momentum) {
        super(parameters, "velocity");
        this.momentum = (float) momentum;
    }

    /**
     * {@return an optimizer whose velocities are 0}
     *
     * @param parameters the tensors that steps change, by name; they must stay open
     * @param momentum the fraction of the velocity that each step keeps, 0 to below 1; 0 for none
     * @throws IllegalArgumentException if the momentum is out of its range, or a parameter cannot be written, has integers, or has more
     *     than 2^31 elements
     */
    public static Sgd of(Map<String, Tensor> parameters, double momentum) {
        if (!(momentum >= 0 && momentum < 1)) {
            throw Checks.fail("momentum", String.valueOf(momentum), "expected 0 to below 1");
        }
        return new Sgd(parameters, momentum);
    }

    @Override
    void begin(int parameter, long step, double newRate) {
        rate = (float) newRate;
    }

    @Override
    void update(float[] p, float[] g, float[][] state, int at, int count) {
        float[] v = state[0];
        for (int i = 0; i < count; i++) {
            float velocity = momentum * v[at + i] + g[i];
            v[at + i] = velocity;
            p[i] -= rate * velocity;
        }
    }
}
