package io.multihead.jmh.peer;

import com.github.tjake.jlama.math.VectorMath;
import com.github.tjake.jlama.safetensors.DType;
import com.github.tjake.jlama.tensor.AbstractTensor;
import com.github.tjake.jlama.tensor.FloatBufferTensor;
import com.github.tjake.jlama.tensor.Q4ByteBufferTensor;
import com.github.tjake.jlama.tensor.TensorShape;
import com.github.tjake.jlama.tensor.operations.PanamaTensorOperations;
import com.github.tjake.jlama.util.MachineSpec;
import com.github.tjake.jlama.util.PhysicalCoreExecutor;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.BlockTensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** Jlama's multiplication, which is also in Java, on native memory. */
public final class Jlama {
    private static final int BLOCK = 32;

    /** The number of Jlama's threads in this JVM, which is 0 before they start. */
    private static int started;

    private Jlama() {}

    /**
     * Returns the call {@code C = A B} with A {@code [rows, depth]} and B {@code [depth, columns]}. Jlama needs B
     * transposed, like its weights. This method transposes B, not the call.
     */
    public static Runnable multiply(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        int columns = sizes[1];
        int depth = sizes[2];
        FloatBufferTensor left = tensor(a, sizes[0], depth);
        FloatBufferTensor right = tensor(Data.transposed(b, depth, columns), columns, depth);
        FloatBufferTensor result = tensor(c, sizes[0], columns);
        PanamaTensorOperations operations = new PanamaTensorOperations(MachineSpec.VECTOR_TYPE);
        useThreads(threads);
        return () -> multiply(operations, threads, result, left, right);
    }

    /**
     * Returns the call {@code y = x W} for rows of x and blocks of Q4_0 in Jlama's layout: elements as in the file, and
     * scales in f32 in a separate tensor. With {@code isRounded}, each call rounds the rows to 8 bits, like Jlama's
     * models by default.
     */
    public static Runnable multiply(int threads, FloatBuffer x, BlockTensor weights, boolean isRounded, FloatBuffer y) {
        int outputs = Math.toIntExact(weights.shape().dim(0));
        int depth = Math.toIntExact(weights.shape().dim(1));
        int rows = x.remaining() / depth;
        useThreads(threads);
        FloatBufferTensor left = tensor(x, rows, depth);
        Q4ByteBufferTensor right = blocks(weights, outputs, depth);
        FloatBufferTensor result = tensor(y, rows, outputs);
        PanamaTensorOperations operations = new PanamaTensorOperations(MachineSpec.VECTOR_TYPE);
        return () -> {
            if (!isRounded) {
                multiply(operations, threads, result, left, right);
                return;
            }
            try (AbstractTensor<?, ?> rounded = operations.quantize(left, DType.I8, 0, depth)) {
                multiply(operations, threads, result, rounded, right);
            }
        };
    }

    /** Sets the number of threads once for the JVM, before they start, since Jlama refuses another call. */
    private static synchronized void useThreads(int threads) {
        if (threads == 1 || threads == started) {
            return;
        }
        if (started != 0) {
            throw new IllegalStateException(
                    "threads: " + threads + "; expected " + started + ", which Jlama has in this JVM");
        }
        PhysicalCoreExecutor.overrideThreadCount(threads);
        started = threads;
    }

    private static void multiply(
            PanamaTensorOperations operations,
            int threads,
            FloatBufferTensor result,
            AbstractTensor<?, ?> left,
            AbstractTensor<?, ?> right) {
        int depth = left.shape().last();
        if (threads == 1) {
            operations.batchDotProduct(result, left, right, 0, 0, depth);
        } else {
            VectorMath.pchunk(
                    0,
                    right.shape().first(),
                    (from, count) -> operations.dotProductChunk(result, left, right, 0, depth, from, count));
        }
    }

    private static Q4ByteBufferTensor blocks(BlockTensor weights, int outputs, int depth) {
        int elements = weights.type().bytes() - Short.BYTES;
        int count = outputs * depth / BLOCK;
        ByteBuffer bytes = ByteBuffer.allocateDirect(count * elements).order(ByteOrder.LITTLE_ENDIAN);
        FloatBuffer scales = ByteBuffer.allocateDirect(count * Float.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer();
        MemorySegment memory = weights.memory();
        for (int block = 0; block < count; block++) {
            long at = weights.offset() + (long) block * weights.type().bytes();
            scales.put(block, Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at)));
            MemorySegment.copy(
                    memory, at + Short.BYTES, MemorySegment.ofBuffer(bytes), (long) block * elements, elements);
        }
        FloatBufferTensor d = tensor(scales, outputs, depth / BLOCK);
        return new Q4ByteBufferTensor("weights", bytes, d, TensorShape.of(outputs, depth), false);
    }

    private static FloatBufferTensor tensor(FloatBuffer values, int rows, int columns) {
        return new FloatBufferTensor(values, TensorShape.of(rows, columns), false);
    }
}
