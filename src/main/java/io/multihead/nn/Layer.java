package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.Map;

/**
 * A function of one tensor, with parameters, that can be trained.
 *
 * <p>A layer does not own its parameters: it reads the tensors that it was given, which must stay alive. {@link #forward} is thread-safe;
 * parameters may change only while no call runs, and {@link #parametersChanged} must be called before the next call.
 */
public interface Layer {
    /**
     * {@return the parameters under PyTorch's names: the same tensor objects that the layer was given; an unmodifiable map in PyTorch's
     * order, empty for a layer without parameters}
     */
    Map<String, Tensor> parameters();

    /**
     * {@return the tensors other than input and parameters that calls read, such as the tensors of a mask; an unmodifiable list, empty
     * by default}. No output or gradient may overlap them. PyTorch calls them buffers. A layer made of layers returns the buffers of all
     * of them.
     */
    default List<Tensor> buffers() {
        return List.of();
    }

    /**
     * {@return the shape of the output for an input}
     *
     * @param input the shape of an input
     * @throws IllegalArgumentException if the layer cannot take this input
     */
    Shape outputShape(Shape input);

    /**
     * Returns the number of leading axes of an input over which the layer computes independently: {@link #forward} of a slice
     * along the first axis, or of the input with these axes merged into one, gives the same elements, bit by bit. {@link Sequence}
     * computes large inputs slice by slice, so that its intermediate results stay small.
     *
     * @param input the shape of an input that the layer can take
     * @return 0 to the rank; 0, the default, if the layer needs the input as a whole
     */
    default int independentAxes(Shape input) {
        Checks.notNull(input, "input");
        return 0;
    }

    /**
     * {@return whether {@link #forward} only copies its input, as in dropout; false by default}. A {@link Sequence} omits such layers in
     * inference.
     */
    default boolean isIdentityInInference() {
        return false;
    }

    /**
     * Computes the output and keeps no values for backward; dropout has no effect.
     *
     * @param cpu threads and scratch memory
     * @param x the input, any floating-point type and strides
     * @param y the output, written; overlaps neither the input nor a parameter
     * @throws IllegalArgumentException if a shape or element type does not fit, before anything is written
     */
    void forward(Compute cpu, Tensor x, Tensor y);

    /**
     * Computes the output as in training and keeps the values for {@link Pass#backward}.
     *
     * @param cpu threads and scratch memory, for backward too; must stay open as long as the pass
     * @param x the input; must stay alive and unchanged until the pass is closed
     * @param y the output, written; must stay alive and unchanged until the pass is closed
     * @param seed the seed of dropout: the same seed drops the same elements
     * @return the pass, for one caller at a time
     * @throws IllegalArgumentException if a shape or element type does not fit, or the layer has no derivative, before anything is written
     */
    Pass record(Compute cpu, Tensor x, Tensor y, long seed);

    /**
     * Computes the output as in training, with seed 0.
     *
     * @param cpu threads and scratch memory, for backward too
     * @param x the input
     * @param y the output, written
     * @return the pass
     */
    default Pass record(Compute cpu, Tensor x, Tensor y) {
        return record(cpu, x, y, 0);
    }

    /** Makes {@link #forward} use parameters that an optimizer has changed, if the layer keeps packed copies of them. */
    default void parametersChanged() {
        // layers without packed copies read their parameters at every call
    }
}
