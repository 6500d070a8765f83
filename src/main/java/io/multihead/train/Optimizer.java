package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * Changes parameters by their gradients. An optimizer is made for the parameters of one model, keeps a state for each of them, and is for
 * one caller at a time. A step has the same bits on any number of threads, and a warm step allocates nothing.
 *
 * <p>After a step, {@link io.multihead.nn.Layer#parametersChanged} tells the model that its parameters have changed.
 */
public interface Optimizer {
    /**
     * Changes each parameter that has a gradient. A parameter without a gradient is frozen: neither it nor its state changes.
     *
     * @param cpu threads and scratch
     * @param gradients the gradients by the parameters' names, each of its parameter's shape, any floating-point type and strides
     * @param rate the learning rate of this step, finite and at least 0
     * @throws IllegalArgumentException if a name does not belong to a parameter, a shape, type or memory does not fit, or the rate is
     *     negative or not finite; nothing changes
     */
    void step(Compute cpu, Map<String, Tensor> gradients, double rate);

    /**
     * {@return the state from which training continues; an unmodifiable map of f32 tensors on the heap, by name, whose arrays the next step changes}
     */
    Map<String, Tensor> state();

    /**
     * Replaces the state by a copy of an earlier state.
     *
     * @param state the result of {@link #state} of an optimizer with the same parameters and options
     * @throws IllegalArgumentException if names, shapes or types differ; nothing changes
     */
    void restore(Map<String, Tensor> state);
}
