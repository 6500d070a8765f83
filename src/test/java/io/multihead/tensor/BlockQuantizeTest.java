package io.multihead.tensor;

import static io.multihead.faults.Named.mentions;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Weights are rounded to blocks. {@code src/it/llamacpp} compares with ggml's functions on more weights. */
class BlockQuantizeTest {
    /** Checksums of the values that ggml 0.5.0 (ggml_quantize_chunk, then to_float) gives for {@link #weights}. */
    @ParameterizedTest
    @CsvSource({
        "Q8_0,3055770338",
        "Q4_0,1640167755",
        "Q4_1,1135552227",
        "Q5_0,4013274646",
        "Q5_1,955633641",
        "Q4_K,2704737343",
        "Q5_K,4230157364",
        "Q6_K,1623536202",
        "Q3_K,3933147765",
        "Q2_K,346628349",
        "MXFP4,391033404",
        "IQ4_NL,296272458",
        "IQ4_XS,934711465"
    })
    void valuesAreThoseOfGgml(BlockType type, long checksum) {
        float[] weights = weights(64 * 256);
        CRC32 sum = new CRC32();
        for (float value : rounded(type, weights)) {
            int bits = Float.floatToRawIntBits(value + 0f); // -0 becomes 0
            sum.update(new byte[] {(byte) bits, (byte) (bits >> 8), (byte) (bits >> 16), (byte) (bits >> 24)});
        }
        assertEquals(checksum, sum.getValue());
    }

    /**
     * The root mean square errors are the figures of the documentation, in percent of the weights' root mean square.
     */
    @ParameterizedTest
    @CsvSource({
        "Q8_0,0.535",
        "Q6_K,1.77",
        "Q5_K,3.61",
        "Q5_1,3.78",
        "Q5_0,4.26",
        "Q4_K,7.13",
        "Q4_1,7.82",
        "Q4_0,8.6",
        "Q3_K,15.06",
        "Q2_K,29.67",
        "MXFP4,11.42",
        "IQ4_NL,7.62",
        "IQ4_XS,7.68"
    })
    void theErrorOfNormalWeightsIsTheDocumentedOne(BlockType type, double percent) {
        SplittableRandom random = new SplittableRandom(3);
        float[] weights = new float[1 << 18];
        double squares = 0;
        for (int i = 0; i < weights.length; i++) {
            weights[i] = (float) random.nextGaussian() * 0.02f;
            squares += weights[i] * (double) weights[i];
        }
        double errors = 0;
        float[] rounded = rounded(type, weights);
        for (int i = 0; i < weights.length; i++) {
            errors += Math.pow(rounded[i] - weights[i], 2);
        }
        double measured = 100 * Math.sqrt(errors / squares);
        System.out.printf(
                "%s: error %.3f %% of normal weights, %.2f bits each%n",
                type, measured, 8.0 * type.bytes() / type.elements());
        assertEquals(percent, measured, 0.02 * percent);
    }

    @ParameterizedTest
    @EnumSource(BlockType.class)
    void zerosAndConstantsStay(BlockType type) {
        float[] weights = new float[4 * 256];
        Arrays.fill(weights, 256, 512, -3);
        Arrays.fill(weights, 512, 768, 0.5f);
        weights[800] = 0x1p-100f; // below all scales except the scales of MXFP4
        float[] rounded = rounded(type, weights);
        for (int i = 0; i < weights.length; i++) {
            float expected = i == 800 && type != BlockType.MXFP4 ? 0 : weights[i];
            // the only rounding is the rounding of the scale to f16; the six-bit scale of the largest element in a
            // k-quant is exact
            assertEquals(expected, rounded[i], Math.abs(expected) * 0x1p-10, type + " element " + i);
        }
    }

    @Test
    void minusTheLargestOfEightBitsIsNeverStored() {
        float[] weights = new float[32];
        weights[0] = -32;
        weights[31] = 31;
        try (Arena arena = Arena.ofConfined()) {
            BlockTensor made = BlockTensor.quantize(arena, Tensor.of(weights, 1, 32), BlockType.Q8_0);
            assertEquals(-127, made.memory().get(ValueLayout.JAVA_BYTE, 2));
        }
    }

    @ParameterizedTest
    @EnumSource(BlockType.class)
    void anyStridesAndTypesAreRounded(BlockType type) {
        int columns = type.elements();
        float[] weights = weights(6 * columns);
        try (Arena arena = Arena.ofConfined()) {
            Tensor dense = Tensor.of(weights, 2, 3, columns);
            byte[] expected = bytes(BlockTensor.quantize(arena, dense, type));
            Tensor strided =
                    Tensor.allocate(arena, DType.F64, Shape.of(columns, 3, 2)).transpose(0, 2);
            dense.copyTo(strided);
            BlockTensor made = BlockTensor.quantize(arena, strided, type);
            assertArrayEquals(expected, bytes(made));
            assertEquals(Shape.of(2, 3, columns), made.shape());
            byte[] repeated =
                    bytes(BlockTensor.quantize(arena, dense.slice(0, 0, 1).broadcast(2, 3, columns), type));
            assertArrayEquals(
                    Arrays.copyOf(expected, expected.length / 2), Arrays.copyOf(repeated, expected.length / 2));
        }
    }

    @ParameterizedTest
    @EnumSource(BlockType.class)
    void whatNoBlockHoldsIsNamed(BlockType type) {
        int columns = 2 * type.elements();
        float[] weights = new float[3 * columns];
        Tensor tensor = Tensor.of(weights, 3, columns);
        try (Arena arena = Arena.ofConfined()) {
            for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
                weights[2 * columns + 5] = bad;
                mentions(
                        () -> BlockTensor.quantize(arena, tensor, type),
                        "from: " + bad + " in row 2, column 5; expected finite weights");
            }
            float[] tooLarge = type == BlockType.MXFP4 ? new float[0] : new float[] {1e9f, -1e12f, Float.MAX_VALUE};
            for (float large : tooLarge) {
                weights[2 * columns + 5] = large;
                String found = Math.abs(large) > 1e10f ? "weights as large as " : "a scale or minimum of ";
                mentions(
                        () -> BlockTensor.quantize(arena, tensor, type),
                        "from: " + found,
                        "expected scales and minima of at most 65504");
            }
            boolean storesMinimum = type == BlockType.Q4_1 || type == BlockType.Q5_1;
            weights[2 * columns + 5] = storesMinimum ? 65_504 : 500_000;
            weights[2 * columns + 6] = -weights[2 * columns + 5];
            BlockTensor.quantize(arena, tensor, type);
            mentions(
                    () -> BlockTensor.quantize(arena, Tensor.of(new float[24], 3, 8), type),
                    "from: shape [3, 8]; expected rows of a multiple of " + type.elements());
            mentions(
                    () -> BlockTensor.quantize(arena, Tensor.of(new float[1], 1).select(0, 0), type), "from: shape []");
        }
    }

    /** Q8_0 is the only type with more bytes than elements in a block. */
    @Test
    void moreBytesThanALongCountsAreNamed() {
        long rows = (1L << 58) - 1;
        Tensor huge = Tensor.of(new float[32], 1, 32).broadcast(rows, 32);
        mentions(
                () -> BlockTensor.quantize(Arena.ofAuto(), huge, BlockType.Q8_0),
                "from: shape [" + rows + ", 32]; expected fewer than 2^63 bytes of Q8_0");
    }

    private static byte[] bytes(BlockTensor blocks) {
        return blocks.memory().toArray(ValueLayout.JAVA_BYTE);
    }

    private static float[] rounded(BlockType type, float[] weights) {
        try (Arena arena = Arena.ofConfined()) {
            int columns = type.elements();
            BlockTensor made = BlockTensor.quantize(arena, Tensor.of(weights, weights.length / columns, columns), type);
            float[] values = new float[weights.length];
            made.dequantize(Tensor.of(values, weights.length / columns, columns));
            return values;
        }
    }

    /**
     * Returns scaled sums of integers, with a scale for every 64 sums, some with one sign only. The numbers are the
     * same in every JDK.
     */
    private static float[] weights(int count) {
        SplittableRandom random = new SplittableRandom(5);
        float[] weights = new float[count];
        for (int i = 0; i < count; i++) {
            int sum = random.nextInt(1024) + random.nextInt(1024) + random.nextInt(1024) - 1536;
            float value = Math.scalb(i / 512 % 3 == 0 ? Math.abs(sum) : sum, -12 - i / 64 % 5);
            weights[i] = i / 256 % 7 == 0 ? -value : value;
        }
        return weights;
    }
}
