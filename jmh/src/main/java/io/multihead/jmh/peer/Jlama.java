package io.multihead.jmh.peer;

import com.github.tjake.jlama.math.VectorMath;
import com.github.tjake.jlama.tensor.FloatBufferTensor;
import com.github.tjake.jlama.tensor.TensorShape;
import com.github.tjake.jlama.tensor.operations.PanamaTensorOperations;
import com.github.tjake.jlama.util.MachineSpec;
import com.github.tjake.jlama.util.PhysicalCoreExecutor;
import io.multihead.jmh.data.Data;
import java.nio.FloatBuffer;

/** Jlama's multiplication, which is in Java too, on native memory. */
public final class Jlama {
    private Jlama() {}

    /**
     * {@code C = A B} with A {@code [rows, depth]} and B {@code [depth, columns]}, which Jlama needs transposed, as it keeps
     * weights: that happens here, not in the call.
     */
    public static Runnable multiply(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        int columns = sizes[1];
        int depth = sizes[2];
        FloatBufferTensor left = tensor(a, sizes[0], depth);
        FloatBufferTensor right = tensor(Data.transposed(b, depth, columns), columns, depth);
        FloatBufferTensor result = tensor(c, sizes[0], columns);
        PanamaTensorOperations operations = new PanamaTensorOperations(MachineSpec.VECTOR_TYPE);
        if (threads == 1) {
            return () -> operations.batchDotProduct(result, left, right, 0, 0, depth);
        }
        PhysicalCoreExecutor.overrideThreadCount(threads);
        return () -> VectorMath.pchunk(
                0, columns, (from, count) -> operations.dotProductChunk(result, left, right, 0, depth, from, count));
    }

    private static FloatBufferTensor tensor(FloatBuffer values, int rows, int columns) {
        return new FloatBufferTensor(values, TensorShape.of(rows, columns), false);
    }
}
