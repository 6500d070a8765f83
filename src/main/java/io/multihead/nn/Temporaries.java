package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where the intermediate results of one call lie: the only place of this package that allocates them. Closing it gives them to the
 * next call; whoever does not leaves them to the garbage collector.
 */
final class Temporaries implements AutoCloseable {
    private final Execution execution;
    private final Execution.@Nullable Running call;
    private final List<float[]> taken = new ArrayList<>();

    /** Begins empty, for a recorded pass that keeps its results between calls. */
    Temporaries(Compute cpu) {
        this(Operation.execution(cpu), null);
    }

    private Temporaries(Execution execution, Execution.@Nullable Running call) {
        this.execution = execution;
        this.call = call;
    }

    /** Begins a call of several kernels, which ends when this is closed. */
    static Temporaries ofCall(Compute cpu) {
        Execution execution = Operation.execution(cpu);
        return new Temporaries(execution, execution.begin());
    }

    /** A dense f32 tensor with arbitrary contents: a Java array, or native memory if an array is too short. */
    Tensor f32(long... dims) {
        Shape shape = Shape.of(dims);
        if (shape.elements() > Integer.MAX_VALUE - 8) {
            return Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
        }
        float[] array = execution.takeFloats((int) shape.elements());
        taken.add(array);
        return Tensor.view(MemorySegment.ofArray(array), DType.F32, shape);
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

    /** Gives back every f32 tensor that was made. */
    void clear() {
        taken.forEach(execution::giveBack);
        taken.clear();
    }

    /** Gives back every f32 tensor that was made and ends the call, if there is one. To be closed once. */
    @Override
    public void close() {
        clear();
        if (call != null) {
            call.close();
        }
    }
}
