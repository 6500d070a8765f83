package io.multihead.position;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.position.Rope.Pairing;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.Tolerance;
import io.multihead.support.Golden;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every {@code rope_*} vector is compared in forward and gradient with the specification, to float64 precision, and
 * with the kernel, to its bound.
 */
@Tag("lanes")
class RopeGoldenTest {
    /**
     * Angles up to 1,100 are rounded once, and two methods of raising the base to a power differ: 20 units of 2^-53.
     */
    private static final double F64 = 1100 * 20 * 0x1p-53;

    private static final Pattern POSITIONS = Pattern.compile("positions (\\d+)\\+1\\*t");

    @Test
    void allFilesAreHere() {
        assertEquals(4, Golden.names("rope/").count());
    }

    @TestFactory
    Stream<DynamicTest> specificationAndKernelHold() {
        return Golden.names("rope/")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    check(Golden.open(name), false);
                    check(Golden.open(name), true);
                }));
    }

    private static void check(Golden golden, boolean gradient) {
        Tensor x = golden.tensor(gradient ? "grad_out" : "x");
        double[] expected = Numbers.of(golden.tensor(gradient ? "expected.grad.x" : "expected.out"));
        int rotaryDims = Integer.parseInt(golden.meta("rotary_dim"));
        double theta = Double.parseDouble(golden.meta("theta"));
        boolean interleaved = golden.meta("pairing").startsWith("interleaved");
        long first = first(golden);
        long[] positions = LongStream.range(first, first + x.dim(2)).toArray();
        ReferenceRope.Result reference =
                ReferenceRope.of(rotaryDims, theta, interleaved).apply(x, positions, gradient);
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(reference.output()[i] - expected[i]);
            assertTrue(error <= F64 * 8, "element " + i + ": " + reference.output()[i] + " for " + expected[i]);
        }
        Rope rope = Rope.of(Rope.Config.of(rotaryDims)
                .withTheta(theta)
                .withPairing(interleaved ? Pairing.INTERLEAVED : Pairing.HALF_SPLIT));
        try (Arena arena = Arena.ofConfined()) {
            Tensor y = Tensor.allocate(arena, DType.F32, x.shape());
            Tensor listed = Tensor.allocate(arena, DType.F32, x.shape());
            if (gradient) {
                rope.applyInverse(Compute.serial(), x, y, first);
                rope.applyInverse(Compute.serial(), x, listed, positions);
            } else {
                rope.apply(Compute.serial(), x, y, first);
                rope.apply(Compute.serial(), x, listed, positions);
            }
            double ratio = Tolerance.ratio(Numbers.of(y), expected, reference.bound(), DType.F32);
            assertTrue(ratio <= 1, "R = " + ratio);
            assertArrayEquals(Numbers.of(y), Numbers.of(listed));
        }
    }

    private static long first(Golden golden) {
        Matcher matcher = POSITIONS.matcher(golden.meta("description"));
        assertTrue(matcher.find(), golden.meta("description"));
        return Long.parseLong(matcher.group(1));
    }
}
