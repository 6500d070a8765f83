package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.nn.Embedding;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * A recorded call of an encoder: the vectors of texts, and the values that their gradients need. For one thread at a time; the parameters must not
 * change before it is closed.
 */
public final class BertPass implements AutoCloseable {
    private final Compute cpu;
    private final Map<String, Embedding> tables;
    private final int dim;
    private final TextBatch batch;
    private final Pass pass;
    private final Tensor vectors;

    /**
     * Records a call.
     *
     * @param tables of words, positions and types, by the names of their parameters
     * @param layers from the sum of the tables' rows to states
     */
    BertPass(Compute cpu, Map<String, Embedding> tables, TextBatch batch, Sequence layers, Tensor sum, long seed) {
        this.cpu = cpu;
        this.tables = tables;
        this.batch = batch;
        dim = Checks.fitsInt(sum.dim(1), "dim");
        Tensor states = Tensor.of(new float[batch.elements(dim)], batch.tokens(), dim);
        pass = layers.record(cpu, sum, states, seed);
        vectors = batch.means(states, dim);
    }

    /** {@return the vectors; {@code [texts, dim]} on the heap: means of states, not normalized} */
    public Tensor vectors() {
        return vectors;
    }

    /**
     * Adds the gradients of parameters, given those of the vectors.
     *
     * @param vectorGradient of the vectors' shape
     * @param gradients by the names of the parameters, added to; a parameter without one is not trained
     * @throws IllegalArgumentException if a shape does not fit; nothing has been written then
     * @throws IllegalStateException if the pass is closed
     */
    public void backward(Tensor vectorGradient, Map<String, Tensor> gradients) {
        TensorChecks.requireShape(Checks.notNull(vectorGradient, "vectorGradient"), "vectorGradient", vectors.shape());
        Checks.notNull(gradients, "gradients");
        Tensor down = Tensor.of(new float[batch.elements(dim)], batch.tokens(), dim);
        pass.backward(batch.meansGradient(vectorGradient, dim), down, gradients);
        tables.forEach((name, table) -> {
            Tensor own = gradients.get(name);
            if (own != null) {
                table.backward(cpu, ids(name), down, own);
            }
        });
    }

    private int[] ids(String table) {
        return switch (table) {
            case BertSizes.WORDS -> batch.ids();
            case BertSizes.POSITIONS -> batch.positions();
            default -> new int[batch.tokens()];
        };
    }

    /** Releases the recorded values. */
    @Override
    public void close() {
        pass.close();
    }
}
