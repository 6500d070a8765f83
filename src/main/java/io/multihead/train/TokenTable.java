package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.nn.Embedding;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * The embedding of a decoder's ids {@code [batch, tokens]}. It refuses texts that are longer than the model's context. No other layer
 * refuses them, since rotary positions have no limit.
 *
 * @param embedding the rows of the table
 * @param context the largest number of tokens of a text
 */
record TokenTable(Embedding embedding, int context) implements Layer {
    @Override
    public Map<String, Tensor> parameters() {
        return embedding.parameters();
    }

    @Override
    public Shape outputShape(Shape input) {
        if (Checks.notNull(input, "input").rank() > 0 && input.dim(-1) > context) {
            throw Checks.fail(
                    "ids",
                    "shape " + input,
                    "expected [batch, tokens] with at most the model's " + context + " tokens");
        }
        return embedding.outputShape(input);
    }

    /** Returns the number of axes before the tokens of a text, since the number of tokens is checked. */
    @Override
    public int independentAxes(Shape input) {
        return Math.max(0, embedding.independentAxes(input) - 1);
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        embedding.forward(cpu, x, y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        return embedding.record(cpu, x, y, seed);
    }
}
