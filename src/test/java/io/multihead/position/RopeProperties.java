package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.position.Rope.Pairing;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
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
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Rotary embedding is compared with its specification over all variations of a call. */
@Tag("lanes")
@Tag("bits")
class RopeProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    record Sizes(int batch, int heads, int tokens, int pairs, int rest) {}

    /** The form in which positions are given. */
    enum Given {
        FIRST,
        PER_TOKEN,
        PER_SEQUENCE,
        SECTIONS,
        INTERLEAVED_SECTIONS
    }

    record Rotation(double theta, Pairing pairing, int scaling, boolean inverse, Given given, boolean inPlace) {}

    @Provide
    Arbitrary<Sizes> sizes() {
        Arbitrary<Integer> few = Arbitraries.integers().between(0, 3);
        return Combinators.combine(
                        few,
                        few,
                        Arbitraries.integers().between(0, 40),
                        Arbitraries.integers().between(1, 70),
                        Arbitraries.of(0, 0, 1, 5, 32, 40))
                .as(Sizes::new);
    }

    @Provide
    Arbitrary<Rotation> rotations() {
        Arbitrary<Boolean> flag = Arbitraries.of(false, true);
        return Combinators.combine(
                        Arbitraries.of(1.5, 1e4, 5e5, 1e8),
                        Arbitraries.of(Pairing.class),
                        Arbitraries.integers().between(0, 7),
                        flag,
                        Arbitraries.of(Given.class),
                        flag)
                .as(Rotation::new);
    }

    @Property(tries = 600, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(
            @ForAll("sizes") Sizes sizes,
            @ForAll("rotations") Rotation rotation,
            @ForAll Layout layout,
            @ForAll DType dtype,
            @ForAll long seed) {
        DType floating = dtype == DType.I8 ? DType.F32 : dtype;
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(seed);
            int dims = 2 * sizes.pairs;
            Tensor x = Numbers.gaussian(
                    layout.allocate(arena, floating, sizes.batch, sizes.heads, sizes.tokens, dims + sizes.rest),
                    random,
                    0,
                    1);
            long first = random.nextInt(4) == 0 ? 0 : random.nextLong(200_000);
            long[] positions = positions(sizes, rotation.given, first, random);
            Rope rope =
                    Rope.of(new Rope.Config(dims, rotation.theta, rotation.pairing, scaling(rotation.scaling, dims)));
            if (rotation.given.compareTo(Given.SECTIONS) >= 0) {
                rope = rope.withSections(sections(rotation.given, sizes.pairs));
            }
            ReferenceRope.Result expected = reference(dims, rotation).apply(x, positions, rotation.inverse);
            double[] before = Numbers.of(x);
            Tensor threaded = layout.allocate(arena, floating, x.shape().toArray());
            run(THREADS, rope, rotation, x, threaded, first, positions);
            Tensor y = rotation.inPlace
                    ? x
                    : layout.allocate(arena, floating, x.shape().toArray());
            run(SERIAL, rope, rotation, x, y, first, positions);
            double[] actual = Numbers.of(y);
            assertArrayEquals(Numbers.of(threaded), actual);
            assertTrue(Layout.untouchedOutside(y));
            for (int i = 0; i < actual.length; i++) {
                if (expected.bound()[i] == 0) {
                    assertTrue(actual[i] == before[i], "copied element " + i);
                }
                // the rounded value may exceed the exact one by the bound, which adds a factor of 1 + 2^-8 in bf16
                double allowed = expected.bound()[i] * (1 + 0x1p-8) + Tolerance.storage(expected.output()[i], floating);
                double error = Math.abs(actual[i] - expected.output()[i]);
                assertTrue(error <= allowed, "element " + i + ": " + error + " of " + allowed);
            }
        }
    }

    /** Returns positions. Some are 0, where a token may be copied, and some are the same in all streams. */
    private static long[] positions(Sizes sizes, Given given, long first, SplittableRandom random) {
        int length =
                switch (given) {
                    case FIRST, PER_TOKEN -> sizes.tokens;
                    case PER_SEQUENCE -> sizes.batch * sizes.tokens;
                    case SECTIONS, INTERLEAVED_SECTIONS -> 3 * sizes.batch * sizes.tokens;
                };
        long[] positions = new long[length];
        for (int t = 0; t < length; t++) {
            positions[t] = given == Given.FIRST ? first + t : random.nextInt(3) == 0 ? 0 : random.nextLong(200_000);
        }
        return positions;
    }

    private static RopeSections sections(Given given, int pairs) {
        int size = pairs / 3;
        return given == Given.SECTIONS
                ? RopeSections.consecutive(pairs - 2 * size, size, size)
                : RopeSections.interleaved(pairs - 2 * size, size, size);
    }

    /** Returns the stream of each pair according to the formula. */
    private static int[] streams(Given given, int pairs) {
        int size = pairs / 3;
        int[] streams = new int[pairs];
        for (int i = 0; i < pairs; i++) {
            int section = Math.max(0, (i - (pairs - 2 * size)) / Math.max(1, size) + 1);
            int interleaved = i % 3 > 0 && i < 3 * size ? i % 3 : 0;
            streams[i] = given == Given.SECTIONS ? (i < pairs - 2 * size ? 0 : section) : interleaved;
        }
        return streams;
    }

    private static void run(
            Compute cpu, Rope rope, Rotation rotation, Tensor x, Tensor y, long first, long[] positions) {
        boolean listed = rotation.given != Given.FIRST;
        if (listed && rotation.inverse) {
            rope.applyInverse(cpu, x, y, positions);
        } else if (listed) {
            rope.apply(cpu, x, y, positions);
        } else if (rotation.inverse) {
            rope.applyInverse(cpu, x, y, first);
        } else {
            rope.apply(cpu, x, y, first);
        }
    }

    private static RopeScaling scaling(int which, int dims) {
        return switch (which) {
            case 1 -> new RopeScaling.Linear(4);
            case 2 -> new RopeScaling.NtkAware(8);
            case 3 -> new RopeScaling.Yarn(16, 4096, 32, 1, 1.2772588722239782, false);
            case 4 -> new RopeScaling.Llama3(8, 1, 4, 8192);
            case 5 -> new RopeScaling.LongRope(boxed(factors(dims, 1)), boxed(factors(dims, 3)), 4096, 8192, 1.19);
            case 6 -> RopeScaling.Frequencies.of(factors(dims, 0));
            case 7 -> new RopeScaling.Proportional(0.25, 2);
            default -> RopeScaling.NONE;
        };
    }

    /** Returns one number per pair, which grows from {@code least}. */
    private static double[] factors(int dims, double least) {
        double[] factors = new double[dims / 2];
        for (int i = 0; i < factors.length; i++) {
            factors[i] = least + 0.37 * i;
        }
        return factors;
    }

    private static List<Double> boxed(double[] values) {
        return Arrays.stream(values).boxed().toList();
    }

    private static ReferenceRope reference(int dims, Rotation rotation) {
        ReferenceRope rope = ReferenceRope.of(dims, rotation.theta, rotation.pairing == Pairing.INTERLEAVED);
        if (rotation.given.compareTo(Given.SECTIONS) >= 0) {
            rope = rope.streams(3, streams(rotation.given, dims / 2));
        }
        return switch (rotation.scaling) {
            case 1 -> rope.linear(4);
            case 2 -> rope.ntk(8);
            case 3 -> rope.yarn(16, 4096, 32, 1, 1.2772588722239782, false);
            case 4 -> rope.llama3(8, 1, 4, 8192);
            case 5 -> rope.perPair(factors(dims, 3), 1.19);
            case 6 -> rope.frequencies(factors(dims, 0), 1);
            case 7 -> rope.proportional(dims / 8, 2);
            default -> rope;
        };
    }

    @Example
    void saysWhatDoesNotFit() {
        assertThrows(IllegalArgumentException.class, () -> Rope.Config.of(7));
        assertThrows(IllegalArgumentException.class, () -> new RopeScaling.Linear(0.5));
        assertThrows(IllegalArgumentException.class, () -> new RopeScaling.Yarn(2, 0, 32, 1, 1));
        assertThrows(IllegalArgumentException.class, () -> new RopeScaling.Llama3(8, 4, 1, 8192));
        Rope rope = Rope.of(Rope.Config.of(8));
        Tensor x = Tensor.of(new float[3 * 6], 1, 1, 3, 6);
        IllegalArgumentException small =
                assertThrows(IllegalArgumentException.class, () -> rope.apply(SERIAL, x, x, 0));
        assertTrue(small.getMessage().contains("at least rotaryDims 8"), small.getMessage());
        Tensor wide = Tensor.of(new float[3 * 8], 1, 1, 3, 8);
        assertThrows(IllegalArgumentException.class, () -> rope.apply(SERIAL, wide, wide, -1));
        assertThrows(IllegalArgumentException.class, () -> rope.apply(SERIAL, wide, wide, new long[2]));
    }
}
