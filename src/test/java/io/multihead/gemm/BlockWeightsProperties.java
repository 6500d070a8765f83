package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
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
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
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
 * Products with quantized blocks are compared with the specification over dequantized weights. Rows, threads and memory
 * of a call do not change a bit.
 */
@org.junit.jupiter.api.Tag("lanes")
@Tag("lanes")
class BlockWeightsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(2);

    record Case(BlockType type, int m, int n, int blocks, double scale, double mean, long seed) {
        int k() {
            return blocks * type.elements();
        }
    }

    @Provide
    Arbitrary<Case> cases() {
        return cases(Arbitraries.of(BlockType.class));
    }

    /** Cases of the formats whose inputs may be rounded. */
    @Provide
    Arbitrary<Case> roundedCases() {
        return cases(Arbitraries.of(Arrays.stream(BlockType.values())
                .filter(type -> WeightFormat.of(type).allowsEightBitInputs())
                .toList()));
    }

    private static Arbitrary<Case> cases(Arbitrary<BlockType> types) {
        Arbitrary<Integer> rows = Arbitraries.oneOf(Arbitraries.integers().between(1, 18), Arbitraries.of(64, 97, 200));
        Arbitrary<Integer> columns =
                Arbitraries.oneOf(Arbitraries.integers().between(1, 100), Arbitraries.of(256, 257, 300));
        return Combinators.combine(
                        types,
                        rows,
                        columns,
                        Arbitraries.integers().between(0, 40),
                        Arbitraries.of(1e-3, 1.0, 30.0),
                        Arbitraries.of(0.0, 1.0, -3.0),
                        Arbitraries.longs())
                .as((type, m, n, blocks, scale, mean, seed) ->
                        new Case(type, m, n, type.elements() == 32 ? blocks : blocks % 6, scale, mean, seed));
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(@ForAll("cases") Case c) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            BlockTensor blocks = Blocks.random(c.type, c.n, c.k(), random);
            Tensor a = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, c.m, c.k()), random, c.mean, c.scale);
            Tensor result = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            ReferenceGemm.Result expected = ReferenceBlockGemm.multiply(a, blocks);
            Gemm.multiply(SERIAL, a, PackedWeights.ofOutputRows(arena, blocks), result, GemmOptions.DEFAULT);
            double ratio = Tolerance.ratio(Numbers.of(result), expected.values(), expected.errorScale(), DType.F32);
            assertTrue(ratio <= 1, "R = " + ratio);
        }
    }

    /**
     * Elements are integers and scales are powers of two. Only sums could be rounded, and sums of small integers are
     * exact.
     */
    @Test
    void productsOfMxFp4WithSmallIntegersAreExact() {
        SplittableRandom random = new SplittableRandom(9);
        for (int rows : new int[] {1, 4, 40}) {
            BlockTensor blocks = Blocks.random(BlockType.MXFP4, 70, 1056, random);
            for (int block = 0; block < 70 * 33; block++) {
                long at = blocks.offset() + (long) block * BlockType.MXFP4.bytes();
                blocks.memory().set(ValueLayout.JAVA_BYTE, at, (byte) random.nextInt(125, 129));
            }
            Tensor a = Tensor.of(new float[rows * 1056], rows, 1056);
            for (int i = 0; i < rows * 1056; i++) {
                a.set(random.nextInt(-8, 9), i / 1056, i % 1056);
            }
            Tensor result = Tensor.of(new float[rows * 70], rows, 70);
            Gemm.multiply(SERIAL, a, PackedWeights.ofOutputRows(Arena.ofAuto(), blocks), result, GemmOptions.DEFAULT);
            assertArrayEquals(ReferenceBlockGemm.multiply(a, blocks).values(), Numbers.of(result));
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void roundedInputsStayWithinTheirBound(@ForAll("roundedCases") Case c) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            BlockTensor blocks = Blocks.random(c.type, c.n, c.k(), random);
            Tensor a = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, c.m, c.k()), random, c.mean, c.scale);
            if (c.k() >= 64) {
                a.slice(1, 0, 32).fill(0);
                a.slice(1, 32, 64).fill(1e-38);
            }
            PackedWeights packed = PackedWeights.ofOutputRows(arena, blocks).withEightBitInputs();
            Tensor result = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            ReferenceGemm.Result expected = ReferenceBlockGemm.multiplyRounded(a, blocks);
            Gemm.multiply(SERIAL, a, packed, result, GemmOptions.DEFAULT);
            double ratio = Tolerance.ratio(Numbers.of(result), expected.values(), expected.errorScale(), DType.F32);
            assertTrue(ratio <= 1, "R = " + ratio);
            Tensor row = Tensor.of(new float[c.n], 1, c.n);
            for (int m = 0; m < c.m; m += 1 + c.m / 5) {
                Gemm.multiply(THREADS, a.slice(0, m, m + 1), packed, row, GemmOptions.DEFAULT);
                assertArrayEquals(result.slice(0, m, m + 1).toArray(), row.toArray(), "row " + m);
            }
        }
    }

    /**
     * All fields and all elements are at the ends of their ranges, which gives the largest sums that 16 bits must hold.
     */
    @Test
    void sumsOfRoundedInputsDoNotOverflow() {
        for (BlockType type : new BlockType[] {BlockType.Q4_0, BlockType.Q4_1, BlockType.Q4_K}) {
            try (Arena arena = Arena.ofConfined()) {
                for (int sign = -1; sign <= 1; sign += 2) {
                    Tensor matrix = Tensor.of(new float[512 * 64], 512, 64);
                    for (int column = 0; column < 64; column++) {
                        // one element of each block has the other sign, so that the block needs a scale, and a minimum
                        // alone is not enough
                        matrix.slice(1, column, column + 1).fill(sign * (column + 1.0));
                    }
                    for (int k = 0; k < 512; k += 32) {
                        matrix.slice(0, k, k + 1).fill(-sign * 0.1);
                    }
                    BlockTensor blocks = BlockTensor.quantize(arena, matrix.transpose(0, 1), type);
                    Tensor a = Tensor.of(new float[512], 1, 512);
                    a.fill(-3);
                    Tensor result = Tensor.of(new float[64], 1, 64);
                    ReferenceGemm.Result expected = ReferenceBlockGemm.multiplyRounded(a, blocks);
                    PackedWeights packed =
                            PackedWeights.ofOutputRows(arena, blocks).withEightBitInputs();
                    Gemm.multiply(SERIAL, a, packed, result, GemmOptions.DEFAULT);
                    double ratio =
                            Tolerance.ratio(Numbers.of(result), expected.values(), expected.errorScale(), DType.F32);
                    assertTrue(ratio <= 1, type + " R = " + ratio);
                }
            }
        }
    }

    @Test
    void otherWeightsDoNotRoundInputs() {
        for (WeightFormat format : WeightFormat.values()) {
            PackedWeights packed =
                    PackedWeights.ofInputRows(Arena.ofAuto(), Tensor.of(new float[256 * 3], 256, 3), format);
            if (format.allowsEightBitInputs()) {
                assertEquals(format, packed.withEightBitInputs().format());
                continue;
            }
            assertEquals(
                    "weights: format " + format + "; expected Q4_0, Q4_1 or Q4_K for inputs in 8 bits",
                    assertThrows(IllegalArgumentException.class, packed::withEightBitInputs)
                            .getMessage());
        }
    }

    /** A decode step has the same bits as a prefill, on any number of threads and for any memory layout of A. */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void rowsThreadsAndMemoryChangeNoBit(@ForAll("cases") Case c, @ForAll Layout layout) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(c.seed);
            PackedWeights packed = PackedWeights.ofOutputRows(arena, Blocks.random(c.type, c.n, c.k(), random));
            Tensor a = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, c.m, c.k()), random, c.mean, c.scale);
            Tensor all = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            Tensor threads = Layout.DENSE.allocate(arena, DType.F32, c.m, c.n);
            Gemm.multiply(SERIAL, a, packed, all, GemmOptions.DEFAULT);
            Gemm.multiply(THREADS, Numbers.copy(a, arena, layout, DType.F32), packed, threads, GemmOptions.DEFAULT);
            assertArrayEquals(all.toArray(), threads.toArray(), "threads and layout");
            for (int rows : new int[] {1, 2, 3, 4, 6, 19}) {
                int first = random.nextInt(c.m);
                int last = Math.min(c.m, first + rows);
                Tensor some = Tensor.of(new float[(last - first) * c.n], last - first, c.n);
                Gemm.multiply(THREADS, a.slice(0, first, last), packed, some, GemmOptions.DEFAULT);
                assertArrayEquals(all.slice(0, first, last).toArray(), some.toArray(), rows + " rows from " + first);
            }
        }
    }

    /** A thread keeps prepared rows from task to task, but not as many as 200 rows of 20,000 floats. */
    @Test
    void rowsThatAreNotKeptHaveTheSameBits() {
        SplittableRandom random = new SplittableRandom(7);
        Tensor a = Numbers.gaussian(Tensor.of(new float[200 * 20_000], 200, 20_000), random, 1, 1);
        PackedWeights rounding =
                PackedWeights.ofOutputRows(Arena.ofAuto(), Blocks.random(BlockType.Q4_1, 64, 20_000, random));
        assertRowsAreTheSame(
                a, PackedWeights.ofOutputRows(Arena.ofAuto(), Blocks.random(BlockType.Q8_0, 64, 20_000, random)));
        assertRowsAreTheSame(a, rounding.withEightBitInputs());
    }

    private static void assertRowsAreTheSame(Tensor a, PackedWeights packed) {
        Tensor all = Tensor.of(new float[200 * 64], 200, 64);
        Gemm.multiply(THREADS, a, packed, all, GemmOptions.DEFAULT);
        for (int row : new int[] {0, 99, 191, 199}) {
            Tensor one = Tensor.of(new float[64], 1, 64);
            Gemm.multiply(SERIAL, a.slice(0, row, row + 1), packed, one, GemmOptions.DEFAULT);
            assertArrayEquals(all.slice(0, row, row + 1).toArray(), one.toArray(), packed.format() + " row " + row);
        }
    }

    /** The hash is the same at all lane widths, on all threads and machines. */
    @Test
    void resultsAreTheSameAtEveryLaneWidth() {
        assertEquals(
                1366810949, hash(5, BlockType.Q8_0, BlockType.Q4_0, BlockType.Q4_K, BlockType.Q5_K, BlockType.Q6_K));
        assertEquals(1616019354, hash(7, BlockType.Q4_1, BlockType.Q5_0, BlockType.Q5_1));
        assertEquals(-722103405, hash(9, BlockType.Q3_K, BlockType.Q2_K));
    }

    private static int hash(long seed, BlockType... types) {
        SplittableRandom random = new SplittableRandom(seed);
        int hash = 0;
        for (BlockType type : types) {
            PackedWeights packed = PackedWeights.ofOutputRows(Arena.ofAuto(), Blocks.random(type, 100, 1280, random));
            Tensor a = Numbers.gaussian(Tensor.of(new float[30 * 1280], 30, 1280), random, 1, 1);
            Tensor c = Tensor.of(new float[30 * 100], 30, 100);
            Gemm.multiply(SERIAL, a, packed, c, GemmOptions.DEFAULT);
            for (float each : c.toArray()) {
                hash = 31 * hash + Float.floatToIntBits(each);
            }
        }
        return hash;
    }

    @Test
    void roundedResultsAreTheSameAtEveryLaneWidth() {
        SplittableRandom random = new SplittableRandom(6);
        int hash = 0;
        for (BlockType type : new BlockType[] {BlockType.Q4_0, BlockType.Q4_K, BlockType.Q4_1}) {
            PackedWeights packed = PackedWeights.ofOutputRows(Arena.ofAuto(), Blocks.random(type, 100, 1280, random));
            Tensor a = Numbers.gaussian(Tensor.of(new float[30 * 1280], 30, 1280), random, 1, 1);
            Tensor c = Tensor.of(new float[30 * 100], 30, 100);
            Gemm.multiply(SERIAL, a, packed.withEightBitInputs(), c, GemmOptions.DEFAULT);
            hash = 31 * hash + Arrays.hashCode(c.toArray());
            if (type == BlockType.Q4_K) {
                assertEquals(-2111718471, hash);
            }
        }
        assertEquals(731927335, hash);
    }

    @Test
    void filesAndPanelsHaveTheSameBits() throws IOException {
        SplittableRandom random = new SplittableRandom(1);
        Path folder = Files.createTempDirectory("blocks");
        for (BlockType type : BlockType.values()) {
            try (Arena arena = Arena.ofShared()) {
                PackedWeights packed = PackedWeights.ofOutputRows(arena, Blocks.random(type, 70, 1280, random));
                Path file = folder.resolve(type.name());
                packed.write(file);
                PackedWeights mapped = PackedWeights.map(arena, file);
                Files.delete(file);
                assertEquals(WeightFormat.of(type), mapped.format());
                MemorySegment memory = arena.allocate(packed.bytes(), 64);
                Tensor panels = Tensor.view(memory, DType.I8, Shape.of(packed.bytes()));
                packed.panels().copyTo(panels);
                PackedWeights again = PackedWeights.ofPanels(panels, packed.format(), 1280, 70);
                Tensor a = Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, 30, 1280), random, 1, 1);
                Tensor expected = Tensor.of(new float[30 * 70], 30, 70);
                Tensor actual = Tensor.of(new float[30 * 70], 30, 70);
                Gemm.multiply(SERIAL, a, packed, expected, GemmOptions.DEFAULT);
                Gemm.multiply(SERIAL, a, mapped, actual, GemmOptions.DEFAULT);
                assertArrayEquals(expected.toArray(), actual.toArray());
                Gemm.multiply(THREADS, a, again, actual, GemmOptions.DEFAULT);
                assertArrayEquals(expected.toArray(), actual.toArray());
            }
        }
        Files.delete(folder);
    }

    @Test
    void tensorsAreRoundedToBlocks() {
        SplittableRandom random = new SplittableRandom(2);
        for (BlockType type : BlockType.values()) {
            try (Arena arena = Arena.ofConfined()) {
                Tensor matrix = Numbers.gaussian(Tensor.of(new float[512 * 40], 512, 40), random, 0.5, 1);
                BlockTensor blocks = BlockTensor.quantize(arena, matrix.transpose(0, 1), type);
                byte[] expected = bytes(PackedWeights.ofOutputRows(arena, blocks));
                assertArrayEquals(expected, bytes(PackedWeights.ofInputRows(arena, matrix, WeightFormat.of(type))));
            }
        }
    }

    /** The matrix has more columns than a task and more rows than a depth block. */
    @Test
    void threadsPackTheSamePanels() {
        SplittableRandom random = new SplittableRandom(3);
        for (BlockType type : BlockType.values()) {
            BlockTensor blocks = Blocks.random(type, 300, 1280, random);
            assertArrayEquals(
                    bytes(PackedWeights.ofOutputRows(Arena.ofAuto(), blocks)),
                    bytes(PackedWeights.ofOutputRows(THREADS, Arena.ofAuto(), blocks)));
        }
        Tensor matrix = Numbers.gaussian(Tensor.of(new float[1280 * 300], 1280, 300), random, 0.5, 1);
        for (WeightFormat format : WeightFormat.values()) {
            assertArrayEquals(
                    bytes(PackedWeights.ofInputRows(Arena.ofAuto(), matrix, format)),
                    bytes(PackedWeights.ofInputRows(THREADS, Arena.ofAuto(), matrix, format)));
        }
    }

    /** The bad element is in the second task, which any thread may run. */
    @Test
    void whatBlocksDoNotHoldIsNamedByItsColumn() {
        Tensor matrix = Tensor.of(new float[256 * 200], 256, 200);
        for (double bad : new double[] {Double.NaN, 1e12}) {
            matrix.set(bad, 7, 130);
            for (Compute cpu : List.of(SERIAL, THREADS)) {
                String message = assertThrows(
                                IllegalArgumentException.class,
                                () -> PackedWeights.ofInputRows(cpu, Arena.ofAuto(), matrix, WeightFormat.Q4_K))
                        .getMessage();
                assertTrue(message.startsWith("matrix, outputs 128 to 199: from: "), message);
            }
        }
    }

    private static byte[] bytes(PackedWeights weights) {
        return weights.panels().memory().toArray(ValueLayout.JAVA_BYTE);
    }

    /**
     * Whole panels take at most three percent more memory than GGUF, except formats whose scales take two bytes instead
     * of one, or whose elements take more bits.
     */
    @Test
    void memoryIsThatOfTheFormat() {
        for (BlockType type : BlockType.values()) {
            BlockTensor blocks = Blocks.random(type, 64, 512, new SplittableRandom(1));
            long bytes = PackedWeights.ofOutputRows(Arena.ofAuto(), blocks).bytes();
            double most =
                    switch (type) {
                        case Q3_K -> 210.0 / 110;
                        case Q2_K -> 100.0 / 84;
                        case MXFP4 -> 18.0 / 17;
                        default -> 1.03;
                    };
            assertTrue(bytes >= blocks.bytes() && bytes <= blocks.bytes() * most, type + " " + bytes);
        }
    }

    @Test
    void otherBlocksAreRefused() {
        for (BlockType type : BlockType.values()) {
            BlockTensor infinite = Blocks.random(type, 40, 1024, new SplittableRandom(1));
            long block = infinite.offset() + 39 * infinite.rowBytes() + 512 / type.elements() * type.bytes();
            // in E8M0 the byte 255 is NaN
            short bad = type == BlockType.MXFP4 ? 255 : Float.floatToFloat16(Float.NEGATIVE_INFINITY);
            infinite.memory().set(Blocks.SHORT, block + Blocks.scaleAt(type), bad);
            IllegalArgumentException refused = assertThrows(
                    IllegalArgumentException.class, () -> PackedWeights.ofOutputRows(Arena.ofAuto(), infinite));
            assertEquals(
                    "blocks: a scale that is not finite at row 39, column 512; expected finite scales",
                    refused.getMessage());
            IllegalArgumentException partial = assertThrows(
                    IllegalArgumentException.class, () -> PackedWeights.panelElements(WeightFormat.of(type), 1000, 7));
            assertEquals(
                    "inputs: 1000; expected a multiple of " + type.elements() + ", the block of " + type,
                    partial.getMessage());
        }
    }
}
