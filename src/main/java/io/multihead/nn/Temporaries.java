package io.multihead.nn;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Where the intermediate results of one call lie: the only place of this package that allocates them. */
final class Temporaries {
    /** A dense f32 tensor with arbitrary contents: a Java array, or native memory if an array is too short. */
    Tensor f32(long... dims) {
        Shape shape = Shape.of(dims);
        return shape.elements() <= Integer.MAX_VALUE - 8
                ? Tensor.of(new float[(int) shape.elements()], dims)
                : Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
    }

    /** As {@code [batch, tokens, ...]} in the memory order of {@code like}, with another number of features. */
    Tensor f32Like(Tensor like, long features) {
        return Views.tokensFirst(like)
                ? f32(like.dim(1), like.dim(0), features).permute(1, 0, 2)
                : f32(like.dim(0), like.dim(1), features);
    }

    /** A dense f64 tensor with arbitrary contents: for log-sum-exp, of which backward needs all digits. */
    Tensor f64(long... dims) {
        return Tensor.allocate(Arena.ofAuto(), DType.F64, Shape.of(dims));
    }

    /** Adds one dense f32 temporary to another of the same shape. */
    static void add(Tensor to, Tensor from) {
        MemorySegment sum = to.memory();
        MemorySegment other = from.memory();
        for (long i = 0; i < to.shape().elements(); i++) {
            float both = sum.getAtIndex(ValueLayout.JAVA_FLOAT, i) + other.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            sum.setAtIndex(ValueLayout.JAVA_FLOAT, i, both);
        }
    }
}
