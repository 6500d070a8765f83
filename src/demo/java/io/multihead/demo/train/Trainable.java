package io.multihead.demo.train;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.Map;

/** A model with a task, as {@link Trainer} sees it: the data of a step depends on the seed and the step. */
public interface Trainable {
    /** Returns a description that must equal a checkpoint's. */
    String architecture();

    Compute cpu();

    /** Returns all parameters by name, trained in place. */
    Map<String, Tensor> parameters();

    /** Returns fresh gradients of zeros. */
    Map<String, Tensor> gradients();

    /** Adds the gradients of a step's loss, and returns the loss. */
    double learn(long seed, long step, Map<String, Tensor> gradients);

    /** To be called after parameters have changed. */
    void parametersChanged();
}
