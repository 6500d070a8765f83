package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.position.Rope.Pairing;
import io.multihead.reference.ReferenceRope;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Edge cases of rotations: the end of the table of angles, position 0, types, memory and sizes of groups. */
@Tag("lanes")
class RopeEdgeTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int DIMS = 64;

    /**
     * Returns the first position without a row in the table of angles. Earlier positions fill 64 MiB, in blocks of 16
     * positions.
     */
    private static long limit(Pairing pairing) {
        // a cosine and a sine for each pair, or for each element
        long floats = pairing == Pairing.INTERLEAVED ? 2 * DIMS : DIMS;
        return (64L << 20) / (16 * floats * Float.BYTES) * 16;
    }

    @ParameterizedTest
    @EnumSource(Pairing.class)
    void rowsAndTensorsAgreeAroundTheLimitOfTheTable(Pairing pairing) {
        Rope rope = Rope.of(Rope.Config.of(DIMS).withPairing(pairing));
        Rope parted = rope.withSections(RopeSections.consecutive(16, 8, 8));
        ReferenceRope reference = ReferenceRope.of(DIMS, 10_000, pairing == Pairing.INTERLEAVED);
        long limit = limit(pairing);
        for (long position : new long[] {0, 1, 15, 16, limit - 1, limit, limit + 1}) {
            Tensor x =
                    Numbers.gaussian(Tensor.of(new float[DIMS], 1, 1, 1, DIMS), new SplittableRandom(position), 0, 1);
            ReferenceRope.Result expected = reference.apply(x, new long[] {position}, false);
            Tensor y = Tensor.of(new float[DIMS], 1, 1, 1, DIMS);
            rope.apply(SERIAL, x, y, position);
            float[] rotated = y.toArray();
            for (int i = 0; i < DIMS; i++) {
                double allowed = expected.bound()[i] * 1.01;
                assertEquals(expected.output()[i], rotated[i], allowed, "element " + i + " at " + position);
            }
            assertArrayEquals(rotated, row(rope, x, position));
            assertArrayEquals(rotated, row(rope, x, new long[] {position}));
            assertArrayEquals(rotated, row(parted, x, position));
            assertArrayEquals(rotated, row(parted, x, new long[] {position}));
            assertArrayEquals(rotated, row(parted, x, new long[] {position, position, position}));
            long[] apart = {position, limit, 3};
            parted.apply(SERIAL, x, y, apart);
            assertArrayEquals(y.toArray(), row(parted, x, apart));
        }
    }

    private static float[] row(Rope rope, Tensor x, long position) {
        float[] row = x.toArray();
        rope.apply(row, 0, position);
        return row;
    }

    private static float[] row(Rope rope, Tensor x, long[] positions) {
        float[] row = x.toArray();
        rope.apply(row, 0, positions);
        return row;
    }

    /** A rotation by 0 would turn -0 into 0, and infinities into NaN. */
    @Test
    void tokensAtPositionZeroAreCopied() {
        int tokens = 4;
        Tensor x = Tensor.of(new float[tokens * DIMS], 1, 1, tokens, DIMS);
        for (int t = 0; t < tokens; t++) {
            for (int i = 0; i < DIMS; i++) {
                x.set(t == 1 || t == 2 ? i % 2 == 0 ? -0.0 : Double.POSITIVE_INFINITY : 1, 0, 0, t, i);
            }
        }
        long[] positions = {5, 0, 0, 7};
        long[] streams = {5, 0, 0, 7, 6, 0, 0, 8};
        Rope rope = Rope.of(Rope.Config.of(DIMS));
        Rope parted = rope.withSections(RopeSections.consecutive(16, 16));
        Tensor y = Tensor.of(new float[tokens * DIMS], 1, 1, tokens, DIMS);
        rope.apply(SERIAL, x, y, positions);
        assertCopied(x, y);
        parted.apply(SERIAL, x, y, streams);
        assertCopied(x, y);
        parted.applyInverse(SERIAL, x, y, streams);
        assertCopied(x, y);
        float[] row = x.slice(2, 1, 2).toArray();
        parted.apply(row, 0, new long[] {0, 0});
        assertBits(x.slice(2, 1, 2), row);
    }

    private static void assertCopied(Tensor x, Tensor y) {
        assertBits(x.slice(2, 1, 3), y.slice(2, 1, 3).toArray());
        for (int t : new int[] {0, 3}) {
            assertTrue(!Arrays.equals(x.select(2, t).toArray(), y.select(2, t).toArray()), "token " + t);
        }
        y.fill(9);
    }

    private static void assertBits(Tensor expected, float[] actual) {
        float[] values = expected.toArray();
        for (int i = 0; i < values.length; i++) {
            assertEquals(Float.floatToRawIntBits(values[i]), Float.floatToRawIntBits(actual[i]), "element " + i);
        }
    }

    /**
     * Elements after {@code rotaryDims} are rounded if types differ, and copied one by one if they are not adjacent.
     */
    @Test
    void theRestOfARowIsConvertedOrCopied() {
        Rope rope = Rope.of(Rope.Config.of(4));
        Tensor x = Numbers.gaussian(Tensor.of(new float[2 * 3 * 11], 1, 2, 3, 11), new SplittableRandom(3), 0, 1);
        Tensor dense = Tensor.of(new float[2 * 3 * 11], 1, 2, 3, 11);
        rope.apply(SERIAL, x, dense, 2);
        assertArrayEquals(x.slice(3, 4, 11).toArray(), dense.slice(3, 4, 11).toArray());
        Tensor stepped = Tensor.of(new float[2 * 3 * 22], 1, 2, 3, 11, 2).select(4, 1);
        rope.apply(SERIAL, x, stepped, 2);
        assertArrayEquals(dense.toArray(), stepped.toArray());
        Tensor again = Tensor.of(new float[2 * 3 * 11], 1, 2, 3, 11);
        rope.applyInverse(SERIAL, stepped, again, 0);
        assertArrayEquals(dense.slice(3, 4, 11).toArray(), again.slice(3, 4, 11).toArray());
        for (DType dtype : new DType[] {DType.F16, DType.BF16, DType.F64}) {
            Tensor converted = Tensor.view(
                    MemorySegment.ofArray(new byte[2 * 3 * 22 * dtype.bytes()]), dtype, Shape.of(1, 2, 3, 11, 2));
            Tensor y = converted.select(4, 0);
            Tensor rounded = Tensor.view(
                    MemorySegment.ofArray(new byte[2 * 3 * 11 * dtype.bytes()]), dtype, Shape.of(1, 2, 3, 11));
            dense.copyTo(rounded);
            rope.apply(SERIAL, x, y, 2);
            assertArrayEquals(rounded.toArray(), y.toArray(), dtype.toString());
            assertArrayEquals(new float[66], converted.select(4, 1).toArray(), dtype.toString());
        }
    }

    @Test
    void anotherViewOfTheSameElementsIsRotatedInPlace() {
        Rope rope = Rope.of(Rope.Config.of(8));
        float[] values = new float[2 * 3 * 8];
        Tensor expected = Numbers.gaussian(Tensor.of(values, 1, 2, 3, 8), new SplittableRandom(8), 0, 1);
        MemorySegment memory = MemorySegment.ofArray(values.clone());
        rope.apply(SERIAL, expected, expected, 4);
        Shape shape = Shape.of(1, 2, 3, 8);
        Tensor x = Tensor.view(memory, DType.F32, shape, 0, 48, 24, 8, 1);
        // an axis of one position may have any stride
        Tensor y = Tensor.view(memory, DType.F32, shape, 0, 7, 24, 8, 1);
        rope.apply(SERIAL, x, y, 4);
        assertArrayEquals(expected.toArray(), x.toArray());

        String overlap = " overlaps x; expected separate memory";
        Tensor heads = Tensor.view(memory, DType.F32, shape, 0, 48, 8, 16, 1);
        fails("y: " + heads + overlap, () -> rope.apply(SERIAL, x, heads, 4));
        MemorySegment wider = MemorySegment.ofArray(new float[49]);
        Tensor first = Tensor.view(wider, DType.F32, shape);
        Tensor shifted = Tensor.view(wider, DType.F32, shape, 1, 48, 24, 8, 1);
        fails("y: " + shifted + overlap, () -> rope.apply(SERIAL, first, shifted, 4));
        Tensor inside = Tensor.view(wider.asSlice(4), DType.F32, shape);
        fails("y: " + inside + overlap, () -> rope.apply(SERIAL, first, inside, 4));
        Tensor f16 = Tensor.view(wider, DType.F16, shape);
        fails("y: " + f16 + overlap, () -> rope.apply(SERIAL, first, f16, 4));
    }

    /** With few tokens and many heads, threads divide the heads, and a task has several heads. */
    @Test
    void groupsOfHeadsAreRotatedOnce() {
        Rope rope = Rope.of(Rope.Config.of(256));
        int heads = 150;
        Tensor x = Numbers.gaussian(
                Tensor.of(new float[heads * 2 * 256], 1, heads, 2, 256), new SplittableRandom(5), 0, 1);
        Tensor y = Tensor.of(new float[heads * 2 * 256], 1, heads, 2, 256);
        rope.apply(SERIAL, x, y, 9);
        try (Compute threads = Compute.threads(3)) {
            rope.apply(threads, x, x, 9);
        }
        assertArrayEquals(y.toArray(), x.toArray());
    }

    @Test
    void tablesRotateAsManyTokensAsTheyHavePositions() {
        Tensor table = Tensor.of(new float[] {1, 1, 1}, 3, 1);
        Rope rope = Rope.ofTables(table, table, Pairing.HALF_SPLIT);
        Tensor x = Tensor.of(new float[6], 1, 1, 3, 2);
        rope.apply(SERIAL, x, x, 0);
        startsWith("firstPosition: 1; expected 0 to 0 ", () -> rope.apply(SERIAL, x, x, 1));
        Tensor longer = Tensor.of(new float[8], 1, 1, 4, 2);
        startsWith("firstPosition: 0; expected at most 3 tokens ", () -> rope.apply(SERIAL, longer, longer, 0));
    }

    /** The input has whole tiles of tokens, and rows with more floats than the smallest scratch. */
    @ParameterizedTest
    @EnumSource(Pairing.class)
    void anglesOfTokensHaveTheBitsOfATable(Pairing pairing) {
        int tokens = 35; // two tiles of 16 and a part
        int pairs = 300;
        Tensor cos =
                Numbers.gaussian(Tensor.of(new float[tokens * pairs], tokens, pairs), new SplittableRandom(1), 0, 1);
        Tensor sin =
                Numbers.gaussian(Tensor.of(new float[tokens * pairs], tokens, pairs), new SplittableRandom(2), 0, 1);
        Tensor x = Numbers.gaussian(
                Tensor.of(new float[tokens * 2 * pairs], 1, 1, tokens, 2 * pairs), new SplittableRandom(3), 0, 1);
        Tensor expected = Tensor.of(new float[tokens * 2 * pairs], 1, 1, tokens, 2 * pairs);
        Tensor actual = Tensor.of(new float[tokens * 2 * pairs], 1, 1, tokens, 2 * pairs);
        Rope.ofTables(cos, sin, pairing).apply(SERIAL, x, expected, 0);
        try (Compute fresh = Compute.serial()) { // without scratch of earlier calls
            TokenAngles.of(cos, sin, pairing).apply(fresh, x, actual);
        }
        assertArrayEquals(expected.toArray(), actual.toArray());
    }

    @Test
    void tablesAndSectionsHaveUpTo32768Pairs() {
        int most = 1 << 15;
        Tensor widest = Tensor.of(new float[most], 1, most);
        assertEquals(
                2 * most, Rope.ofTables(widest, widest, Pairing.INTERLEAVED).rotaryDims());
        Tensor wider = Tensor.of(new float[most + 1], 1, most + 1);
        startsWith("cos: shape [1, 32769]", () -> Rope.ofTables(wider, wider, Pairing.INTERLEAVED));
        assertEquals(most, RopeSections.consecutive(most - 1, 1).count());
        assertEquals(1, RopeSections.interleaved(1).count());
        startsWith("sizes: [32768, 1]", () -> RopeSections.consecutive(most, 1));
        startsWith("sizes: [0]", () -> RopeSections.consecutive(0));
        assertEquals(1 << 20, Alibi.slopes(1 << 20).length);
        startsWith("heads: 1048577", () -> Alibi.slopes((1 << 20) + 1));
    }

    @Test
    void configurationsKeepTheirNumbers() {
        Rope.Config config = new Rope.Config(8, 500, Pairing.INTERLEAVED, new RopeScaling.Linear(2));
        assertEquals(new Rope.Config(6, 500, Pairing.INTERLEAVED, new RopeScaling.Linear(2)), config.withRotaryDims(6));
        assertEquals(config, Rope.of(config).config());
    }

    private static void fails(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    private static void startsWith(String message, Executable call) {
        String actual = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(actual.startsWith(message), actual);
    }
}
