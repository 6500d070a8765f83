package io.multihead.jmh.peer;

import ai.onnxruntime.OrtException;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.FloatBuffer;

/**
 * ONNX Runtime's {@code MatMulNBits} on the quantized blocks of a file, with the same integers, and with scales as
 * floats.
 */
public final class OnnxBlocks {
    private static final int BLOCK = 32;

    private OnnxBlocks() {}

    /**
     * Returns a product {@code [rows, outputs]} with blocks of Q4_0 or Q8_0.
     *
     * @param isExact whether inputs remain f32. Otherwise, they are rounded to 8 bits.
     */
    public static Onnx multiply(
            int rows, BlockTensor weights, boolean isExact, int threads, FloatBuffer x, FloatBuffer y)
            throws OrtException {
        int outputs = Math.toIntExact(weights.rows());
        int inputs = Math.toIntExact(weights.columns());
        int bits = weights.type() == BlockType.Q4_0 ? 4 : 8;
        int bytes = BLOCK * bits / Byte.SIZE;
        int blocks = outputs * inputs / BLOCK;
        byte[] fields = new byte[blocks * bytes];
        FloatBuffer scales = FloatBuffer.allocate(blocks);
        byte[] block = new byte[bytes];
        for (int i = 0; i < blocks; i++) {
            long at = weights.offset() + (long) i * weights.type().bytes();
            scales.put(i, Float.float16ToFloat(weights.memory().get(ValueLayout.JAVA_SHORT_UNALIGNED, at)));
            MemorySegment.copy(weights.memory(), ValueLayout.JAVA_BYTE, at + Short.BYTES, block, 0, bytes);
            store(block, bits, fields, i * bytes);
        }
        return new Onnx("MatMulNBits", "com.microsoft")
                .input("x", x, rows, inputs)
                .constant("fields", fields, outputs, inputs / BLOCK, bytes)
                .constant("scales", scales, blocks)
                .attribute("K", inputs)
                .attribute("N", outputs)
                .attribute("bits", bits)
                .attribute("block_size", BLOCK)
                .attribute("accuracy_level", isExact ? 1 : 4)
                .output(y, rows, outputs)
                .open(threads);
    }

    /**
     * Stores the integers of a block as unsigned numbers. A byte has two adjacent 4-bit integers. In a file, a byte has
     * two integers at a distance of 16.
     */
    private static void store(byte[] block, int bits, byte[] to, int at) {
        for (int i = 0; i < block.length; i++) {
            to[at + i] =
                    bits == 8 ? (byte) (block[i] + 128) : (byte) (nibble(block, 2 * i) | nibble(block, 2 * i + 1) << 4);
        }
    }

    private static int nibble(byte[] block, int element) {
        int half = BLOCK / 2;
        return element < half ? block[element] & 15 : block[element - half] >> 4 & 15;
    }
}
