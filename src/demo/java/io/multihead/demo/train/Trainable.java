package io.multihead.demo.train;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.Map;

/** A model with a task, for {@link Trainer}. The data of a step depends on the seed and the step. */
public interface Trainable {
    /** Returns a description. A checkpoint must have the same description. */
    String architecture();

    Compute cpu();

    /** Returns all parameters by name, which are trained in place. */
    Map<String, Tensor> parameters();

    /** Returns new gradients of zeros. */
    Map<String, Tensor> gradients();

    /** Adds the gradients of a step's loss, and returns the loss. */
    double learn(long seed, long step, Map<String, Tensor> gradients);

    /** Must be called after parameters have been changed. */
    void parametersChanged();
}
