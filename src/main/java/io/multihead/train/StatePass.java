package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.nn.Embedding;
import io.multihead.nn.Pass;
import io.multihead.nn.Sequence;
import io.multihead.tensor.Tensor;
import java.util.Map;

/** A recorded call of an encoder: the states of tokens, and the values that their gradients need. Not thread-safe. */
final class StatePass implements AutoCloseable {
    private final Compute cpu;
    private final Map<String, Embedding> tables;
    private final TextBatch batch;
    private final Pass pass;
    private final Tensor states;

    /**
     * Records a call.
     *
     * @param tables the tables of words, positions and types, by the names of their parameters
     * @param layers the layers that convert the sum of the tables' rows to states
     */
    StatePass(Compute cpu, Map<String, Embedding> tables, TextBatch batch, Sequence layers, Tensor sum, long seed) {
        this.cpu = cpu;
        this.tables = tables;
        this.batch = batch;
        states = like(sum);
        pass = layers.record(cpu, sum, states, seed);
    }

    private static Tensor like(Tensor tensor) {
        return Tensor.of(
                new float[(int) tensor.shape().elements()], tensor.shape().toArray());
    }

    TextBatch batch() {
        return batch;
    }

    /** Returns the states {@code [tokens, dim]}. */
    Tensor states() {
        return states;
    }

    /** Adds the gradients of parameters, computed from the gradients of the states. */
    void backward(Tensor stateGradient, Map<String, Tensor> gradients) {
        boolean trained = tables.keySet().stream().anyMatch(gradients::containsKey);
        Tensor down = trained ? like(states) : null; // otherwise gradients end at the first trained layer
        pass.backward(stateGradient, down, gradients);
        tables.forEach((name, table) -> {
            Tensor own = gradients.get(name);
            if (own != null && down != null) {
                table.backward(cpu, ids(name), down, own);
            }
        });
    }

    private int[] ids(String table) {
        return switch (table) {
            case BertSizes.WORDS -> batch.ids();
            case BertSizes.POSITIONS -> batch.positions();
            default -> batch.types();
        };
    }

    @Override
    public void close() {
        pass.close();
    }
}
