package io.multihead.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** The 16-bit types are compared with exact arithmetic: they round once, to nearest, ties to even. */
class DTypeProperties {
    private static final int SIGN = 0x8000;

    private final short[] bits = new short[1];

    @Example
    void everyTieRoundsToEvenAndEverythingBesideItToItsSide() {
        for (DType dtype : new DType[] {DType.BF16, DType.F16}) {
            Tensor one = one(dtype);
            for (int low = 0; Double.isFinite(value(one, low + 1)); low++) {
                double tie = (value(one, low) + value(one, low + 1)) / 2; // exact, since 53 bits can hold 12 bits
                int even = (low & 1) == 0 ? low : low + 1;
                assertRounds(one, tie, even);
                assertRounds(one, Math.nextDown(tie), low);
                assertRounds(one, Math.nextUp(tie), low + 1);
            }
        }
    }

    @Example
    void whatIsBeyondTheLargestNumberOverflowsFromHalfAStepOn() {
        for (DType dtype : new DType[] {DType.BF16, DType.F16}) {
            Tensor one = one(dtype);
            int infinity = dtype == DType.BF16 ? 0x7f80 : 0x7c00;
            double largest = value(one, infinity - 1);
            double halfAStep = (largest - value(one, infinity - 2)) / 2;
            assertRounds(one, Math.nextDown(largest + halfAStep), infinity - 1);
            for (double beyond : new double[] {largest + halfAStep, 1e39, Double.MAX_VALUE, Double.POSITIVE_INFINITY}) {
                assertRounds(one, beyond, infinity);
            }
            assertRounds(one, Double.MIN_VALUE, 0);
            assertRounds(one, 0, 0);
        }
    }

    @Property(tries = 2000)
    void anyDoubleRoundsToTheNearest(@ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double value = Double.longBitsToDouble(random.nextLong());
        double usual = random.nextDouble(-2, 2) * Math.scalb(1.0, random.nextInt(-160, 140));
        for (DType dtype : new DType[] {DType.BF16, DType.F16}) {
            assertNearest(one(dtype), value);
            assertNearest(one(dtype), usual);
        }
    }

    @Example
    void bf16OfAFloatEqualsBf16OfTheSameDouble() {
        Tensor one = one(DType.BF16);
        SplittableRandom random = new SplittableRandom(42);
        for (int i = 0; i < 200_000; i++) {
            float value = Float.intBitsToFloat(random.nextInt());
            one.set(value, 0);
            short narrow = DType.floatToBf16(value);
            assertTrue(Float.isNaN(value) ? Float.isNaN(DType.bf16ToFloat(narrow)) : narrow == bits[0], "of " + value);
        }
    }

    @Example
    void noNanBecomesANumber() {
        int[] payloads = {0x7f800001, 0x7fc00000, 0x7fffffff, 0x7f80ffff, 0x7f810000};
        for (int payload : payloads) {
            for (int sign : new int[] {0, 1 << 31}) {
                float nan = Float.intBitsToFloat(payload | sign);
                for (DType dtype : new DType[] {DType.BF16, DType.F16, DType.F32, DType.F64}) {
                    Tensor one = Tensor.view(MemorySegment.ofArray(new byte[8]), dtype, Shape.of(1));
                    one.set(nan, 0);
                    assertTrue(Double.isNaN(one.get(0)), dtype + " of " + Integer.toHexString(payload));
                }
                assertTrue(Float.isNaN(DType.bf16ToFloat(DType.floatToBf16(nan))));
            }
        }
    }

    @Example
    void i8RoundsTiesToEvenAndSaturates() {
        Tensor one = Tensor.view(MemorySegment.ofArray(new byte[1]), DType.I8, Shape.of(1));
        for (int low = -128; low < 127; low++) {
            double tie = low + 0.5;
            double[][] pairs = {
                {tie, (low & 1) == 0 ? low : low + 1}, {Math.nextDown(tie), low}, {Math.nextUp(tie), low + 1}
            };
            for (double[] pair : pairs) {
                one.set(pair[0], 0);
                assertEquals(pair[1], one.get(0), "of " + pair[0]);
            }
        }
        for (double beyond : new double[] {127.5, 128, 1e300, Double.POSITIVE_INFINITY}) {
            one.set(beyond, 0);
            assertEquals(127, one.get(0));
            one.set(-beyond - 1, 0);
            assertEquals(-128, one.get(0));
        }
    }

    private Tensor one(DType dtype) {
        return Tensor.view(MemorySegment.ofArray(bits), dtype, Shape.of(1));
    }

    private double value(Tensor one, int pattern) {
        bits[0] = (short) pattern;
        return one.get(0);
    }

    /** Checks a value with both signs. */
    private void assertRounds(Tensor one, double value, int pattern) {
        one.set(value, 0);
        assertEquals(pattern, bits[0] & 0xffff, one.dtype() + " of " + value);
        one.set(-value, 0);
        assertEquals(pattern | SIGN, bits[0] & 0xffff, one.dtype() + " of " + -value);
    }

    /** Requires, in exact arithmetic, that no adjacent number is nearer, and that a tie is rounded to even. */
    private void assertNearest(Tensor one, double value) {
        one.set(value, 0);
        int taken = bits[0] & 0xffff;
        double stored = one.get(0);
        if (!Double.isFinite(value) || !Double.isFinite(stored)) {
            double largest = value(one, one.dtype() == DType.BF16 ? 0x7f7f : 0x7bff);
            assertTrue(
                    Double.isNaN(value)
                            ? Double.isNaN(stored)
                            : Math.abs(value) > largest && stored == Math.copySign(1, value) / 0.0,
                    one.dtype() + " of " + value + " is " + stored);
            return;
        }
        int magnitude = taken & ~SIGN;
        assertEquals(value < 0 || 1 / value < 0, (taken & SIGN) != 0, "the sign of " + value);
        BigDecimal error = distance(stored, value);
        for (int next : new int[] {magnitude - 1, magnitude + 1}) {
            double neighbor = next < 0 ? Double.NaN : value(one, next | taken & SIGN);
            if (Double.isFinite(neighbor)) {
                int order = error.compareTo(distance(neighbor, value));
                assertTrue(order < 0 || (order == 0 && (taken & 1) == 0), one.dtype() + " of " + value);
            }
        }
    }

    private static BigDecimal distance(double a, double b) {
        return new BigDecimal(a).subtract(new BigDecimal(b)).abs();
    }
}
