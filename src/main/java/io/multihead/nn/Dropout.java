package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Philox;
import io.multihead.internal.nn.ElementwiseCall;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Dropout (Srivastava et al. 2014), like PyTorch's {@code nn.Dropout}, on every element of a tensor of any shape: in a recorded
 * call, each element becomes 0 with probability {@code rate} and is multiplied by {@code 1 / (1 - rate)} otherwise. {@link
 * #forward} copies.
 *
 * <p>Whether an element is dropped depends only on the seed and on its row-major index (Philox4x32-10), not on memory, element
 * type or threads. Backward drops the same elements. If nothing is dropped and the element types are equal, elements are copied
 * bit by bit. Without parameters; immutable and thread-safe.
 */
public final class Dropout implements Layer {
    private final double rate;

    private Dropout(double rate) {
        this.rate = rate;
    }

    /**
     * {@return a layer with this rate}
     *
     * @param rate the probability of dropping an element, 0 to 1
     * @throws IllegalArgumentException if the rate is not a probability
     */
    public static Dropout of(double rate) {
        Checks.probability(rate, "rate");
        return new Dropout(rate);
    }

    @Override
    public Map<String, Tensor> parameters() {
        return Map.of();
    }

    @Override
    public Shape outputShape(Shape input) {
        return Checks.notNull(input, "input");
    }

    @Override
    public int independentAxes(Shape input) {
        return Checks.notNull(input, "input").rank();
    }

    @Override
    public boolean isIdentityInInference() {
        return true;
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        x.copyTo(y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        drop(cpu, x, y, seed);
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                if (dx != null) {
                    drop(cpu, dy, dx, seed);
                }
            }
        };
    }

    private void drop(Compute cpu, Tensor from, Tensor to, long seed) {
        if (rate == 0) {
            from.copyTo(to);
            return;
        }
        ElementwiseCall.Function function = (values, inputs, buffer, columns, first) ->
                Philox.drop(values, 0, columns, first, 0, seed, rate, new int[4]);
        ElementwiseCall.run(cpu, function, from, null, to);
    }
}
