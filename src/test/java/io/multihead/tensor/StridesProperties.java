package io.multihead.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Numbers;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;

/** Random strided views of up to four axes are compared with the list of their positions. */
class StridesProperties {
    private static final int MEMORY = 600;

    @Property(tries = 3000)
    void aReshapeIsAViewExactlyWhenOneExists(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Tensor tensor = view(random);
        long[] dims = split(tensor.shape().elements(), random);
        long[] steps = stepsOf(positions(tensor), dims);
        try {
            Tensor reshaped = tensor.reshape(dims);
            assertNotNull(steps, tensor + " has no view of " + Arrays.toString(dims));
            assertArrayEquals(positions(tensor), positions(reshaped));
            assertArrayEquals(Numbers.of(tensor), Numbers.of(reshaped));
        } catch (IllegalArgumentException refused) {
            assertEquals(null, steps, tensor + " has a view of " + Arrays.toString(dims));
        }
    }

    @Property(tries = 1000)
    void viewsOfViewsNameTheSamePositions(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Tensor tensor = view(random);
        if (tensor.rank() == 0) {
            return;
        }
        int axis = random.nextInt(tensor.rank());
        long from = random.nextLong(tensor.dim(axis) + 1);
        long to = random.nextLong(from, tensor.dim(axis) + 1);
        Tensor slice = tensor.slice(axis - tensor.rank(), from, to);
        long[] pieces = LongStream.range(from, to)
                .mapToObj(at -> positions(tensor.select(axis, at)))
                .flatMapToLong(Arrays::stream)
                .toArray();
        int[] axisFirst = new int[tensor.rank()];
        for (int i = 0; i < axisFirst.length; i++) {
            axisFirst[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
        }
        assertArrayEquals(pieces, positions(slice.permute(axisFirst)));
        long[] repeated = LongStream.concat(
                        LongStream.of(2), Arrays.stream(tensor.shape().toArray()))
                .toArray();
        long[] twice = positions(tensor.broadcast(repeated));
        long[] once = positions(tensor);
        assertArrayEquals(
                LongStream.concat(Arrays.stream(once), Arrays.stream(once)).toArray(), twice);
    }

    @Property(tries = 3000)
    void overlapIsNeverMissedAndSymmetric(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Tensor a = view(random);
        Tensor b = Tensor.view(a.memory(), DType.F32, Shape.of(0));
        while (b.shape().elements() == 0) {
            b = view(random, a.memory());
        }
        long[] of = positions(a);
        boolean shared =
                Arrays.stream(positions(b)).anyMatch(p -> Arrays.stream(of).anyMatch(o -> o == p));
        assertEquals(a.overlaps(b), b.overlaps(a), a + " and " + b);
        assertTrue(!shared || a.overlaps(b), a + " and " + b);
        assertTrue(Arrays.stream(of).distinct().count() == of.length || a.overlapsItself(), a.toString());
        assertFalse(a.isDense() && a.overlapsItself(), a.toString());
    }

    /** Returns a view with sizes 0 to 4 and strides that step, repeat, interleave or leave gaps. */
    private static Tensor view(SplittableRandom random) {
        float[] memory = new float[MEMORY];
        for (int i = 0; i < MEMORY; i++) {
            memory[i] = i;
        }
        return view(random, MemorySegment.ofArray(memory));
    }

    private static Tensor view(SplittableRandom random, MemorySegment memory) {
        int rank = random.nextInt(5);
        long[] dims =
                random.longs(rank, 0, 9).map(d -> d == 0 ? 0 : (d + 1) / 2).toArray();
        long[] strides = random.longs(rank, 0, 41).toArray();
        if (random.nextBoolean()) {
            strides = Shape.of(dims).denseStrides();
            for (int i = 0; i < rank; i++) {
                strides[i] *= random.nextInt(6) == 0 ? 0 : 1;
            }
        }
        return Tensor.view(memory, DType.F32, Shape.of(dims), random.nextInt(20), strides);
    }

    private static long[] split(long elements, SplittableRandom random) {
        if (elements == 0) {
            return new long[] {random.nextInt(3), 0, 2};
        }
        LongStream.Builder dims = LongStream.builder();
        for (long rest = elements; rest > 1; ) {
            long factor = 1 + random.nextLong(rest);
            if (rest % factor == 0) {
                dims.add(factor);
                rest /= factor;
            }
        }
        return dims.build().toArray();
    }

    /** Returns the positions of the elements in row-major order. */
    private static long[] positions(Tensor tensor) {
        long[] positions = new long[(int) tensor.shape().elements()];
        for (int i = 0; i < positions.length; i++) {
            long rest = i;
            positions[i] = tensor.offset();
            for (int axis = tensor.rank() - 1; axis >= 0; axis--) {
                positions[i] += rest % tensor.dim(axis) * tensor.stride(axis);
                rest /= tensor.dim(axis);
            }
        }
        return positions;
    }

    /** Returns the strides with which a view of {@code dims} has these positions, or null if there are none. */
    private static long @Nullable [] stepsOf(long[] positions, long[] dims) {
        if (positions.length == 0) {
            return new long[dims.length];
        }
        long[] steps = new long[dims.length];
        long inner = 1;
        for (int axis = dims.length - 1; axis >= 0; axis--) {
            steps[axis] = dims[axis] > 1 ? positions[(int) inner] - positions[0] : 0;
            inner *= dims[axis];
        }
        for (int i = 0; i < positions.length; i++) {
            long rest = i;
            long position = positions[0];
            for (int axis = dims.length - 1; axis >= 0; axis--) {
                position += rest % dims[axis] * steps[axis];
                rest /= dims[axis];
            }
            if (position != positions[i]) {
                return null;
            }
        }
        return steps;
    }
}
