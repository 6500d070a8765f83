package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/** The sinusoidal position encodings, checked element by element. */
class SinusoidalPositionsTest {
    private static final Compute SERIAL = Compute.serial();
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};

    /**
     * Positions follow the paper's formula. Angles have a relative error of a few {@code 2^-52}, and a sum rounds once.
     */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void positionsFollowTheFormula(
            @ForAll @IntRange(max = 20) int tokens,
            @ForAll @IntRange(max = 70) int dim,
            @ForAll @IntRange(max = 100_000) int offset,
            @ForAll Layout layout,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofConfined()) {
            DType type = TYPES[random.nextInt(TYPES.length)];
            Tensor filled = layout.allocate(arena, type, 2, tokens, dim);
            Tensor added = Numbers.fill(layout.allocate(arena, type, 2, tokens, dim), () -> random.nextInt(-100, 100));
            double[] before = Numbers.of(added);
            SinusoidalPositions.fill(SERIAL, filled, offset);
            SinusoidalPositions.add(SERIAL, added, offset);
            double[] expected = new double[before.length];
            double[] bound = new double[before.length];
            for (int i = 0; i < expected.length; i++) {
                int position = offset + i / dim % tokens;
                int element = i % dim;
                double angle = position / Math.pow(10_000, element / 2 * 2.0 / dim);
                expected[i] = element % 2 == 0 ? Math.sin(angle) : Math.cos(angle);
                bound[i] = Tolerance.storage(expected[i], DType.F32) + 0x1p-48 * (1 + angle);
            }
            Trained.assertWithin(expected, bound, filled, "filled");
            for (int i = 0; i < expected.length; i++) {
                expected[i] += before[i];
                bound[i] += Tolerance.storage(Math.abs(expected[i]) + 1e-6, DType.F32);
            }
            Trained.assertWithin(expected, bound, added, "added");
            assertTrue(Layout.untouchedOutside(filled) && Layout.untouchedOutside(added));
        }
    }

    @Test
    void badPositionsWriteNothing() {
        Tensor to = Tensor.of(new float[4], 2, 2);
        Named.message("offset: -1; expected at least 0", () -> SinusoidalPositions.fill(SERIAL, to, -1));
        long first = (1L << 53) - to.dim(-2) + 1;
        Named.message(
                "offset: " + first + " for " + to.dim(-2) + " tokens; expected positions below 9007199254740992",
                () -> SinusoidalPositions.add(SERIAL, to, first));
        Named.message(
                "to: shape [4]; expected [..., tokens, dim]",
                () -> SinusoidalPositions.add(SERIAL, Tensor.of(new float[4]), 0));
        Tensor repeated = Tensor.of(new float[2], 1, 2).broadcast(2, 2);
        Named.message(
                "to: F32 [2, 2] strides [0, 1]; expected every element to have its own storage",
                () -> SinusoidalPositions.add(SERIAL, repeated, 0));
        assertArrayEquals(new float[4], to.toArray());
        assertArrayEquals(new float[4], repeated.toArray());
    }

    /** The JDK's exceptions are thrown, as in all calls of the library. */
    @Test
    void memoryThatThisThreadMayNotUseIsRefused() throws Exception {
        Tensor closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = Tensor.allocate(arena, DType.F32, Shape.of(2, 2));
            Thread other = new Thread(
                    () -> assertThrows(WrongThreadException.class, () -> SinusoidalPositions.fill(SERIAL, closed, 0)));
            Throwable[] thrown = new Throwable[1];
            other.setUncaughtExceptionHandler((thread, error) -> thrown[0] = error);
            other.start();
            other.join();
            assertNull(thrown[0]);
        }
        assertThrows(IllegalStateException.class, () -> SinusoidalPositions.fill(SERIAL, closed, 0));
        assertThrows(IllegalStateException.class, () -> SinusoidalPositions.add(SERIAL, closed, 0));
    }

    @Test
    void threadsChangeNoBit() {
        Tensor one = Numbers.gaussian(Tensor.of(new float[2 * 37 * 19], 2, 37, 19), new SplittableRandom(1), 0, 1);
        Tensor several = Tensor.of(one.toArray(), 2, 37, 19);
        SinusoidalPositions.add(SERIAL, one, 5);
        try (Compute cpu = Compute.threads(3)) {
            SinusoidalPositions.add(cpu, several, 5);
        }
        assertArrayEquals(one.toArray(), several.toArray());
    }
}
