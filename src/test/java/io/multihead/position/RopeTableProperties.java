package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.position.Rope.Pairing;
import io.multihead.position.RopeProperties.Sizes;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/**
 * Rotary embedding by tables of cosines and sines, and by cosines and sines per token, is compared with the
 * specification.
 */
@Tag("lanes")
class RopeTableProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    record Rotation(DType table, Pairing pairing, boolean inverse, boolean perSequence, boolean inPlace) {}

    @Provide
    Arbitrary<Sizes> sizes() {
        return new RopeProperties().sizes();
    }

    @Provide
    Arbitrary<Rotation> rotations() {
        Arbitrary<Boolean> flag = Arbitraries.of(false, true);
        return Combinators.combine(
                        Arbitraries.of(DType.F32, DType.F64, DType.BF16, DType.F16),
                        Arbitraries.of(Pairing.class),
                        flag,
                        flag,
                        flag)
                .as(Rotation::new);
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void tablesStayWithinTheBound(
            @ForAll("sizes") Sizes sizes,
            @ForAll("rotations") Rotation rotation,
            @ForAll Layout layout,
            @ForAll long seed) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(seed);
            int rows = 1 + random.nextInt(50);
            Tensor cos = Numbers.gaussian(layout.allocate(arena, rotation.table, rows, sizes.pairs()), random, 0, 1);
            Tensor sin = Numbers.gaussian(layout.allocate(arena, rotation.table, rows, sizes.pairs()), random, 0, 1);
            long[] positions = new long[rotation.perSequence ? sizes.batch() * sizes.tokens() : sizes.tokens()];
            for (int t = 0; t < positions.length; t++) {
                positions[t] = random.nextInt(rows);
            }
            Rope rope = Rope.ofTables(cos, sin, rotation.pairing);
            Tensor x = input(arena, layout, sizes, random);
            ReferenceRope.Result expected = ReferenceRope.tables(cos, sin, rotation.pairing == Pairing.INTERLEAVED)
                    .apply(x, positions, rotation.inverse);
            cos.fill(Double.NaN); // the embedding has copied the tables
            check(arena, layout, rotation, x, expected, (cpu, y) -> {
                if (rotation.inverse) {
                    rope.applyInverse(cpu, x, y, positions);
                } else {
                    rope.apply(cpu, x, y, positions);
                }
            });
        }
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void anglesOfTokensStayWithinTheBound(
            @ForAll("sizes") Sizes sizes,
            @ForAll("rotations") Rotation rotation,
            @ForAll Layout layout,
            @ForAll long seed) {
        try (Arena arena = Arena.ofShared()) {
            SplittableRandom random = new SplittableRandom(seed);
            int rows = rotation.perSequence ? sizes.batch() * sizes.tokens() : sizes.tokens();
            long[] dims = rotation.perSequence
                    ? new long[] {sizes.batch(), sizes.tokens(), sizes.pairs()}
                    : new long[] {sizes.tokens(), sizes.pairs()};
            Tensor cos = Numbers.gaussian(layout.allocate(arena, rotation.table, dims), random, 0, 1);
            Tensor sin = Numbers.gaussian(layout.allocate(arena, rotation.table, dims), random, 0, 1);
            TokenAngles angles = TokenAngles.of(cos, sin, rotation.pairing);
            Tensor x = input(arena, layout, sizes, random);
            Tensor flatCos = Tensor.of(Numbers.of(cos), rows, sizes.pairs());
            Tensor flatSin = Tensor.of(Numbers.of(sin), rows, sizes.pairs());
            ReferenceRope.Result expected = ReferenceRope.tables(
                            flatCos, flatSin, rotation.pairing == Pairing.INTERLEAVED)
                    .apply(x, LongStream.range(0, rows).toArray(), rotation.inverse);
            check(arena, layout, rotation, x, expected, (cpu, y) -> {
                if (rotation.inverse) {
                    angles.applyInverse(cpu, x, y);
                } else {
                    angles.apply(cpu, x, y);
                }
            });
        }
    }

    private interface Call {
        void run(Compute cpu, Tensor y);
    }

    private static Tensor input(Arena arena, Layout layout, Sizes sizes, SplittableRandom random) {
        DType[] floating = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};
        DType dtype = floating[random.nextInt(floating.length)];
        long headDim = 2L * sizes.pairs() + sizes.rest();
        return Numbers.gaussian(
                layout.allocate(arena, dtype, sizes.batch(), sizes.heads(), sizes.tokens(), headDim), random, 0, 1);
    }

    private static void check(
            Arena arena, Layout layout, Rotation rotation, Tensor x, ReferenceRope.Result expected, Call call) {
        double[] before = Numbers.of(x);
        Tensor threaded = layout.allocate(arena, x.dtype(), x.shape().toArray());
        call.run(THREADS, threaded);
        Tensor y = rotation.inPlace
                ? x
                : layout.allocate(arena, x.dtype(), x.shape().toArray());
        call.run(SERIAL, y);
        double[] actual = Numbers.of(y);
        assertArrayEquals(Numbers.of(threaded), actual);
        assertTrue(Layout.untouchedOutside(y));
        for (int i = 0; i < actual.length; i++) {
            if (expected.bound()[i] == 0) {
                assertTrue(actual[i] == before[i], "copied element " + i);
            }
            // the rounded value may exceed the exact one by the bound, which adds a factor of 1 + 2^-8 in bf16
            double allowed = expected.bound()[i] * (1 + 0x1p-8) + Tolerance.storage(expected.output()[i], x.dtype());
            double error = Math.abs(actual[i] - expected.output()[i]);
            assertTrue(error <= allowed, "element " + i + ": " + error + " of " + allowed);
        }
    }

    /** Tables of an embedding's cosines and sines rotate rows and tensors with the same bits as the embedding. */
    @Example
    void tablesOfAnglesHaveTheBitsOfTheAngles() {
        Rope rope = Rope.of(Rope.Config.of(20).withPairing(Pairing.INTERLEAVED));
        Tensor cos = Tensor.of(new float[40 * 10], 40, 10);
        Tensor sin = Tensor.of(new float[40 * 10], 40, 10);
        for (int position = 0; position < 40; position++) {
            float[] unit = new float[20];
            for (int pair = 0; pair < 10; pair++) {
                unit[2 * pair] = 1;
            }
            rope.apply(unit, 0, position);
            for (int pair = 0; pair < 10; pair++) {
                cos.set(unit[2 * pair], position, pair);
                sin.set(unit[2 * pair + 1], position, pair);
            }
        }
        Rope tables = Rope.ofTables(cos, sin, Pairing.INTERLEAVED);
        assertEquals(40, tables.positions());
        assertEquals(20, tables.rotaryDims());
        Tensor x = Numbers.gaussian(Tensor.of(new float[3 * 17 * 24], 1, 3, 17, 24), new SplittableRandom(5), 0, 1);
        Tensor expected = Tensor.of(new float[3 * 17 * 24], 1, 3, 17, 24);
        Tensor actual = Tensor.of(new float[3 * 17 * 24], 1, 3, 17, 24);
        rope.apply(SERIAL, x, expected, 20);
        tables.apply(SERIAL, x, actual, 20);
        assertArrayEquals(Numbers.of(expected), Numbers.of(actual));
        float[] row = x.toArray();
        tables.apply(row, 24, 21);
        assertEquals((float) expected.get(0, 0, 1, 3), row[24 + 3]);
    }

    @Example
    void aPositionBeyondATableNamesTheTable() {
        Tensor cos = Tensor.of(new float[4 * 3], 4, 3);
        Rope rope = Rope.ofTables(cos, cos, Pairing.HALF_SPLIT);
        Tensor x = Tensor.of(new float[2 * 2 * 6], 2, 1, 2, 6);
        Tensor y = Tensor.of(new float[2 * 2 * 6], 2, 1, 2, 6);
        y.fill(7);
        Named.mentions(
                () -> rope.apply(SERIAL, x, y, 3), "firstPosition: 3; expected 0 to 2", "tables cos and sin [4, 3]");
        Named.mentions(() -> rope.apply(SERIAL, x, y, -1), "firstPosition: -1", "tables cos and sin [4, 3]");
        Named.mentions(
                () -> rope.apply(SERIAL, x, y, new long[] {0, 3, 4, 0}),
                "positions[2]: 4; expected 0 to 3",
                "tables cos and sin [4, 3]");
        Named.mentions(
                () -> rope.apply(new float[6], 0, 4), "position: 4; expected 0 to 3", "tables cos and sin [4, 3]");
        Named.mentions(
                () -> rope.applyInverse(SERIAL, x, y, new long[3]), "positions: length 3; expected 2 [tokens], or 4");
        Tensor wide = Tensor.of(new float[5 * 6], 1, 1, 5, 6);
        Named.mentions(() -> rope.apply(SERIAL, wide, wide, 0), "expected at most 4 tokens for the 5 tokens");
        for (double element : Numbers.of(y)) {
            assertEquals(7, element);
        }
    }

    @Example
    void tablesThatDoNotFitAreNamed() {
        Tensor cos = Tensor.of(new float[12], 4, 3);
        Tensor sin = Tensor.of(new float[12], 3, 4);
        Named.mentions(() -> Rope.ofTables(cos, sin, Pairing.HALF_SPLIT), "sin: shape [3, 4]; expected [4, 3]");
        Named.mentions(() -> Rope.ofTables(Tensor.of(new float[3]), sin, Pairing.HALF_SPLIT), "cos: shape [3]");
        Tensor huge = cos.slice(0, 0, 1).broadcast(1L << 58, 3);
        Named.mentions(
                () -> Rope.ofTables(huge, huge, Pairing.HALF_SPLIT),
                "cos: shape [288230376151711744, 3]; expected at most");
        Named.mentions(() -> TokenAngles.of(cos, sin, Pairing.HALF_SPLIT), "sin: shape [3, 4]; expected [4, 3]");
        TokenAngles angles = TokenAngles.of(cos, cos, Pairing.HALF_SPLIT);
        Tensor x = Tensor.of(new float[18], 1, 1, 3, 6);
        Named.mentions(
                () -> angles.apply(SERIAL, x, x), "cos: shape [4, 3]; expected [3, 3] or [1, 3, 3] for x [1, 1, 3, 6]");
        Tensor memory = Tensor.of(new float[24], 1, 1, 4, 6);
        TokenAngles own = TokenAngles.of(memory.reshape(8, 3).slice(0, 0, 4), cos, Pairing.HALF_SPLIT);
        Named.mentions(() -> own.apply(SERIAL, memory, memory), "y: F32 [1, 1, 4, 6] overlaps cos");
        Rope rope = Rope.ofTables(cos, cos, Pairing.HALF_SPLIT);
        assertThrows(IllegalStateException.class, rope::config);
    }

    @Example
    void anglesInClosedMemoryAreRefusedBeforeAnythingIsWritten() {
        Tensor x = Tensor.of(new float[24], 1, 1, 4, 6);
        x.fill(7);
        TokenAngles closed;
        try (Arena arena = Arena.ofShared()) {
            Tensor cos = Tensor.zeros(arena, DType.F32, 4, 3);
            closed = TokenAngles.of(cos, cos, Pairing.HALF_SPLIT);
        }
        assertThrows(IllegalStateException.class, () -> closed.apply(SERIAL, x, x));
        for (double element : Numbers.of(x)) {
            assertEquals(7, element);
        }
    }
}
