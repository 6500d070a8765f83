package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.reference.ReferenceBlockGemm;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.Tolerance;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.TestTensors;
import io.multihead.support.Trained;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A frozen layer with an adapter is compared with loops in double over the elements of its panels. */
@Tag("lanes")
class LoraLinearTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final double U = 0x1p-24;
    private static final int IN = 64;
    private static final int OUT = 33;
    private static final int RANK = 3;
    private static final int ROWS = 14;
    private static final double SCALE = 0.5;

    /** A product of matrices, the sizes of its terms, and the error bound of each element. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Bounded(double[] values, double[] sizes, double[] errors) {
        static Bounded exact(double[] values) {
            return new Bounded(values, absolute(values), new double[values.length]);
        }

        /**
         * Multiplies rows by a matrix [outputs, inputs] that is exact. The errors of x propagate, and the library's
         * product adds roundings.
         */
        static Bounded product(Bounded x, double[] matrix, int outputs, int inputs) {
            double[] values = ReferenceLinear.forward(x.values, matrix, null, outputs, inputs);
            double[] sizes = ReferenceLinear.forward(x.sizes, absolute(matrix), null, outputs, inputs);
            double[] errors = ReferenceLinear.forward(x.errors, absolute(matrix), null, outputs, inputs);
            for (int i = 0; i < errors.length; i++) {
                // the operands have errors, which may make their sizes larger
                errors[i] += Tolerance.gemm(inputs, sizes[i] + errors[i], 0);
            }
            return new Bounded(values, sizes, errors);
        }

        /** Multiplies by a power of two, which rounds nothing. */
        Bounded times(double factor) {
            return new Bounded(
                    Arrays.stream(values).map(v -> v * factor).toArray(),
                    Arrays.stream(sizes).map(v -> v * factor).toArray(),
                    Arrays.stream(errors).map(v -> v * factor).toArray());
        }

        Bounded plus(Bounded other) {
            double[] sum = new double[values.length];
            double[] all = new double[values.length];
            double[] bounds = new double[values.length];
            for (int i = 0; i < sum.length; i++) {
                sum[i] = values[i] + other.values[i];
                all[i] = sizes[i] + other.sizes[i];
                bounds[i] = errors[i] + other.errors[i] + U * (all[i] + errors[i] + other.errors[i]);
            }
            return new Bounded(sum, all, bounds);
        }

        void assertWithin(Tensor actual, String what) {
            Trained.assertWithin(values, errors, actual, what);
        }
    }

    private static double[] absolute(double[] values) {
        return Arrays.stream(values).map(Math::abs).toArray();
    }

    private static double[] transposed(double[] matrix, int rows, int columns) {
        double[] other = new double[matrix.length];
        for (int i = 0; i < matrix.length; i++) {
            other[i % columns * rows + i / columns] = matrix[i];
        }
        return other;
    }

    private static Bounded transposed(Bounded matrix, int rows, int columns) {
        return new Bounded(
                transposed(matrix.values, rows, columns),
                transposed(matrix.sizes, rows, columns),
                transposed(matrix.errors, rows, columns));
    }

    @ParameterizedTest
    @EnumSource(
            value = WeightFormat.class,
            names = {"F32", "BF16", "Q8_0", "Q4_0"})
    void sumsAndGradientsAreThoseOfTheDefinition(WeightFormat format) {
        SplittableRandom random = new SplittableRandom(3);
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage dense = new Trained.Storage(arena, Layout.DENSE, DType.F32);
            Tensor x = dense.normal(random, 0.2, 1, 2, ROWS / 2, IN);
            Tensor dy = dense.normal(random, 0.2, 1, 2, ROWS / 2, OUT);
            Tensor a = dense.normal(random, 0, 1, RANK, IN);
            Tensor b = dense.normal(random, 0, 1, OUT, RANK);
            Tensor weight = dense.normal(random, 0.1, 1, OUT, IN);
            BlockTensor blocks = format.blockInputs() == 1
                    ? null
                    : BlockTensor.quantize(arena, weight, BlockType.valueOf(format.name()));
            PackedWeights packed = blocks == null
                    ? PackedWeights.ofOutputRows(arena, weight, format)
                    : PackedWeights.ofOutputRows(arena, blocks);
            LoraLinear layer = LoraLinear.of(Linear.of(packed, null), a, b, SCALE);
            assertEquals(
                    Set.of("lora_A.weight", "lora_B.weight"), layer.parameters().keySet());
            Trained trained = Trained.run(SERIAL, layer, x, dy, dense, 0);
            Trained.run(THREADS, layer, x, dy, dense, 0).assertSame(trained, "threads");
            Tensor inferred = dense.allocate(trained.y().shape());
            layer.forward(THREADS, x, inferred);
            assertArrayEquals(Numbers.of(trained.y()), Numbers.of(inferred));

            double[] w = Numbers.of(packed.unpack(arena)); // [inputs, outputs]
            double[] ofA = Numbers.of(a);
            double[] ofB = Numbers.of(b);
            Bounded input = Bounded.exact(Numbers.of(x));
            Bounded upstream = Bounded.exact(Numbers.of(dy));
            Bounded low = Bounded.product(input, ofA, RANK, IN).times(SCALE);
            Bounded own = Bounded.product(input, transposed(w, IN, OUT), OUT, IN);
            if (blocks != null) {
                double[] errors =
                        ReferenceBlockGemm.multiply(x.reshape(ROWS, IN), blocks).errorScale();
                own = new Bounded(own.values, own.sizes, errors);
            }
            own.plus(Bounded.product(low, ofB, OUT, RANK)).assertWithin(trained.y(), "y");
            Bounded back = Bounded.product(upstream, transposed(ofB, OUT, RANK), RANK, OUT)
                    .times(SCALE);
            Bounded.product(upstream, w, IN, OUT)
                    .plus(Bounded.product(back, transposed(ofA, RANK, IN), IN, RANK))
                    .assertWithin(trained.dx(), "dx");
            // dA = back^T x, dB = dy^T low, as rows of matrices [.., ROWS]
            Bounded.product(transposed(back, ROWS, RANK), transposed(Numbers.of(x), ROWS, IN), IN, ROWS)
                    .assertWithin(trained.gradients().get("lora_A.weight"), "A");
            Bounded ofLow = transposed(low, ROWS, RANK);
            transposed(Bounded.product(ofLow, transposed(Numbers.of(dy), ROWS, OUT), OUT, ROWS), RANK, OUT)
                    .assertWithin(trained.gradients().get("lora_B.weight"), "B");
        }
    }

    @Test
    void anAdapterOfZerosChangesNothingAndABiasStays() {
        Random random = new Random(1);
        Tensor x = TestTensors.random(random, 4, 6);
        Linear base = Linear.of(TestTensors.random(random, 5, 6), TestTensors.random(random, 5));
        LoraLinear layer = LoraLinear.of(base, TestTensors.random(random, 2, 6), Tensor.of(new float[10], 5, 2), 3);
        Tensor expected = Tensor.of(new float[20], 4, 5);
        Tensor actual = Tensor.of(new float[20], 4, 5);
        base.forward(SERIAL, x, expected);
        layer.forward(SERIAL, x, actual);
        assertArrayEquals(expected.toArray(), actual.toArray());
        assertEquals(
                Set.of("base_layer.weight", "base_layer.bias", "lora_A.weight", "lora_B.weight"),
                layer.parameters().keySet());
    }

    @Test
    void whatDoesNotFitIsRefused() {
        Random random = new Random(1);
        Linear base = Linear.of(TestTensors.random(random, 5, 6), null);
        Tensor a = TestTensors.random(random, 2, 6);
        Tensor b = TestTensors.random(random, 5, 2);
        refuses("a: shape [2, 7]; expected [2, 6]", () -> LoraLinear.of(base, TestTensors.random(random, 2, 7), b, 1));
        refuses("b: shape [5, 3]; expected [5, 2]", () -> LoraLinear.of(base, a, TestTensors.random(random, 5, 3), 1));
        refuses("scale: 1.0E300; expected a finite f32", () -> LoraLinear.of(base, a, b, 1e300));
    }

    private static void refuses(String message, org.junit.jupiter.api.function.Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
