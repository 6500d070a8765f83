package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * A recorded call of an encoder: the vectors of texts, and the values that their gradients need. Not thread-safe; the parameters must not
 * change before the pass is closed.
 */
public final class BertPass implements AutoCloseable {
    private final StatePass pass;
    private final int dim;
    private final Tensor vectors;

    BertPass(StatePass pass) {
        this.pass = pass;
        dim = Checks.fitsInt(pass.states().dim(1), "dim");
        vectors = pass.batch().means(pass.states(), dim);
    }

    /** {@return the vectors; {@code [texts, dim]} on the heap: means of states, not normalized} */
    public Tensor vectors() {
        return vectors;
    }

    /**
     * Adds the gradients of parameters, computed from the gradients of the vectors.
     *
     * @param vectorGradient the gradients of the vectors, in their shape
     * @param gradients the gradients by the names of the parameters, added to; a parameter without a gradient is not
     *     trained
     * @throws IllegalArgumentException if a shape does not fit; nothing is written
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(Tensor vectorGradient, Map<String, Tensor> gradients) {
        TensorChecks.requireShape(Checks.notNull(vectorGradient, "vectorGradient"), "vectorGradient", vectors.shape());
        Checks.notNull(gradients, "gradients");
        pass.backward(pass.batch().meansGradient(vectorGradient, dim), gradients);
    }

    /** Releases the recorded values. */
    @Override
    public void close() {
        pass.close();
    }
}
