package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceBlockGemm;
import io.multihead.reference.ReferenceGemm;
import io.multihead.reference.Tolerance;
import io.multihead.support.Blocks;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
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
 * Products with the transpose of packed weights are within the bound of the specification, and have the same bits as
 * products with unpacked weights.
 */
@org.junit.jupiter.api.Tag("lanes")
@org.junit.jupiter.api.Tag("bits")
@Tag("lanes")
@Tag("bits")
class TransposedWeightsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(2);

    /** The types in the order in which the hash reads them. */
    private static final List<BlockType> HASHED = List.of(
            BlockType.Q8_0,
            BlockType.Q4_0,
            BlockType.Q4_1,
            BlockType.Q5_0,
            BlockType.Q5_1,
            BlockType.Q4_K,
            BlockType.Q5_K,
            BlockType.Q6_K,
            BlockType.MXFP4,
            BlockType.IQ4_NL,
            BlockType.IQ4_XS);

    record Case(WeightFormat format, int m, int outputs, int inputs, Layout layout, DType result, long seed) {}

    @Provide
    Arbitrary<Case> cases() {
        Arbitrary<Integer> rows = Arbitraries.oneOf(Arbitraries.integers().between(1, 18), Arbitraries.of(64, 97, 200));
        Arbitrary<Integer> outputs =
                Arbitraries.oneOf(Arbitraries.integers().between(0, 70), Arbitraries.of(255, 257, 512, 545, 1100));
        Arbitrary<Integer> inputs =
                Arbitraries.oneOf(Arbitraries.integers().between(0, 100), Arbitraries.of(256, 511, 545, 600));
        return Combinators.combine(
                        Arbitraries.of(WeightFormat.class),
                        rows,
                        outputs,
                        inputs,
                        Arbitraries.of(Layout.class),
                        Arbitraries.of(DType.F32, DType.F32, DType.BF16),
                        Arbitraries.longs())
                .as((format, m, n, k, layout, result, seed) ->
                        new Case(format, m, n, k / format.blockInputs() * format.blockInputs(), layout, result, seed));
    }

    private static PackedWeights weights(Case c, Arena arena, SplittableRandom random) {
        if (c.format.blockInputs() > 1) {
            BlockType type = BlockType.valueOf(c.format.name());
            return PackedWeights.ofOutputRows(arena, Blocks.random(type, c.outputs, c.inputs, random));
        }
        Tensor matrix = c.layout.allocate(arena, DType.F32, c.inputs, c.outputs);
        return PackedWeights.ofInputRows(arena, Numbers.gaussian(matrix, random, 0.5, 1), c.format);
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void hasTheBitsOfUnpackedWeights(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            PackedWeights packed = weights(c, arena, random);
            Tensor a = Numbers.gaussian(c.layout.allocate(arena, DType.F32, c.m, c.outputs), random, 0.5, 1);
            Tensor bias = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, c.inputs), random, 0, 1);
            Tensor start = Numbers.gaussian(Layout.DENSE.allocate(arena, c.result, c.m, c.inputs), random, 0, 1);
            GemmOptions options = GemmOptions.DEFAULT.withTransposeB(true);
            if (random.nextBoolean()) {
                options = options.withFactors(0.5f, 2).withBias(bias).withActivation(Activation.SILU);
            }
            Tensor expected = Numbers.copy(start, arena, Layout.DENSE, c.result);
            Tensor serial = Numbers.copy(start, arena, c.layout, c.result);
            Tensor threads = Numbers.copy(start, arena, Layout.DENSE, c.result);
            Gemm.multiply(SERIAL, a, packed.unpack(arena), expected, options);
            Gemm.multiply(SERIAL, a, packed, serial, options);
            Gemm.multiply(THREADS, a, packed, threads, options);
            assertArrayEquals(Numbers.of(expected), Numbers.of(serial), "serial");
            assertArrayEquals(Numbers.of(expected), Numbers.of(threads), "threads");
            int first = random.nextInt(c.m);
            Tensor some = Numbers.copy(start, arena, Layout.DENSE, c.result).slice(0, first, c.m);
            Gemm.multiply(THREADS, a.slice(0, first, c.m), packed, some, options);
            assertArrayEquals(Numbers.of(expected.slice(0, first, c.m)), Numbers.of(some), "rows from " + first);
        }
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            int rows = Math.min(c.m, 20);
            Tensor a = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, rows, c.outputs), random, 0.5, 1);
            Tensor result = Layout.DENSE.allocate(arena, DType.F32, rows, c.inputs);
            ReferenceGemm.Result expected;
            PackedWeights packed;
            if (c.format.blockInputs() > 1) {
                BlockTensor blocks = Blocks.random(BlockType.valueOf(c.format.name()), c.outputs, c.inputs, random);
                packed = PackedWeights.ofOutputRows(arena, blocks);
                expected = ReferenceBlockGemm.multiplyTransposed(a, blocks);
            } else {
                packed = weights(c, arena, random);
                Tensor right = packed.unpack(arena).transpose(0, 1);
                expected = ReferenceGemm.multiply(a, right, result, 1, 0, null);
            }
            Gemm.multiply(SERIAL, a, packed, result, GemmOptions.DEFAULT.withTransposeB(true));
            double ratio = Tolerance.ratio(Numbers.of(result), expected.values(), expected.errorScale(), DType.F32);
            assertTrue(ratio <= 1, "R = " + ratio);
        }
    }

    /** Matrices of A are batches. All are multiplied by the same weights, with and without rounded inputs. */
    @Test
    void batchesShareTheWeights() {
        SplittableRandom random = new SplittableRandom(3);
        PackedWeights packed =
                PackedWeights.ofOutputRows(Arena.ofAuto(), Blocks.random(BlockType.Q4_0, 130, 96, random));
        Tensor a = Numbers.gaussian(Tensor.of(new float[4 * 9 * 130], 4, 9, 130), random, 0, 1);
        GemmOptions options = GemmOptions.DEFAULT.withTransposeB(true);
        Tensor batches = Tensor.of(new float[4 * 9 * 96], 4, 9, 96);
        Gemm.multiply(THREADS, a, packed.withEightBitInputs(), batches, options);
        for (int batch = 0; batch < 4; batch++) {
            Tensor one = Tensor.of(new float[9 * 96], 9, 96);
            Gemm.multiply(SERIAL, a.select(0, batch), packed, one, options);
            assertArrayEquals(one.toArray(), batches.select(0, batch).toArray(), "batch " + batch);
        }
    }

    /** The hash is the same at all lane widths, on all threads and machines. */
    @Test
    void resultsAreTheSameAtEveryLaneWidth() {
        SplittableRandom random = new SplittableRandom(11);
        int hash = 0;
        for (BlockType type : HASHED) {
            PackedWeights packed = PackedWeights.ofOutputRows(Arena.ofAuto(), Blocks.random(type, 600, 256, random));
            Tensor a = Numbers.gaussian(Tensor.of(new float[30 * 600], 30, 600), random, 1, 1);
            Tensor c = Tensor.of(new float[30 * 256], 30, 256);
            Gemm.multiply(SERIAL, a, packed, c, GemmOptions.DEFAULT.withTransposeB(true));
            hash = 31 * hash + Arrays.hashCode(c.toArray());
        }
        assertEquals(1078841744, hash);
    }
}
