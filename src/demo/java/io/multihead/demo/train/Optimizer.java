package io.multihead.demo.train;

import io.multihead.tensor.Tensor;
import java.util.Map;

/** Changes parameters by their gradients. Tensors are dense f32. */
public interface Optimizer {
    /**
     * One step.
     *
     * @param parameters what is changed, by name
     * @param gradients of the same shapes, by name; a parameter without one is frozen: neither it nor its state changes
     * @param rate the learning rate
     */
    void step(Map<String, Tensor> parameters, Map<String, Tensor> gradients, double rate);

    /** Returns a copy of the optimizer's state, by name. */
    Map<String, Tensor> state();

    /** Takes back what {@link #state} gave; names and shapes were checked against it. */
    void restore(Map<String, Tensor> state);

    /** Copies an array over a dense tensor. */
    static void write(float[] values, Tensor to) {
        Tensor.of(values, to.shape().toArray()).copyTo(to);
    }
}
