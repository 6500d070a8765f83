package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.support.Blocks;
import io.multihead.support.Numbers;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Selected columns or rows of packed weights have the same bytes as the packed form of these columns or rows of the
 * matrix. Elements are read back as they were packed.
 */
@org.junit.jupiter.api.Tag("lanes")
@Tag("lanes")
class SelectedWeightsProperties {
    /**
     * The number of inputs in blocks of the format, and of outputs. The inputs fill up to two depth blocks and more.
     */
    record Case(WeightFormat format, int blocks, int outputs, long seed) {
        int inputs() {
            return blocks * format.blockInputs();
        }

        Tensor matrix(SplittableRandom random) {
            Tensor matrix = Tensor.of(new float[inputs() * outputs], inputs(), outputs);
            return Numbers.gaussian(matrix, random, 0.5, 1);
        }
    }

    @Provide
    Arbitrary<Case> cases() {
        return Combinators.combine(
                        Arbitraries.of(WeightFormat.class),
                        Arbitraries.integers().between(0, 1600),
                        Arbitraries.integers().between(1, 70),
                        Arbitraries.longs())
                .as((format, inputs, outputs, seed) -> new Case(format, inputs / format.blockInputs(), outputs, seed));
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void columnsKeepTheirBytes(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofConfined()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            Tensor matrix = c.matrix(random);
            int[] kept = some(c.outputs, random);
            PackedWeights packed =
                    PackedWeights.ofInputRows(arena, matrix, c.format).selectOutputs(arena, kept);
            requireEqual(PackedWeights.ofInputRows(arena, Numbers.select(matrix, 1, kept), c.format), packed);
        }
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void rowsKeepTheirBytes(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofConfined()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            Tensor matrix = c.matrix(random);
            int block = c.format.blockInputs();
            int[] kept = Arrays.stream(some(c.blocks, random))
                    .flatMap(each -> IntStream.range(each * block, (each + 1) * block))
                    .toArray();
            PackedWeights packed =
                    PackedWeights.ofInputRows(arena, matrix, c.format).selectInputs(arena, kept);
            requireEqual(PackedWeights.ofInputRows(arena, Numbers.select(matrix, 0, kept), c.format), packed);
        }
    }

    private static void requireEqual(PackedWeights expected, PackedWeights actual) {
        assertEquals(expected.format(), actual.format());
        assertEquals(expected.inputs(), actual.inputs());
        assertEquals(expected.outputs(), actual.outputs());
        assertArrayEquals(bytes(expected), bytes(actual));
    }

    private static byte[] bytes(PackedWeights weights) {
        return weights.panels().memory().toArray(ValueLayout.JAVA_BYTE);
    }

    /** Returns numbers from 0 to below a limit in any order, sometimes with repeated or consecutive numbers. */
    private static int[] some(int limit, SplittableRandom random) {
        if (limit == 0) {
            return new int[0];
        }
        int from = random.nextInt(limit);
        int to = random.nextInt(from, limit + 1);
        IntStream before = random.ints(random.nextInt(from + 1), 0, limit);
        IntStream after = random.ints(1 + random.nextInt(limit - from), 0, limit);
        return IntStream.concat(IntStream.concat(before, IntStream.range(from, to)), after)
                .toArray();
    }

    /** Bytes and scales are random, so that zeros have signs, and minima round. */
    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void blocksComeBack(@ForAll("cases") Case c) {
        BlockType type = Arrays.stream(BlockType.values())
                .filter(each -> WeightFormat.of(each) == c.format)
                .findFirst()
                .orElse(BlockType.Q5_K);
        try (Arena arena = Arena.ofConfined()) {
            int inputs = c.inputs() / type.elements() * type.elements();
            BlockTensor blocks = Blocks.random(type, c.outputs, inputs, new SplittableRandom(c.seed));
            Tensor expected = Tensor.of(new float[inputs * c.outputs], c.outputs, inputs);
            blocks.dequantize(expected);
            Tensor actual = PackedWeights.ofOutputRows(arena, blocks).unpack(arena);
            assertArrayEquals(
                    Numbers.of(expected), Numbers.of(actual.transpose(0, 1)), type + " " + inputs + " x " + c.outputs);
        }
    }

    @Test
    void inputsStayRounded() {
        SplittableRandom random = new SplittableRandom(1);
        BlockTensor blocks = Blocks.random(BlockType.Q4_K, 70, 512, random);
        PackedWeights some =
                PackedWeights.ofOutputRows(Arena.ofAuto(), blocks).selectOutputs(Arena.ofAuto(), 65, 3, 40);
        PackedWeights rounding =
                PackedWeights.ofOutputRows(Arena.ofAuto(), blocks).withEightBitInputs();
        Tensor a = Numbers.gaussian(Tensor.of(new float[2 * 512], 2, 512), random, 1, 1);
        Tensor all = Tensor.of(new float[2 * 70], 2, 70);
        Tensor three = Tensor.of(new float[2 * 3], 2, 3);
        try (Compute serial = Compute.serial()) {
            Gemm.multiply(serial, a, rounding, all, GemmOptions.DEFAULT);
            Gemm.multiply(serial, a, rounding.selectOutputs(Arena.ofAuto(), 65, 3, 40), three, GemmOptions.DEFAULT);
            float[] expected = Numbers.select(all, 1, 65, 3, 40).toArray();
            assertArrayEquals(expected, three.toArray());
            Gemm.multiply(serial, a, some, three, GemmOptions.DEFAULT);
            assertFalse(Arrays.equals(expected, three.toArray()), "rounded inputs change nothing");
        }
    }

    @Test
    void whatCannotBeSelectedIsNamed() {
        Arena arena = Arena.ofAuto();
        PackedWeights packed = PackedWeights.ofInputRows(arena, Tensor.of(new float[64 * 3], 64, 3), WeightFormat.Q4_0);
        assertRefused("outputs[1]: 3; expected 0 to 2", () -> packed.selectOutputs(arena, 0, 3));
        assertRefused("inputs[0]: -1; expected 0 to 63", () -> packed.selectInputs(arena, -1));
        String blocks = "; expected whole blocks of 32, as Q4_0 has them";
        assertRefused("inputs: 31 rows" + blocks, () -> packed.selectInputs(arena, range(0, 31)));
        assertRefused("inputs: 32 rows" + blocks, () -> packed.selectInputs(arena, range(1, 33)));
        int[] swapped = range(0, 32);
        swapped[3] = 4;
        swapped[4] = 3;
        assertRefused("inputs: 32 rows" + blocks, () -> packed.selectInputs(arena, swapped));
        assertEquals(0, packed.selectInputs(arena).inputs());
        assertEquals(0, packed.selectOutputs(arena).outputs());
        assertTrue(WeightFormat.F32.areWholeBlocks(5, 3));
    }

    private static int[] range(int from, int to) {
        return IntStream.range(from, to).toArray();
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
