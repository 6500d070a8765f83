package io.multihead.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * Views are compared with plain index arithmetic, and conversions with exact rounding. Other tests check the text of
 * every error.
 */
class TensorProperties {
    @Property(tries = 500)
    void aReshapedViewReadsTheSameElementsInOrder(@ForAll long seed, @ForAll Layout layout) {
        SplittableRandom random = new SplittableRandom(seed);
        long[] factors = {1 + random.nextInt(3), 1 + random.nextInt(3), 1 + random.nextInt(4), 1 + random.nextInt(3)};
        try (Arena arena = Arena.ofConfined()) {
            int[] next = {0};
            Tensor tensor = Numbers.fill(
                    layout.allocate(arena, DType.F32, factors[0] * factors[1], factors[2], factors[3]),
                    () -> next[0]++);
            try {
                Tensor view = tensor.reshape(factors[0], factors[1], factors[2] * factors[3]);
                assertArrayEquals(Numbers.of(tensor), Numbers.of(view));
            } catch (IllegalArgumentException noView) {
                assertFalse(tensor.isDense(), "a dense tensor has every view");
                assertTrue(noView.getMessage().contains("copyTo a dense tensor first"), noView.getMessage());
            }
            Tensor dense = tensor.copy(arena, DType.F32).reshape(-1, factors[3]);
            assertArrayEquals(Numbers.of(tensor), Numbers.of(dense));
        }
    }

    @Property(tries = 500)
    void permuteSliceAndSelectAreIndexArithmetic(@ForAll long seed, @ForAll Layout layout) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            Tensor t = Numbers.fill(layout.allocate(arena, DType.F64, 3, 4, 5), random::nextDouble);
            long from = random.nextInt(4);
            Tensor view = t.permute(2, 0, 1).slice(2, from, 4).select(1, 2);
            for (long i = 0; i < 5; i++) {
                for (long j = 0; j < 4 - from; j++) {
                    assertEquals(t.get(2, j + from, i), view.get(i, j));
                }
            }
        }
    }

    @Property(tries = 1000)
    void overlapIsNeverMissed(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        MemorySegment memory = MemorySegment.ofArray(new float[60]);
        Tensor a = smallView(memory, random);
        Tensor b = smallView(memory, random);
        Set<Long> shared = positions(a);
        shared.retainAll(positions(b));
        assertTrue(shared.isEmpty() || a.overlaps(b), a + " and " + b);
        assertTrue(positions(a).size() == a.shape().elements() || a.overlapsItself(), a.toString());
    }

    @Example
    void partsOfAFusedProjectionDoNotOverlap() {
        Tensor fused = Tensor.of(new float[7 * 4 * 8], 7, 4, 8);
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                assertEquals(i == j, fused.select(1, i).overlaps(fused.select(1, j)));
            }
        }
    }

    @Example
    void every16BitPatternSurvives() {
        short[] pair = new short[1];
        for (DType dtype : new DType[] {DType.BF16, DType.F16}) {
            Tensor tensor = Tensor.view(MemorySegment.ofArray(pair), dtype, Shape.of(1));
            for (int bits = 0; bits < 1 << 16; bits++) {
                pair[0] = (short) bits;
                double value = tensor.get(0);
                tensor.set(value, 0);
                assertTrue(
                        Double.isNaN(value) ? Double.isNaN(tensor.get(0)) : pair[0] == (short) bits,
                        dtype + " " + bits);
            }
        }
    }

    @Property(tries = 2000)
    void narrowingRoundsOnceToNearestEven(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (DType dtype : new DType[] {DType.BF16, DType.F16, DType.F32}) {
            Tensor one = Layout.HEAP.allocate(Arena.ofAuto(), dtype, 1);
            double value = random.nextGaussian() * Math.pow(2, random.nextInt(-12, 12));
            one.set(value, 0);
            double stored = one.get(0);
            int precision = dtype == DType.BF16 ? 8 : dtype == DType.F16 ? 11 : 24;
            double ulp = Math.max(
                    Math.scalb(1.0, Math.getExponent(value) - precision + 1), dtype == DType.F16 ? 0x1p-24 : 0);
            assertTrue(Math.abs(stored - value) <= ulp / 2, dtype + ": " + stored + " for " + value);
            double halfway = stored + ulp / 2 * Math.signum(value);
            double almost = Math.nextAfter(halfway, 0);
            one.set(almost, 0);
            assertEquals(stored, one.get(0), "just below halfway must round down, not twice");
        }
    }

    @Property(tries = 100)
    void copiesConvertEveryPairOfTypes(@ForAll DType from, @ForAll DType to, @ForAll Layout layout, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            Tensor source = Numbers.fill(layout.allocate(arena, from, 2, 3, 4), () -> random.nextInt(-100, 100));
            Tensor target = layout.allocate(arena, to, 2, 3, 4);
            source.copyTo(target);
            assertArrayEquals(Numbers.of(source), Numbers.of(target));
            assertTrue(Layout.untouchedOutside(target));
        }
    }

    @Property(tries = 300)
    void concatIsPlainLoops(@ForAll DType dtype, @ForAll Layout layout, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int axis = random.nextInt(3);
        long[] dims = {1 + random.nextInt(3), 1 + random.nextInt(3), 1 + random.nextInt(4)};
        Tensor[] parts = new Tensor[random.nextInt(4)];
        try (Arena arena = Arena.ofConfined()) {
            long all = 0;
            for (int i = 0; i < parts.length; i++) {
                dims[axis] = random.nextInt(3);
                all += dims[axis];
                Layout of = Layout.values()[random.nextInt(Layout.values().length)];
                DType as = DType.values()[random.nextInt(DType.values().length)];
                parts[i] = Numbers.fill(of.allocate(arena, as, dims), () -> random.nextInt(-100, 100));
            }
            dims[axis] = all;
            Tensor target = layout.allocate(arena, dtype, dims);
            Tensor.concat(axis - (random.nextBoolean() ? 3 : 0), target, parts);
            long[] at = new long[3];
            long before = 0;
            for (Tensor part : parts) {
                for (at[0] = 0; at[0] < part.dim(0); at[0]++) {
                    for (at[1] = 0; at[1] < part.dim(1); at[1]++) {
                        for (at[2] = 0; at[2] < part.dim(2); at[2]++) {
                            long[] to = at.clone();
                            to[axis] += before;
                            assertEquals(part.get(at), target.get(to));
                        }
                    }
                }
                before += part.dim(axis);
            }
            assertTrue(Layout.untouchedOutside(target));
        }
    }

    @Example
    void concatChecksEverythingBeforeItWrites() {
        Tensor target = Tensor.of(new float[6], 2, 3);
        Tensor one = Tensor.of(new float[] {1, 1}, 2, 1);
        Tensor two = Tensor.of(new float[] {2, 2, 2, 2}, 2, 2);
        message("axis: 2; expected an axis of shape [2, 3]", () -> Tensor.concat(2, target, one, two));
        message(
                "parts[1]: shape [2, 2]; expected the sizes of target [2, 3] but along axis 0",
                () -> Tensor.concat(0, target, target, two));
        message(
                "parts[2]: shape [2, 1]; expected at most 0 along axis 1, which the parts before leave of target [2, 3]",
                () -> Tensor.concat(1, target, one, two, one));
        message(
                "target: shape [2, 3]; expected 2 along axis 1, as the parts have together",
                () -> Tensor.concat(-1, target, one, one));
        message(
                "target: F32 [2, 3] overlaps parts[1]; expected separate memory",
                () -> Tensor.concat(1, target, one, target.slice(1, 0, 2)));
        message(
                "target: read-only memory; expected memory that can be written",
                () -> Tensor.concat(1, Tensor.view(target.memory().asReadOnly(), DType.F32, target.shape()), one, two));
        message(
                "target: F32 [2, 3] strides [0, 1]; expected every element to have its own storage",
                () -> Tensor.concat(1, Tensor.of(new float[3], 1, 3).broadcast(2, 3), one, two));
        assertArrayEquals(new float[6], target.toArray());
        Tensor.concat(1, target, one, two);
        assertArrayEquals(new float[] {1, 2, 2, 1, 2, 2}, target.toArray());
    }

    @Example
    void i8SaturatesAndForgetsNan() {
        Tensor bytes = Tensor.view(MemorySegment.ofArray(new byte[1]), DType.I8, Shape.of(1));
        double[][] pairs = {{1e9, 127}, {-1e9, -128}, {2.5, 2}, {Double.NaN, 0}};
        for (double[] pair : pairs) {
            bytes.set(pair[0], 0);
            assertEquals(pair[1], bytes.get(0));
        }
    }

    @Example
    void moreThanAnArrayCanBeViewed() {
        Tensor huge = Tensor.of(new float[] {7f}, 1).broadcast(1L << 40);
        assertEquals(7, huge.get((1L << 40) - 1));
        assertEquals(1L << 40, huge.shape().elements());
        message("elements: 1099511627776; expected 0 to 2147483639", huge::toArray);
    }

    @Example
    void errorsNameTheArgument() {
        Tensor t = Tensor.of(new float[6], 2, 3);
        message("shape axis 1: -1; expected at least 0", () -> Shape.of(2, -1));
        message(
                "memory: 24 bytes (6 of F32); too small for shape [7] with offset 0 and strides [1]",
                () -> Tensor.of(new float[6], 7));
        message("offset: -1; expected at least 0", () -> Tensor.view(t.memory(), DType.F32, Shape.of(1), -1, 1));
        message(
                "stride of axis 0: -1; expected at least 0",
                () -> Tensor.view(t.memory(), DType.F32, Shape.of(1), 0, -1));
        message(
                "strides: [1]; expected one per axis of shape [2, 3]",
                () -> Tensor.view(t.memory(), DType.F32, t.shape(), 0, 1));
        message("index: [2, 0]; expected a position inside shape [2, 3]", () -> t.get(2, 0));
        message("index: [0]; expected one position per axis of shape [2, 3]", () -> t.get(0));
        message("axes: [0, 0]; expected every axis of shape [2, 3] once", () -> t.permute(0, 0));
        message("axis: 2; expected an axis of shape [2, 3]", () -> t.dim(2));
        message("slice: 1 to 4; expected a range within axis 1 of [2, 3]", () -> t.slice(1, 1, 4));
        message("index of axis 0: 2; expected 0 to 1", () -> t.select(0, 2));
        message("reshape: [4]; expected as many elements as shape [2, 3]", () -> t.reshape(4));
        message("broadcast: shape [2, 3]; cannot be repeated to [4, 3]", () -> t.broadcast(4, 3));
        message("target: shape [3]; expected [2, 3]", () -> t.copyTo(Tensor.of(new float[3])));
        message("target: F32 [2, 3] overlaps the source; expected separate memory", () -> t.copyTo(t));
    }

    @Example
    void closedAndForeignArenasKeepTheJdksExceptions() throws Exception {
        Arena arena = Arena.ofConfined();
        Tensor t = Tensor.allocate(arena, DType.F32, Shape.of(1));
        Throwable[] thrown = new Throwable[1];
        Thread other = new Thread(() -> thrown[0] = assertThrows(WrongThreadException.class, () -> t.get(0)));
        other.start();
        other.join();
        assertTrue(thrown[0] instanceof WrongThreadException);
        arena.close();
        assertThrows(IllegalStateException.class, () -> t.get(0));
    }

    private static Tensor smallView(MemorySegment memory, SplittableRandom random) {
        long[] dims = {random.nextInt(1, 4), random.nextInt(1, 4)};
        return Tensor.view(
                memory, DType.F32, Shape.of(dims), random.nextInt(12), random.nextInt(10), random.nextInt(6));
    }

    private static Set<Long> positions(Tensor t) {
        Set<Long> positions = new HashSet<>();
        for (long i = 0; i < t.dim(0); i++) {
            for (long j = 0; j < t.dim(1); j++) {
                positions.add(t.offset() + i * t.stride(0) + j * t.stride(1));
            }
        }
        return positions;
    }

    private static void message(String expected, org.junit.jupiter.api.function.Executable call) {
        assertEquals(
                expected, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
