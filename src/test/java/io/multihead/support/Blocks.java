package io.multihead.support;

import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Shape;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.random.RandomGenerator;

/** Quantized blocks with random bytes and meaningful scales. */
public final class Blocks {
    /** A 16-bit number of a block. */
    public static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** Special scales that a property must use: zeros, subnormal numbers, the largest number, and negative numbers. */
    private static final float[] SPECIAL = {0f, -0f, 0x1p-24f, -0x3p-24f, 0x3ffp-24f, 65504f, -65504f};

    /** Scales of E8M0: both scales with a subnormal half, a scale that makes products large, and common scales. */
    private static final byte[] POWERS = {0, 1, 2, (byte) 180, 120, 122, 123, 124, 125, 127};

    private Blocks() {}

    /** Returns rows of blocks in a byte array, from an odd offset on. One in five scales is special. */
    public static BlockTensor random(BlockType type, int rows, int columns, RandomGenerator random) {
        int size = rows * columns / type.elements() * type.bytes();
        byte[] bytes = new byte[size + 3];
        random.nextBytes(bytes);
        MemorySegment memory = MemorySegment.ofArray(bytes);
        for (int at = 3; at < bytes.length; at += type.bytes()) {
            if (type == BlockType.MXFP4) {
                memory.set(ValueLayout.JAVA_BYTE, at, POWERS[random.nextInt(POWERS.length)]);
                continue;
            }
            memory.set(SHORT, at + scaleAt(type), scale(random));
            if (hasMinimum(type)) {
                memory.set(SHORT, at + scaleAt(type) + 2, scale(random));
            }
        }
        return BlockTensor.view(memory, type, Shape.of(rows, columns), 3);
    }

    /** Returns the byte of a block at which its scale begins. */
    public static int scaleAt(BlockType type) {
        return switch (type) {
            case Q6_K -> 208;
            case Q3_K -> 108;
            case Q2_K -> 80;
            default -> 0;
        };
    }

    /** Returns whether a second binary16 number follows the scale, which is a minimum or the scale of minima. */
    public static boolean hasMinimum(BlockType type) {
        return switch (type) {
            case Q4_1, Q5_1, Q4_K, Q5_K, Q2_K -> true;
            case Q8_0, Q4_0, Q5_0, Q6_K, Q3_K, MXFP4, IQ4_NL, IQ4_XS -> false;
        };
    }

    private static short scale(RandomGenerator random) {
        float scale = random.nextInt(5) == 0
                ? SPECIAL[random.nextInt(SPECIAL.length)]
                : (float) random.nextDouble(-0.02, 0.1);
        return Float.floatToFloat16(scale);
    }
}
