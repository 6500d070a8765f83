package io.multihead.internal.kernel;

import static io.multihead.internal.base.NativeMemory.ORDER;
import static io.multihead.internal.base.NativeMemory.WORD;
import static io.multihead.internal.kernel.Lanes.COUNT;
import static io.multihead.internal.kernel.Lanes.FLOATS;
import static io.multihead.internal.kernel.Lanes.HALF;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.base.NativeMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Panels of int8 with four interleaved rows, like VNNI's: {@code [k / 4][32 columns][k % 4]}. Therefore one vector of bytes, read as words,
 * becomes a vector of f32 for each of four rows, with two shifts and a conversion. The stored rows of a panel are a multiple of four; rows
 * beyond its depth may have arbitrary contents, since they are multiplied by zeros.
 */
public final class Int8Panels {
    /** Rows that are interleaved. */
    public static final int ROWS = 4;

    /** Rows of a column that share a scale in {@link #tile4Blocks}: a multiple of {@link #ROWS}. */
    public static final int BLOCK = 32;

    /**
     * Floats from the scales of a block of rows to the scales of the next block: the largest number of columns of an operand, the keys of a
     * block.
     */
    public static final int SCALES_APART = MicroKernel.MAX_CHAIN;

    private static final VectorSpecies<Byte> BYTES = FLOATS.withLanes(byte.class);

    /** Bytes of four rows of half a panel. */
    private static final long HALF_BYTES = HALF * WORD;

    private Int8Panels() {}

    /**
     * Widens {@code rows} rows to rows of f32 panels and multiplies each by its scale.
     *
     * @param from offset of the first row in bytes
     * @param scales the scales of the rows, from {@code s0} on; empty for a scale of 1
     * @param at offset of the first f32 row in bytes
     */
    public static void widen(
            MemorySegment bytes, long from, int rows, float[] scales, int s0, MemorySegment to, long at) {
        MemorySegment source = NativeMemory.known(bytes);
        MemorySegment target = NativeMemory.known(to);
        for (int quad = 0; quad < rows; quad += ROWS) {
            for (int lane = 0; lane < PANEL; lane += COUNT) {
                long start = from + quad * PANEL + lane * ROWS;
                IntVector words = ByteVector.fromMemorySegment(BYTES, source, start, ORDER)
                        .reinterpretAsInts();
                for (int row = quad; row < Math.min(rows, quad + ROWS); row++) {
                    int up = 8 * (ROWS - 1 - row % ROWS);
                    IntVector wide = words.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                    FloatVector floats = (FloatVector) wide.convertShape(VectorOperators.I2F, FLOATS, 0);
                    floats.mul(scales.length == 0 ? 1f : scales[s0 + row])
                            .intoMemorySegment(target, at + (row * PANEL + lane) * WORD, ORDER);
                }
            }
        }
    }

    /** Stores {@code length} int8 values in one row, from row-major element index {@code at} on. */
    public static void narrow(float[] from, int start, int length, MemorySegment bytes, int at) {
        MemorySegment memory = NativeMemory.known(bytes);
        int row = at / PANEL;
        for (int i = 0; i < length; i++) {
            int column = at % PANEL + i;
            int to = (row / ROWS * PANEL + column) * ROWS + row % ROWS;
            memory.set(ValueLayout.JAVA_BYTE, to, (byte) from[start + i]);
        }
    }

    /**
     * Computes C = A * B in one chain for four rows and two vectors, half a panel apart, of an int8 panel, each row of which is multiplied
     * by its own scale first. The tile always reads four rows of A and stores four rows of C. It gives the same bits as
     * {@link MicroKernel#tiles6} with the widened panel only for {@code depth <= chain}. From {@code depth} to the next multiple of four, A
     * must be 0 and scales finite, also times a byte, since these rows are multiplied, too.
     */
    public static void tile4(
            float[] a,
            int a0,
            MemorySegment panels,
            long b0,
            float[] scales,
            int s0,
            int depth,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        FloatVector c20 = zero, c21 = zero;
        FloatVector c30 = zero, c31 = zero;
        for (int quad = 0; quad < depth; quad += ROWS) {
            long from = b0 + quad * (long) PANEL;
            IntVector left = ByteVector.fromMemorySegment(BYTES, b, from, ORDER).reinterpretAsInts();
            IntVector right = ByteVector.fromMemorySegment(BYTES, b, from + HALF_BYTES, ORDER)
                    .reinterpretAsInts();
            for (int row = 0; row < ROWS; row++) {
                int k = quad + row;
                int up = 8 * (ROWS - 1 - row);
                FloatVector scale = FloatVector.broadcast(FLOATS, scales[s0 + k]);
                IntVector l = left.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                FloatVector b0k = ((FloatVector) l.convertShape(VectorOperators.I2F, FLOATS, 0)).mul(scale);
                IntVector r = right.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                FloatVector b1k = ((FloatVector) r.convertShape(VectorOperators.I2F, FLOATS, 0)).mul(scale);
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + k]);
                c00 = x0.fma(b0k, c00);
                c01 = x0.fma(b1k, c01);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + k + ROW]);
                c10 = x1.fma(b0k, c10);
                c11 = x1.fma(b1k, c11);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + k + 2 * ROW]);
                c20 = x2.fma(b0k, c20);
                c21 = x2.fma(b1k, c21);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + k + 3 * ROW]);
                c30 = x3.fma(b0k, c30);
                c31 = x3.fma(b1k, c31);
            }
        }
        c00.add(zero).intoArray(c, c0);
        c01.add(zero).intoArray(c, c0 + HALF);
        c10.add(zero).intoArray(c, c0 + ldc);
        c11.add(zero).intoArray(c, c0 + ldc + HALF);
        c20.add(zero).intoArray(c, c0 + 2 * ldc);
        c21.add(zero).intoArray(c, c0 + 2 * ldc + HALF);
        c30.add(zero).intoArray(c, c0 + 3 * ldc);
        c31.add(zero).intoArray(c, c0 + 3 * ldc + HALF);
    }

    /**
     * Computes as {@link #tile4} does, without scales, as for keys whose scores are scaled instead. This takes a sixth less time than with
     * scales of 1, and gives the same bits.
     */
    public static void tile4Unscaled(
            float[] a, int a0, MemorySegment panels, long b0, int depth, float[] c, int c0, int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector c00 = zero, c01 = zero;
        FloatVector c10 = zero, c11 = zero;
        FloatVector c20 = zero, c21 = zero;
        FloatVector c30 = zero, c31 = zero;
        for (int quad = 0; quad < depth; quad += ROWS) {
            long from = b0 + quad * (long) PANEL;
            IntVector left = ByteVector.fromMemorySegment(BYTES, b, from, ORDER).reinterpretAsInts();
            IntVector right = ByteVector.fromMemorySegment(BYTES, b, from + HALF_BYTES, ORDER)
                    .reinterpretAsInts();
            for (int row = 0; row < ROWS; row++) {
                int k = quad + row;
                int up = 8 * (ROWS - 1 - row);
                IntVector l = left.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                FloatVector b0k = (FloatVector) l.convertShape(VectorOperators.I2F, FLOATS, 0);
                IntVector r = right.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                FloatVector b1k = (FloatVector) r.convertShape(VectorOperators.I2F, FLOATS, 0);
                FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + k]);
                c00 = x0.fma(b0k, c00);
                c01 = x0.fma(b1k, c01);
                FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + k + ROW]);
                c10 = x1.fma(b0k, c10);
                c11 = x1.fma(b1k, c11);
                FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + k + 2 * ROW]);
                c20 = x2.fma(b0k, c20);
                c21 = x2.fma(b1k, c21);
                FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + k + 3 * ROW]);
                c30 = x3.fma(b0k, c30);
                c31 = x3.fma(b1k, c31);
            }
        }
        c00.add(zero).intoArray(c, c0);
        c01.add(zero).intoArray(c, c0 + HALF);
        c10.add(zero).intoArray(c, c0 + ldc);
        c11.add(zero).intoArray(c, c0 + ldc + HALF);
        c20.add(zero).intoArray(c, c0 + 2 * ldc);
        c21.add(zero).intoArray(c, c0 + 2 * ldc + HALF);
        c30.add(zero).intoArray(c, c0 + 3 * ldc);
        c31.add(zero).intoArray(c, c0 + 3 * ldc + HALF);
    }

    /**
     * Computes as {@link #tile4} does in chains of {@link #BLOCK} rows. Each chain is multiplied by the scales of its columns, as for keys
     * with a scale per block. The bits are the same as with {@link TileSums#addScaled} on tiles of the widened panel.
     *
     * @param s0 index of the first column's scale of the first block; the scales of the next blocks are {@link #SCALES_APART} apart
     */
    public static void tile4Blocks(
            float[] a,
            int a0,
            MemorySegment panels,
            long b0,
            float[] scales,
            int s0,
            int depth,
            float[] c,
            int c0,
            int ldc) {
        MemorySegment b = NativeMemory.known(panels);
        FloatVector zero = FloatVector.zero(FLOATS);
        FloatVector s00 = zero, s01 = zero;
        FloatVector s10 = zero, s11 = zero;
        FloatVector s20 = zero, s21 = zero;
        FloatVector s30 = zero, s31 = zero;
        for (int first = 0; first < depth; first += BLOCK) {
            FloatVector c00 = zero, c01 = zero;
            FloatVector c10 = zero, c11 = zero;
            FloatVector c20 = zero, c21 = zero;
            FloatVector c30 = zero, c31 = zero;
            int end = Math.min(depth, first + BLOCK);
            for (int quad = first; quad < end; quad += ROWS) {
                long from = b0 + quad * (long) PANEL;
                IntVector left =
                        ByteVector.fromMemorySegment(BYTES, b, from, ORDER).reinterpretAsInts();
                IntVector right = ByteVector.fromMemorySegment(BYTES, b, from + HALF_BYTES, ORDER)
                        .reinterpretAsInts();
                for (int row = 0; row < ROWS; row++) {
                    int k = quad + row;
                    int up = 8 * (ROWS - 1 - row);
                    IntVector l = left.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                    FloatVector b0k = (FloatVector) l.convertShape(VectorOperators.I2F, FLOATS, 0);
                    IntVector r = right.lanewise(VectorOperators.LSHL, up).lanewise(VectorOperators.ASHR, 24);
                    FloatVector b1k = (FloatVector) r.convertShape(VectorOperators.I2F, FLOATS, 0);
                    FloatVector x0 = FloatVector.broadcast(FLOATS, a[a0 + k]);
                    c00 = x0.fma(b0k, c00);
                    c01 = x0.fma(b1k, c01);
                    FloatVector x1 = FloatVector.broadcast(FLOATS, a[a0 + k + ROW]);
                    c10 = x1.fma(b0k, c10);
                    c11 = x1.fma(b1k, c11);
                    FloatVector x2 = FloatVector.broadcast(FLOATS, a[a0 + k + 2 * ROW]);
                    c20 = x2.fma(b0k, c20);
                    c21 = x2.fma(b1k, c21);
                    FloatVector x3 = FloatVector.broadcast(FLOATS, a[a0 + k + 3 * ROW]);
                    c30 = x3.fma(b0k, c30);
                    c31 = x3.fma(b1k, c31);
                }
            }
            int at = s0 + first / BLOCK * SCALES_APART;
            FloatVector scale0 = FloatVector.fromArray(FLOATS, scales, at);
            FloatVector scale1 = FloatVector.fromArray(FLOATS, scales, at + HALF);
            s00 = c00.fma(scale0, s00);
            s01 = c01.fma(scale1, s01);
            s10 = c10.fma(scale0, s10);
            s11 = c11.fma(scale1, s11);
            s20 = c20.fma(scale0, s20);
            s21 = c21.fma(scale1, s21);
            s30 = c30.fma(scale0, s30);
            s31 = c31.fma(scale1, s31);
        }
        s00.add(zero).intoArray(c, c0);
        s01.add(zero).intoArray(c, c0 + HALF);
        s10.add(zero).intoArray(c, c0 + ldc);
        s11.add(zero).intoArray(c, c0 + ldc + HALF);
        s20.add(zero).intoArray(c, c0 + 2 * ldc);
        s21.add(zero).intoArray(c, c0 + 2 * ldc + HALF);
        s30.add(zero).intoArray(c, c0 + 3 * ldc);
        s31.add(zero).intoArray(c, c0 + 3 * ldc + HALF);
    }
}
