package io.multihead.tensor;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.reference.ReferenceBlocks;
import io.multihead.support.Blocks;
import io.multihead.support.Floats;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Quantized weights are compared with their definition, which they equal exactly for all scales. */
class BlockTensorProperties {
    /**
     * Binary16 numbers: 0, -0, the smallest and the largest subnormal, the smallest normal, 1, -1.5, the largest,
     * infinities and NaN.
     */
    private static final short[] SCALES = {
        0,
        (short) 0x8000,
        1,
        0x3ff,
        0x400,
        0x3c00,
        (short) 0xbe00,
        0x7bff,
        (short) 0xfbff,
        0x7c00,
        (short) 0xfc00,
        0x7e00
    };

    @Property(tries = 400)
    void valuesAreTheDefinitionsRoundedOnce(@ForAll long seed, @ForAll BlockType type) {
        SplittableRandom random = new SplittableRandom(seed);
        int rows = random.nextInt(1, 4);
        int columns = random.nextInt(1, 4) * type.elements();
        int offset = random.nextInt(5);
        BlockTensor weights = BlockTensor.view(
                random(random, type, rows * columns / type.elements(), offset), type, Shape.of(rows, columns), offset);
        float[] expected = rounded(ReferenceBlocks.dequantize(weights));
        assertArrayEquals(Floats.bits(expected), Floats.bits(dequantized(weights)), weights.toString());
    }

    /**
     * All scales are equal, no quant is 0, and each bit of a block is changed. The test detects exchanged elements and
     * exchanged bits.
     */
    @Example
    void everyQuantOfEveryElementIsRead() {
        for (BlockType type : BlockType.values()) {
            MemorySegment memory = MemorySegment.ofArray(new byte[type.bytes()]);
            BlockTensor block = BlockTensor.view(memory, type, Shape.of(1, type.elements()), 0);
            for (long at = 0; at < type.bytes(); at++) {
                for (int bit = 0; bit < 8; bit++) {
                    memory.fill((byte) 0x65); // 0x6565 is a scale of 1381
                    memory.set(ValueLayout.JAVA_BYTE, at, (byte) (0x65 ^ 1 << bit));
                    float[] values = dequantized(block);
                    assertArrayEquals(rounded(ReferenceBlocks.dequantize(block)), values, type + " byte " + at);
                    memory.fill((byte) 0x65);
                    assertTrue(
                            !Arrays.equals(dequantized(block), values),
                            type + " ignores bit " + bit + " of byte " + at);
                }
            }
        }
    }

    /** Blocks are compared with values that were computed by hand. The property's definition is checked in this way. */
    @Example
    void valuesByHand() {
        MemorySegment memory = MemorySegment.ofArray(new byte[BlockType.Q8_0.bytes()]);
        memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, 0, (short) 0x4000);
        memory.set(ValueLayout.JAVA_BYTE, 2, (byte) -128);
        memory.set(ValueLayout.JAVA_BYTE, 33, (byte) 127);
        float[] values = dequantized(BlockTensor.view(memory, BlockType.Q8_0, Shape.of(1, 32), 0));
        assertEquals(-256, values[0]);
        assertEquals(0, values[1]);
        assertEquals(254, values[31]);
        memory.set(ValueLayout.JAVA_BYTE, 2, (byte) 0xf0);
        values = dequantized(BlockTensor.view(memory, BlockType.Q4_0, Shape.of(1, 32), 0));
        assertEquals(-16, values[0]);
        assertEquals(14, values[16]);
    }

    /**
     * The scale is 2 and the minimum 1. Elements 9 and 20 have a fifth bit. Their nibbles are in byte 9 (low) and byte
     * 4 (high).
     */
    @Example
    void fifthBitsByHand() {
        byte[] bytes = new byte[BlockType.Q5_1.bytes()];
        bytes[1] = 0x40;
        bytes[3] = 0x3c;
        bytes[5] = 2;
        bytes[6] = 16;
        bytes[17] = 3;
        bytes[12] = 0x50;
        assertByHand(BlockType.Q5_1, bytes, 1, 2 * 19 + 1, 2 * 21 + 1);
        byte[] signed = new byte[BlockType.Q5_0.bytes()];
        signed[1] = 0x40;
        System.arraycopy(bytes, 4, signed, 2, 20);
        assertByHand(BlockType.Q5_0, signed, -32, 2 * 3, 2 * 5);
        byte[] four = Arrays.copyOf(bytes, BlockType.Q4_1.bytes());
        System.arraycopy(bytes, 8, four, 4, 16);
        assertByHand(BlockType.Q4_1, four, 1, 2 * 3 + 1, 2 * 5 + 1);
    }

    /** A scale of 4 with every code, both scales with a subnormal half, and the largest scale. */
    @Example
    void numbersOfMxFp4ByHand() {
        byte[] bytes = new byte[BlockType.MXFP4.bytes()];
        for (int i = 0; i < 16; i++) {
            bytes[1 + i] = (byte) (i | (15 - i) << 4);
        }
        float[] numbers = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
        for (int e : new int[] {129, 0, 1, 252}) {
            bytes[0] = (byte) e;
            float[] values =
                    dequantized(BlockTensor.view(MemorySegment.ofArray(bytes), BlockType.MXFP4, Shape.of(1, 32), 0));
            for (int i = 0; i < 16; i++) {
                float expected = (float) (numbers[i] * Math.scalb(1.0, e - 127));
                assertEquals(expected + 0f, values[i], "element " + i);
                assertEquals(expected + 0f, values[31 - i], "element " + (31 - i));
            }
        }
    }

    /**
     * Scales are 2 * (s - 32) for s of 33, 1, 16, 62 and others. Elements include the lowest, the highest and the
     * smallest number of the code book.
     */
    @Example
    void scalesOfIq4XsByHand() {
        byte[] bytes = new byte[BlockType.IQ4_XS.bytes()];
        int[] scales = {33, 1, 16, 62, 32, 0, 63, 47};
        bytes[1] = 0x40;
        for (int part = 0; part < 8; part++) {
            bytes[2 + part / 4] |= (byte) (scales[part] >> 4 << part % 4 * 2);
            bytes[4 + part / 2] |= (byte) ((scales[part] & 15) << part % 2 * 4);
            bytes[8 + part * 16] = (byte) 0xf0;
            bytes[8 + part * 16 + 15] = (byte) 0x88;
        }
        float[] values =
                dequantized(BlockTensor.view(MemorySegment.ofArray(bytes), BlockType.IQ4_XS, Shape.of(1, 256), 0));
        for (int part = 0; part < 8; part++) {
            int scale = 2 * (scales[part] - 32);
            assertEquals(scale * -127f, values[part * 32], "part " + part);
            assertEquals(scale * 113f, values[part * 32 + 16], "part " + part);
            assertEquals(scale, values[part * 32 + 15], "part " + part);
            assertEquals(scale, values[part * 32 + 31], "part " + part);
        }
    }

    private static void assertByHand(BlockType type, byte[] bytes, float zero, float nine, float twenty) {
        float[] values = dequantized(BlockTensor.view(MemorySegment.ofArray(bytes), type, Shape.of(1, 32), 0));
        assertEquals(zero, values[0], type + " element 0");
        assertEquals(nine, values[9], type + " element 9");
        assertEquals(twenty, values[20], type + " element 20");
    }

    /** The scales and minima of a super-block are checked element by element. All quants are 1. */
    @Example
    void scalesOfASuperBlockByHand() {
        byte[] bytes = new byte[BlockType.Q4_K.bytes()];
        Arrays.fill(bytes, 16, bytes.length, (byte) 0x11);
        bytes[1] = 0x3c;
        bytes[3] = 0x3c;
        for (int part = 0; part < 4; part++) {
            bytes[4 + part] = (byte) (part + 1 | 2 << 6); // high bits of scale part + 4: 2
            bytes[8 + part] = (byte) (part + 10 | 1 << 6); // high bits of minimum part + 4: 1
            bytes[12 + part] = (byte) (part + 5 | 3 << 4); // scale 32 + part + 5, minimum 16 + 3
        }
        float[] values =
                dequantized(BlockTensor.view(MemorySegment.ofArray(bytes), BlockType.Q4_K, Shape.of(1, 256), 0));
        for (int i = 0; i < 256; i++) {
            int part = i / 32;
            assertEquals(part < 4 ? part + 1 - (part + 10) : 32 + part + 1 - 19, values[i], "element " + i);
        }
    }

    @Property(tries = 60)
    void rowsAndAnyTargetHoldTheSameValues(@ForAll long seed, @ForAll BlockType type) {
        SplittableRandom random = new SplittableRandom(seed);
        int columns = random.nextInt(1, 3) * type.elements();
        int blocks = 6 * columns / type.elements();
        BlockTensor weights = BlockTensor.view(random(random, type, blocks, 0), type, Shape.of(2, 3, columns), 0);
        float[] all = dequantized(weights);
        for (int row = 0; row < 6; row++) {
            float[] expected = Arrays.copyOfRange(all, row * columns, (row + 1) * columns);
            float[] one = new float[columns + 2];
            weights.dequantizeRow(row, one, 1);
            assertArrayEquals(Floats.bits(expected), Floats.bits(Arrays.copyOfRange(one, 1, columns + 1)));
            assertEquals(0, one[0] + one[columns + 1], "beside the row");
            BlockTensor view = weights.select(row / 3).slice(row % 3, row % 3 + 1);
            assertEquals(Shape.of(1, columns), view.shape());
            assertArrayEquals(Floats.bits(expected), Floats.bits(dequantized(view)));
        }
        for (DType dtype : DType.values()) {
            try (Arena arena = Arena.ofConfined()) {
                Tensor to =
                        Tensor.allocate(arena, dtype, Shape.of(columns, 3, 2)).transpose(0, 2);
                weights.dequantize(to);
                Tensor expected = Tensor.of(all, 2, 3, columns).copy(arena, dtype);
                assertArrayEquals(Floats.bits(expected.toArray()), Floats.bits(to.toArray()), dtype.toString());
            }
        }
    }

    @Example
    void whatDoesNotFitIsNamed() {
        MemorySegment memory = MemorySegment.ofArray(new byte[1000]);
        mentions(
                () -> BlockTensor.view(memory, BlockType.Q8_0, Shape.of(2, 40), 0),
                "shape: shape [2, 40]; expected rows of a multiple of 32, as Q8_0 has blocks");
        mentions(() -> BlockTensor.view(memory, BlockType.Q6_K, Shape.of(1, 32), 0), "a multiple of 256, as Q6_K");
        mentions(() -> BlockTensor.view(memory, BlockType.Q6_K, Shape.of(), 0), "shape: shape []; expected rows");
        mentions(
                () -> BlockTensor.view(memory, BlockType.Q6_K, Shape.of(2, 512), 161),
                "memory: 1000 bytes; expected 4 blocks of 210 bytes from byte 161 on, for Q6_K [2, 512]");
        mentions(
                () -> BlockTensor.view(memory, BlockType.Q8_0, Shape.of(1L << 57, 32), 0),
                "memory: 1000 bytes; expected 144115188075855872 blocks of 34 bytes");
        mentions(() -> BlockTensor.view(memory, BlockType.Q8_0, Shape.of(0, 32), 1001), "memory: 1000 bytes");
        mentions(() -> BlockTensor.view(memory, BlockType.Q8_0, Shape.of(1, 32), -1), "offset: -1; expected");
        BlockTensor two = BlockTensor.view(memory, BlockType.Q8_0, Shape.of(2, 64), 1);
        mentions(() -> two.select(2), "index: 2; expected 0 to 1");
        mentions(() -> two.slice(1, 3), "slice: 1 to 3; expected a range of axis 0 of shape [2, 64]");
        mentions(() -> two.select(0).select(0), "shape: [64]; expected two axes or more");
        mentions(() -> two.dequantizeRow(-1, new float[64], 0), "row: -1; expected 0 to 1");
        mentions(() -> two.dequantizeRow(0, new float[64], 1), "to: 64 elements; expected 64 from index 1 on");
        mentions(() -> two.dequantize(Tensor.of(new float[128], 64, 2)), "to: shape [64, 2]; expected [2, 64]");
        mentions(
                () -> two.dequantize(Tensor.of(new float[64], 1, 64).broadcast(2, 64)),
                "expected every element to have its own storage");
        Tensor readOnly = Tensor.view(MemorySegment.ofArray(new float[128]).asReadOnly(), DType.F32, Shape.of(2, 64));
        mentions(() -> two.dequantize(readOnly), "to: read-only memory");
        Tensor over = Tensor.view(memory, DType.I8, Shape.of(2, 64), 100, 64, 1);
        mentions(() -> two.dequantize(over), "overlaps the blocks");
        assertEquals(-1, memory.mismatch(MemorySegment.ofArray(new byte[1000])), "nothing was written");
        two.dequantize(Tensor.view(memory, DType.I8, Shape.of(2, 64), 200, 64, 1)); // does not overlap the blocks
        BlockTensor none = BlockTensor.view(memory, BlockType.Q8_0, Shape.of(0, 1L << 40), 0);
        none.dequantize(Tensor.of(new float[0], 0, 1L << 40));
        assertEquals(0, none.bytes());
    }

    private static float[] dequantized(BlockTensor weights) {
        float[] values = new float[(int) weights.shape().elements()];
        weights.dequantize(Tensor.of(values, weights.shape().toArray()));
        return values;
    }

    private static float[] rounded(double[] values) {
        float[] rounded = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            rounded[i] = (float) values[i];
        }
        return rounded;
    }

    /** Returns blocks of random bytes. Half of the blocks have special scales. */
    private static MemorySegment random(SplittableRandom random, BlockType type, int blocks, int offset) {
        byte[] bytes = new byte[offset + blocks * type.bytes()];
        random.nextBytes(bytes);
        MemorySegment memory = MemorySegment.ofArray(bytes);
        for (int block = 0; block < blocks; block++) {
            long at = offset + (long) block * type.bytes();
            if (random.nextBoolean()) {
                setHalf(memory, at + Blocks.scaleAt(type), random);
                if (Blocks.hasMinimum(type)) {
                    setHalf(memory, at + Blocks.scaleAt(type) + 2, random);
                }
            }
            if (type == BlockType.Q8_0 && random.nextBoolean()) {
                memory.asSlice(at + 2, 32).fill((byte) -128);
            }
        }
        return memory;
    }

    private static void setHalf(MemorySegment memory, long at, SplittableRandom random) {
        memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, SCALES[random.nextInt(SCALES.length)]);
    }
}
