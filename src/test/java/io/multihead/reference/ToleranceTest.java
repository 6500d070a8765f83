package io.multihead.reference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** The comparison that other tests use detects every wrong value. Without this, other tests would be worthless. */
class ToleranceTest {
    private static final double[] SPECIAL = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};

    @Example
    void nothingButANumberReplacesANumber() {
        for (DType dtype : DType.values()) {
            for (double wrong : SPECIAL) {
                assertEquals(Double.POSITIVE_INFINITY, ratio(wrong, 1, 1e30, dtype), dtype + " " + wrong);
                assertEquals(Double.POSITIVE_INFINITY, ratio(1, wrong, 1e30, dtype), dtype + " " + wrong);
            }
        }
    }

    /**
     * This is intended: a number that has overflowed in f32 may be an infinity in one order of operations and NaN in
     * another order.
     */
    @Example
    void anyNumberThatIsNotFiniteMayStandForAnother() {
        for (double actual : SPECIAL) {
            for (double expected : SPECIAL) {
                assertEquals(0, ratio(actual, expected, Double.NaN, DType.F32), actual + " for " + expected);
            }
        }
    }

    @Example
    void aBoundThatIsNotANumberAllowsNothing() {
        assertEquals(Double.POSITIVE_INFINITY, ratio(1, 2, Double.NaN, DType.F32));
        assertEquals(Double.POSITIVE_INFINITY, ratio(1, 2, Double.POSITIVE_INFINITY, DType.F32));
        assertEquals(Double.POSITIVE_INFINITY, ratio(1, 2, 0, DType.F32));
        assertEquals(0, ratio(2, 2, 0, DType.F32));
    }

    @Example
    void theWorstElementCountsAndStorageIsAllowedOnTop() {
        double[] expected = {1, 2, 3};
        double[] actual = {1, 2.5, 2};
        assertEquals(2, Tolerance.ratio(actual, expected, new double[] {1, 0.25, 1}, DType.F32));
        assertEquals(1, ratio(1 + 0x1p-8 + 0x1p-20, 1, 0x1p-20, DType.BF16));
        assertEquals(1, ratio(1 + 0x1p-11 + 0x1p-20, 1, 0x1p-20, DType.F16));
        assertThrows(
                IllegalArgumentException.class, () -> Tolerance.ratio(actual, new double[2], new double[2], DType.F32));
    }

    @Property(tries = 500)
    void storageBoundsEveryRounding(@ForAll DType dtype, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Tensor one = Tensor.view(MemorySegment.ofArray(new byte[8]), dtype, Shape.of(1));
        int least = dtype == DType.F16 ? -30 : -155;
        double value = random.nextDouble(-1, 1) * Math.scalb(1.0, random.nextInt(least, dtype == DType.F16 ? 15 : 120));
        value = dtype == DType.I8 ? random.nextDouble(-128, 127) : value;
        one.set(value, 0);
        double error = Math.abs(one.get(0) - value);
        assertTrue(error <= Tolerance.storage(value, dtype), dtype + " " + value + " is off by " + error);
    }

    @Property(tries = 300)
    void gemmBoundsAPlainChain(@ForAll @IntRange(max = 600) int depth, @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] a = new float[depth];
        float[] b = new float[depth];
        for (int k = 0; k < depth; k++) {
            a[k] = (float) (random.nextGaussian() + 1);
            b[k] = (float) (random.nextGaussian() * Math.scalb(1.0, random.nextInt(-60, 1)));
        }
        float sum = 0;
        for (int from = 0; from < depth; from += 256) {
            float chain = 0;
            for (int k = from; k < Math.min(depth, from + 256); k++) {
                chain = Math.fma(a[k], b[k], chain);
            }
            sum += chain;
        }
        float c = (float) random.nextGaussian();
        float got = 1.7f * sum + -0.3f * c;
        Tensor right = Tensor.of(b, depth, 1);
        ReferenceGemm.Result exact = ReferenceGemm.multiply(
                Tensor.of(a, 1, depth), right, Tensor.of(new float[] {c}, 1, 1), 1.7f, -0.3f, null);
        assertTrue(Math.abs(got - exact.values()[0]) <= exact.errorScale()[0], () -> got + " for " + exact.values()[0]);
    }

    @Example
    void underflowLeavesRoomOnlyBelowTheNormalNumbers() {
        assertTrue(Tolerance.underflow(0, 0) > 0);
        assertTrue(Tolerance.underflow(1 << 20, 1) < 0x1p-125);
    }

    private static double ratio(double actual, double expected, double bound, DType dtype) {
        return Tolerance.ratio(new double[] {actual}, new double[] {expected}, new double[] {bound}, dtype);
    }
}
