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
 * Products of rows and quantized blocks as in Java engines, with outputs divided among threads. For one row, each
 * output is a dot product with its row of blocks as in a file. The bytes are widened to floats, and each block is
 * multiplied by its scale (Llama3.java, and jinfer for one token). Several rows are multiplied by tiles of two rows and
 * three outputs. Their blocks are widened and scaled once for both rows (jinfer for prompts). Blocks are Q8_0 or Q4_0.
 */
public record JavaBlocks(BlockType type, int inputs, int outputs) {
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Byte> BYTES =
            VectorSpecies.of(byte.class, VectorShape.forBitSize(FLOATS.vectorBitSize() / Float.BYTES));
    private static final VectorSpecies<Byte> NIBBLES = ByteVector.SPECIES_128;

    private static final int BLOCK = 32;

    /** The number of outputs of a tile of two rows. */
    private static final int TILE = 3;

    /** Computes {@code y = x W} for rows of x. W has the blocks of consecutive outputs. */
    public void multiply(int threads, float[] x, BlockTensor weights, FloatBuffer y) {
        int rows = x.length / inputs;
        IntStream each = IntStream.range(0, Math.ceilDiv(outputs, TILE));
        (threads > 1 ? each.parallel() : each).forEach(tile -> {
            int first = tile * TILE;
            int count = Math.min(TILE, outputs - first);
            int row = 0;
            for (; row + 1 < rows && count == TILE; row += 2) {
                tile(weights, first, x, row, y);
            }
            for (; row < rows; row++) {
                for (int output = first; output < first + count; output++) {
                    long at = weights.offset() + output * weights.rowBytes();
                    y.put(row * outputs + output, dot(weights.memory(), at, x, row * inputs));
                }
            }
        });
    }

    private void tile(BlockTensor weights, int output, float[] x, int row, FloatBuffer y) {
        MemorySegment memory = weights.memory();
        long next = weights.rowBytes();
        long at = weights.offset() + output * next;
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero, c02 = zero;
        FloatVector c10 = zero, c11 = zero, c12 = zero;
        for (int k = 0; k < inputs; k += BLOCK) {
            FloatVector d0 = FloatVector.broadcast(FLOATS, scale(memory, at));
            FloatVector d1 = FloatVector.broadcast(FLOATS, scale(memory, at + next));
            FloatVector d2 = FloatVector.broadcast(FLOATS, scale(memory, at + 2 * next));
            for (int i = 0; i < BLOCK; i += FLOATS.length()) {
                FloatVector w0 = widened(memory, at, i).mul(d0);
                FloatVector w1 = widened(memory, at + next, i).mul(d1);
                FloatVector w2 = widened(memory, at + 2 * next, i).mul(d2);
                FloatVector x0 = FloatVector.fromArray(FLOATS, x, row * inputs + k + i);
                c00 = x0.fma(w0, c00);
                c01 = x0.fma(w1, c01);
                c02 = x0.fma(w2, c02);
                FloatVector x1 = FloatVector.fromArray(FLOATS, x, (row + 1) * inputs + k + i);
                c10 = x1.fma(w0, c10);
                c11 = x1.fma(w1, c11);
                c12 = x1.fma(w2, c12);
            }
            at += type.bytes();
        }
        int to = row * outputs + output;
        y.put(to, c00.reduceLanes(VectorOperators.ADD));
        y.put(to + 1, c01.reduceLanes(VectorOperators.ADD));
        y.put(to + 2, c02.reduceLanes(VectorOperators.ADD));
        y.put(to + outputs, c10.reduceLanes(VectorOperators.ADD));
        y.put(to + outputs + 1, c11.reduceLanes(VectorOperators.ADD));
        y.put(to + outputs + 2, c12.reduceLanes(VectorOperators.ADD));
    }

    private static float scale(MemorySegment memory, long at) {
        return Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
    }

    /** Returns a vector of the elements of a block from element {@code i} on. */
    private FloatVector widened(MemorySegment memory, long at, int i) {
        if (type == BlockType.Q8_0) {
            return (FloatVector)
                    ByteVector.fromMemorySegment(BYTES, memory, at + Short.BYTES + i, ByteOrder.LITTLE_ENDIAN)
                            .castShape(FLOATS, 0);
        }
        ByteVector bytes = ByteVector.fromMemorySegment(NIBBLES, memory, at + Short.BYTES, ByteOrder.LITTLE_ENDIAN);
        ByteVector elements = i < BLOCK / 2 ? bytes.and((byte) 15) : bytes.lanewise(VectorOperators.LSHR, 4);
        return (FloatVector) elements.sub((byte) 8).castShape(FLOATS, i % (BLOCK / 2) / FLOATS.length());
    }

    private float dot(MemorySegment memory, long at, float[] x, int x0) {
        return type == BlockType.Q8_0 ? dotOfBytes(memory, at, x, x0) : dotOfNibbles(memory, at, x, x0);
    }

    private float dotOfBytes(MemorySegment memory, long start, float[] x, int x0) {
        FloatVector sum = FloatVector.zero(FLOATS);
        long at = start;
        for (int k = 0; k < inputs; k += BLOCK) {
            FloatVector block = FloatVector.zero(FLOATS);
            for (int i = 0; i < BLOCK; i += FLOATS.length()) {
                ByteVector bytes =
                        ByteVector.fromMemorySegment(BYTES, memory, at + Short.BYTES + i, ByteOrder.LITTLE_ENDIAN);
                FloatVector wide = (FloatVector) bytes.castShape(FLOATS, 0);
                block = FloatVector.fromArray(FLOATS, x, x0 + k + i).fma(wide, block);
            }
            sum = block.fma(FloatVector.broadcast(FLOATS, scale(memory, at)), sum);
            at += type.bytes();
        }
        return sum.reduceLanes(VectorOperators.ADD);
    }

    private float dotOfNibbles(MemorySegment memory, long start, float[] x, int x0) {
        FloatVector sum = FloatVector.zero(FLOATS);
        long at = start;
        for (int k = 0; k < inputs; k += BLOCK) {
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
            sum = block.fma(FloatVector.broadcast(FLOATS, scale(memory, at)), sum);
            at += type.bytes();
        }
        return sum.reduceLanes(VectorOperators.ADD);
    }
}
