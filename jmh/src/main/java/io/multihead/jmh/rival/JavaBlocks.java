package io.multihead.jmh.rival;

import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.stream.IntStream;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Rows by quantized blocks as Java engines multiply them: a dot product of each output's row of blocks as a file has it, whose bytes are
 * widened to floats, block by block times its scale, outputs over threads. For blocks of Q8_0 or Q4_0.
 */
public record JavaBlocks(BlockType type, int inputs, int outputs) {
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Byte> BYTES =
            VectorSpecies.of(byte.class, VectorShape.forBitSize(FLOATS.vectorBitSize() / Float.BYTES));
    private static final VectorSpecies<Byte> NIBBLES = ByteVector.SPECIES_128;

    private static final int BLOCK = 32;

    /** {@code y = x W} for rows of x; W has the blocks of one output after those of another. */
    public void multiply(int threads, float[] x, BlockTensor weights, FloatBuffer y) {
        MemorySegment memory = weights.memory();
        long rowBytes = weights.rowBytes();
        int rows = x.length / inputs;
        IntStream each = IntStream.range(0, outputs);
        (threads > 1 ? each.parallel() : each).forEach(output -> {
            long at = weights.offset() + output * rowBytes;
            for (int row = 0; row < rows; row++) {
                y.put(row * outputs + output, dot(memory, at, x, row * inputs));
            }
        });
    }

    private float dot(MemorySegment memory, long at, float[] x, int x0) {
        return type == BlockType.Q8_0 ? dotOfBytes(memory, at, x, x0) : dotOfNibbles(memory, at, x, x0);
    }

    private float dotOfBytes(MemorySegment memory, long start, float[] x, int x0) {
        FloatVector sum = FloatVector.zero(FLOATS);
        long at = start;
        for (int k = 0; k < inputs; k += BLOCK) {
            float scale = Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
            FloatVector block = FloatVector.zero(FLOATS);
            for (int i = 0; i < BLOCK; i += FLOATS.length()) {
                ByteVector bytes =
                        ByteVector.fromMemorySegment(BYTES, memory, at + Short.BYTES + i, ByteOrder.LITTLE_ENDIAN);
                FloatVector wide = (FloatVector) bytes.castShape(FLOATS, 0);
                block = FloatVector.fromArray(FLOATS, x, x0 + k + i).fma(wide, block);
            }
            sum = block.fma(FloatVector.broadcast(FLOATS, scale), sum);
            at += type.bytes();
        }
        return sum.reduceLanes(VectorOperators.ADD);
    }

    private float dotOfNibbles(MemorySegment memory, long start, float[] x, int x0) {
        FloatVector sum = FloatVector.zero(FLOATS);
        long at = start;
        for (int k = 0; k < inputs; k += BLOCK) {
            float scale = Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
            ByteVector bytes = ByteVector.fromMemorySegment(NIBBLES, memory, at + Short.BYTES, ByteOrder.LITTLE_ENDIAN);
            ByteVector low = bytes.and((byte) 15).sub((byte) 8);
            ByteVector high = bytes.lanewise(VectorOperators.LSHR, 4).sub((byte) 8);
            FloatVector block = FloatVector.zero(FLOATS);
            for (int part = 0; part < NIBBLES.length() / FLOATS.length(); part++) {
                int from = x0 + k + part * FLOATS.length();
                FloatVector first = (FloatVector) low.castShape(FLOATS, part);
                FloatVector second = (FloatVector) high.castShape(FLOATS, part);
                block = FloatVector.fromArray(FLOATS, x, from).fma(first, block);
                block = FloatVector.fromArray(FLOATS, x, from + BLOCK / 2).fma(second, block);
            }
            sum = block.fma(FloatVector.broadcast(FLOATS, scale), sum);
            at += type.bytes();
        }
        return sum.reduceLanes(VectorOperators.ADD);
    }
}
