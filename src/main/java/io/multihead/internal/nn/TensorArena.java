package io.multihead.internal.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Allocates the intermediate results of one call from arrays that the Compute keeps. Closing the arena returns the arrays for the next
 * call; an arena that is never closed leaves them to the garbage collector. Not thread-safe.
 */
public final class TensorArena implements AutoCloseable {
    private final Execution execution;
    private final Execution.@Nullable Running call;
    private final List<float[]> taken = new ArrayList<>();

    /** Creates an empty arena, for a recorded pass that keeps its results between calls. */
    public TensorArena(Compute cpu) {
        this(Operation.execution(cpu), null);
    }

    private TensorArena(Execution execution, Execution.@Nullable Running call) {
        this.execution = execution;
        this.call = call;
    }

    /** Begins a call of several kernels, which ends when the arena is closed. */
    public static TensorArena ofCall(Compute cpu) {
        Execution execution = Operation.execution(cpu);
        return new TensorArena(execution, execution.begin());
    }

    /** Returns a dense f32 tensor with arbitrary contents: a Java array, or native memory if an array is too short. */
    public Tensor f32(long... dims) {
        Shape shape = Shape.of(dims);
        if (shape.elements() > Checks.MAX_ARRAY_LENGTH) {
            return Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
        }
        float[] array = execution.takeFloats((int) shape.elements());
        taken.add(array);
        return Tensor.view(MemorySegment.ofArray(array), DType.F32, shape);
    }

    /** Returns an f32 tensor {@code [batch, tokens, features]} in the memory order of {@code like}, with arbitrary contents. */
    public Tensor f32Like(Tensor like, long features) {
        return Views.tokensFirst(like)
                ? f32(like.dim(1), like.dim(0), features).permute(1, 0, 2)
                : f32(like.dim(0), like.dim(1), features);
    }

    /** Returns a dense f64 tensor for log-sum-exp, since backward needs all of its digits. */
    public Tensor f64(long... dims) {
        return Tensor.allocate(Arena.ofAuto(), DType.F64, Shape.of(dims));
    }

    /** Returns every f32 tensor to the Compute. */
    public void clear() {
        taken.forEach(execution::giveBack);
        taken.clear();
    }

    /** Returns every f32 tensor to the Compute and ends the call, if there is one. It must be closed once. */
    @Override
    public void close() {
        clear();
        if (call != null) {
            call.close();
        }
    }
}
