package io.multihead.nn;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A recorded forward call, with the values that {@link #backward} needs. Not thread-safe; parameters, input and output must not change
 * before the pass is closed.
 */
public interface Pass extends AutoCloseable {
    /**
     * Computes the gradients of a loss from its gradient with respect to this pass's output. May be called several times.
     *
     * @param outputGradient the loss's gradient with respect to the output, of the output's shape
     * @param inputGradient written: the gradient with respect to the input, of the input's shape; null if not needed
     * @param gradients tensors by the names of {@link Layer#parameters}, each of its parameter's shape: the parameters' gradients are
     *     added to them. Parameters without a tensor in this map and names of other layers are skipped
     * @throws IllegalArgumentException if a shape does not fit or tensors overlap, before anything is written
     * @throws IllegalStateException if the pass is closed
     */
    void backward(Tensor outputGradient, @Nullable Tensor inputGradient, Map<String, Tensor> gradients);

    /**
     * Computes only the gradient with respect to the input.
     *
     * @param outputGradient the loss's gradient with respect to the output
     * @param inputGradient written: the gradient with respect to the input
     */
    default void backward(Tensor outputGradient, Tensor inputGradient) {
        Checks.notNull(inputGradient, "inputGradient");
        backward(outputGradient, inputGradient, Map.of());
    }

    /** Releases the recorded values. A second call has no effect. */
    @Override
    void close();
}
