package io.multihead.gemm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.support.Numbers;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** One call multiplies one A by several weights. */
class GemmGroupProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(2);
    private static final int DEPTH = 768;

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void aGroupHasTheBitsOfItsProducts(
            @ForAll @IntRange(min = 1, max = 220) int rows,
            @ForAll @Size(min = 1, max = 4) List<@IntRange(min = 0, max = 300) Integer> columns,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Tensor a = Numbers.gaussian(Tensor.of(new float[rows * DEPTH], rows, DEPTH), random, 0.5, 1);
        List<PackedWeights> weights = new ArrayList<>();
        List<Tensor> results = new ArrayList<>();
        List<GemmOptions> options = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        for (int n : columns) {
            WeightFormat[] formats = WeightFormat.values();
            Tensor matrix = Numbers.gaussian(Tensor.of(new float[DEPTH * n], DEPTH, n), random, 0.1, 1);
            weights.add(random(matrix, formats[random.nextInt(formats.length)], random));
            results.add(Tensor.of(new float[rows * n], rows, n));
            Tensor bias = Numbers.gaussian(Tensor.of(new float[n], n), random, 0, 1);
            options.add(random.nextBoolean() ? GemmOptions.DEFAULT.withBias(bias) : GemmOptions.DEFAULT);
            Tensor one = Tensor.of(new float[rows * n], rows, n);
            int last = weights.size() - 1;
            Gemm.multiply(SERIAL, a, weights.get(last), one, options.get(last));
            expected.add(one.toArray());
        }
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            results.forEach(result -> Numbers.fill(result, () -> Double.NaN));
            Gemm.multiply(cpu, a, weights, results, options);
            for (int i = 0; i < results.size(); i++) {
                assertArrayEquals(expected.get(i), results.get(i).toArray());
            }
        }
    }

    /** The rows of each group are multiplied by the group's gate and up weights. Some groups have no rows. */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void groupsOfRowsHaveTheBitsOfTheirProducts(
            @ForAll @Size(min = 1, max = 9) List<@IntRange(min = 0, max = 40) Integer> rows,
            @ForAll @IntRange(min = 1, max = 100) int n,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] starts = new int[rows.size() + 1];
        Arrays.setAll(
                starts,
                i -> rows.subList(0, i).stream().mapToInt(Integer::intValue).sum());
        int all = starts[rows.size()];
        Tensor a = Numbers.gaussian(Tensor.of(new float[all * DEPTH], all, DEPTH), random, 0.5, 1);
        List<PackedWeights> weights = new ArrayList<>();
        List<GemmOptions> options = new ArrayList<>();
        List<Tensor> expected = List.of(rows(all, n), rows(all, n));
        for (int i = 0; i < 2 * rows.size(); i++) {
            WeightFormat[] formats = WeightFormat.values();
            Tensor matrix = Numbers.gaussian(Tensor.of(new float[DEPTH * n], DEPTH, n), random, 0.1, 1);
            weights.add(random(matrix, formats[random.nextInt(formats.length)], random));
            Tensor bias = Numbers.gaussian(Tensor.of(new float[n], n), random, 0, 1);
            options.add(random.nextBoolean() ? GemmOptions.DEFAULT.withBias(bias) : GemmOptions.DEFAULT);
            int from = starts[i / 2];
            int end = starts[i / 2 + 1];
            Tensor own = expected.get(i % 2).slice(0, from, end);
            Gemm.multiply(SERIAL, a.slice(0, from, end), weights.get(i), own, options.get(i));
        }
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            List<Tensor> results = List.of(rows(all, n), rows(all, n));
            results.forEach(result -> Numbers.fill(result, () -> Double.NaN));
            Gemm.multiplyGroups(cpu, a, starts, weights, results, options);
            for (int i = 0; i < 2; i++) {
                assertArrayEquals(expected.get(i).toArray(), results.get(i).toArray());
            }
        }
    }

    private static Tensor rows(int rows, int columns) {
        return Tensor.of(new float[rows * columns], rows, columns);
    }

    @Test
    void groupsOfRowsThatDoNotFitAreNamed() {
        Tensor a = rows(3, 4);
        Tensor c = rows(3, 2);
        PackedWeights b = PackedWeights.ofInputRows(rows(4, 2));
        List<PackedWeights> two = List.of(b, b);
        List<GemmOptions> options = List.of(GemmOptions.DEFAULT, GemmOptions.DEFAULT);
        assertNamed(
                "starts: [0, 2, 1, 3]; expected 0 to 3, ascending",
                () -> Gemm.multiplyGroups(
                        SERIAL,
                        a,
                        new int[] {0, 2, 1, 3},
                        List.of(b, b, b),
                        List.of(c),
                        List.of(GemmOptions.DEFAULT, GemmOptions.DEFAULT, GemmOptions.DEFAULT)));
        assertNamed(
                "starts: 2 elements; expected 3, one per group and an end",
                () -> Gemm.multiplyGroups(SERIAL, a, new int[] {0, 3}, two, List.of(c), options));
        assertNamed(
                "b: 2 weights; expected a multiple of 3, as many as c",
                () -> Gemm.multiplyGroups(SERIAL, a, new int[] {0, 3}, two, List.of(c, c, c), options));
        assertNamed(
                "options: transposeA with groups of rows; expected false",
                () -> Gemm.multiplyGroups(
                        SERIAL,
                        a,
                        new int[] {0, 1, 3},
                        two,
                        List.of(c),
                        List.of(GemmOptions.DEFAULT, GemmOptions.DEFAULT.withTransposeA(true))));
        float[] before = c.toArray();
        PackedWeights other = PackedWeights.ofInputRows(rows(5, 2));
        assertThrows(
                IllegalArgumentException.class,
                () -> Gemm.multiplyGroups(SERIAL, a, new int[] {0, 1, 3}, List.of(b, other), List.of(c), options));
        assertArrayEquals(before, c.toArray());
        int[] starts = {0, 1, 3};
        List<Tensor> results = List.of(c);
        // weights of a group without rows are not read
        Gemm.multiplyGroups(SERIAL, a, new int[] {0, 3, 3}, List.of(b, other), List.of(c), options);
        assertEquals(0, WarmCalls.allocatedBytes(() -> Gemm.multiplyGroups(SERIAL, a, starts, two, results, options)));
    }

    private static void assertNamed(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    private static PackedWeights random(Tensor matrix, WeightFormat format, SplittableRandom random) {
        PackedWeights packed = PackedWeights.ofInputRows(Arena.ofAuto(), matrix, format);
        return format.allowsEightBitInputs() && random.nextBoolean() ? packed.withEightBitInputs() : packed;
    }

    /** Some products transpose a square A, and batches of A combine with batches of results in another order. */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void productsOfAGroupMayReadOtherRowsOfA(@ForAll boolean batched, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int depth = batched ? 32 : 32 << random.nextInt(3);
        int rows = batched ? 1 + random.nextInt(9) : depth;
        Tensor a = Numbers.gaussian(
                batched
                        ? Tensor.of(new float[2 * rows * depth], 2, 1, rows, depth)
                        : Tensor.of(new float[depth * depth], depth, depth),
                random,
                0.5,
                1);
        List<PackedWeights> weights = new ArrayList<>();
        List<Tensor> results = new ArrayList<>();
        List<GemmOptions> options = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Tensor matrix = Numbers.gaussian(Tensor.of(new float[depth * 40], depth, 40), random, 0.1, 1);
            WeightFormat format = random.nextBoolean() ? WeightFormat.Q4_0 : WeightFormat.Q8_0;
            weights.add(random(matrix, format, random));
            int copies = 1 + random.nextInt(3);
            results.add(
                    batched
                            ? Tensor.of(new float[2 * copies * rows * 40], 2, copies, rows, 40)
                            : Tensor.of(new float[rows * 40], rows, 40));
            options.add(GemmOptions.DEFAULT.withTransposeA(!batched && random.nextBoolean()));
            Gemm.multiply(SERIAL, a, weights.get(i), results.get(i), options.get(i));
            expected.add(results.get(i).toArray());
        }
        for (Compute cpu : List.of(SERIAL, THREADS)) {
            results.forEach(result -> Numbers.fill(result, () -> Double.NaN));
            Gemm.multiply(cpu, a, weights, results, options);
            for (int i = 0; i < results.size(); i++) {
                assertArrayEquals(expected.get(i), results.get(i).toArray(), "product " + i);
            }
        }
    }

    /** All elements of A are one number in memory: A has the strides of its transpose, but other rows. */
    @Test
    void aTransposeOfTheSameStridesHasRowsOfItsOwn() {
        MemorySegment number = Arena.ofAuto().allocate(ValueLayout.JAVA_FLOAT);
        number.set(ValueLayout.JAVA_FLOAT, 0, 0.5f);
        Tensor a = Tensor.view(number, DType.F32, Shape.of(32, 96), 0, 0, 0);
        SplittableRandom random = new SplittableRandom(3);
        List<PackedWeights> weights = new ArrayList<>();
        List<Tensor> results = new ArrayList<>();
        List<float[]> expected = new ArrayList<>();
        List<GemmOptions> options = List.of(GemmOptions.DEFAULT.withTransposeA(true), GemmOptions.DEFAULT);
        for (int i = 0; i < 2; i++) {
            int depth = i == 0 ? 32 : 96;
            Tensor matrix = Numbers.gaussian(Tensor.of(new float[depth * 40], depth, 40), random, 0.1, 1);
            weights.add(PackedWeights.ofInputRows(Arena.ofAuto(), matrix, WeightFormat.Q8_0));
            results.add(Tensor.of(new float[(128 - depth) * 40], 128 - depth, 40));
            Gemm.multiply(SERIAL, a, weights.get(i), results.get(i), options.get(i));
            expected.add(results.get(i).toArray());
        }
        try (Compute fresh = Compute.serial()) { // its scratch has no rows of the separate products
            Gemm.multiply(fresh, a, weights, results, options);
        }
        for (int i = 0; i < 2; i++) {
            assertArrayEquals(expected.get(i), results.get(i).toArray(), "product " + i);
        }
    }

    @Test
    void aWarmGroupAllocatesNothing() {
        List<PackedWeights> weights = List.of(weights(64), weights(32), weights(32));
        List<Tensor> results = List.of(row(64), row(32), row(32));
        List<GemmOptions> options = List.of(GemmOptions.DEFAULT, GemmOptions.DEFAULT, GemmOptions.DEFAULT);
        Tensor a = row(8);
        assertEquals(0, WarmCalls.allocatedBytes(() -> Gemm.multiply(THREADS, a, weights, results, options)));
    }

    @Test
    void aProductThatDoesNotFitIsNamed() {
        List<PackedWeights> weights = List.of(weights(64), weights(32));
        Tensor first = row(64);
        Tensor second = row(32);
        List<GemmOptions> options = List.of(GemmOptions.DEFAULT, GemmOptions.DEFAULT);
        assertRefused("b: empty; expected weights", List.of(), List.of(), List.of());
        assertRefused("c: 1 elements; expected 2, as many as b", weights, List.of(first), options);
        assertRefused(
                "product 1: b: packed with 8 rows and 32 columns; expected 8 rows as a has columns, and 33 columns, as in c [1, 33]",
                weights,
                List.of(first, row(33)),
                options);
        assertRefused(
                "product 0: c: F32 [1, 64] overlaps c of product 1; expected separate memory",
                weights,
                List.of(first, first.slice(1, 32, 64)),
                options);
        assertRefused(
                "product 0: c: F32 [1, 64] overlaps bias of product 1; expected separate memory",
                weights,
                List.of(first, second),
                List.of(
                        options.get(0),
                        options.get(0).withBias(first.slice(1, 32, 64).reshape(32))));
        float[] untouched = new float[64];
        Arrays.fill(untouched, 7f);
        assertArrayEquals(untouched, first.toArray());
    }

    private static void assertRefused(
            String message, List<PackedWeights> weights, List<Tensor> results, List<GemmOptions> options) {
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class, () -> Gemm.multiply(SERIAL, row(8), weights, results, options));
        assertEquals(message, refused.getMessage());
    }

    private static PackedWeights weights(int columns) {
        return PackedWeights.ofInputRows(Tensor.of(new float[8 * columns], 8, columns));
    }

    private static Tensor row(int columns) {
        float[] numbers = new float[columns];
        Arrays.fill(numbers, 7f);
        return Tensor.of(numbers, 1, columns);
    }
}
