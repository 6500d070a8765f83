package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.function.Function;

/**
 * A tensor of a file whose elements are computed when they are written, so a file may be larger than memory.
 *
 * @param dtype its element type
 * @param shape its sizes
 * @param contents a function that computes the tensor, with this element type and shape, and any strides; its arena is shared, and is closed
 *     when the tensor has been written
 */
public record LazyTensor(DType dtype, Shape shape, Function<Arena, Tensor> contents) {
    /** Checks that nothing is null. */
    public LazyTensor {
        Checks.notNull(dtype, "dtype");
        Checks.notNull(shape, "shape");
        Checks.notNull(contents, "contents");
    }

    /** Computes the tensor, and checks that it has the announced type and shape. */
    Tensor make(Arena arena, String name) {
        Tensor made = Checks.notNull(contents.apply(arena), name);
        if (made.dtype() != dtype || !made.shape().equals(shape)) {
            throw Checks.fail(name, made.toString(), "expected " + dtype + " " + shape + ", as announced");
        }
        return made;
    }
}
