package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.Tolerance;
import io.multihead.support.Golden;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.TestTensors;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The linear layer is compared with PyTorch's vectors and its specification. Memory and threads of a call do not change
 * a bit.
 */
class LinearTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("layer/linear_")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    Trained.assertEqualsPyTorch(golden, Linear.of(golden.tensor("weight"), golden.find("bias")));
                }));
    }

    /** Every output and gradient is one product. {@link Tolerance#gemm} derives the bound of its error. */
    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(
            @ForAll @IntRange(max = 40) int tokens,
            @ForAll @IntRange(min = 1, max = 70) int inputs,
            @ForAll @IntRange(max = 70) int outputs,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        DType[] types = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage in = new Trained.Storage(arena, layout, types[random.nextInt(types.length)]);
            Trained.Storage out = new Trained.Storage(arena, results, types[random.nextInt(types.length)]);
            Tensor x = in.normal(random, 0, 1, 3, tokens, inputs);
            Tensor weight = in.normal(random, 0, 1, outputs, inputs);
            Tensor bias = random.nextBoolean() ? in.normal(random, 0, 1, outputs) : null;
            Tensor dy = in.normal(random, 0, 1, 3, tokens, outputs);
            Linear layer = Linear.of(weight, bias);
            double start = 0.5;
            Trained trained = Trained.run(SERIAL, layer, x, dy, out, start);
            trained.assertUntouchedOutside();
            check(new Case(x, weight, bias, dy), trained, start);

            Tensor inferred = out.allocate(trained.y().shape());
            layer.forward(THREADS, x, inferred);
            assertArrayEquals(Numbers.of(trained.y()), Numbers.of(inferred), "packed weights");
            Trained.run(THREADS, layer, x, dy, out, start).assertSame(trained, "threads");
            Tensor dense = Numbers.copy(x, arena, Layout.DENSE, x.dtype());
            Trained.run(SERIAL, layer, dense, Numbers.copy(dy, arena, Layout.DENSE, dy.dtype()), out, start)
                    .assertSame(trained, "layout");
        }
    }

    private record Case(Tensor x, Tensor weight, Tensor bias, Tensor dy) {}

    private static void check(Case c, Trained trained, double start) {
        int outputs = (int) c.weight.dim(0);
        int inputs = (int) c.weight.dim(1);
        int rows = (int) (c.x.dim(0) * c.x.dim(1));
        double[] x = Numbers.of(c.x);
        double[] weight = Numbers.of(c.weight);
        double[] bias = c.bias == null ? null : Numbers.of(c.bias);
        double[] dy = Numbers.of(c.dy);
        double[] sizes = ReferenceLinear.forward(absolute(x), absolute(weight), null, outputs, inputs);
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = Tolerance.gemm(inputs, sizes[i], bias == null ? 0 : Math.abs(bias[i % outputs]));
        }
        Trained.assertWithin(ReferenceLinear.forward(x, weight, bias, outputs, inputs), sizes, trained.y(), "y");
        ReferenceLinear.Gradients exact = ReferenceLinear.backward(x, weight, dy, outputs, inputs);
        ReferenceLinear.Gradients size =
                ReferenceLinear.backward(absolute(x), absolute(weight), absolute(dy), outputs, inputs);
        Trained.assertWithin(exact.x(), bounds(size.x(), outputs, 0), trained.dx(), "dx");
        added(exact.weight(), size.weight(), rows, start, trained.gradients().get("weight"));
        if (bias != null) {
            added(exact.bias(), size.bias(), rows, start, trained.gradients().get("bias"));
        }
    }

    private static void added(double[] exact, double[] size, int rows, double start, Tensor actual) {
        double[] expected = Arrays.stream(exact).map(g -> g + start).toArray();
        Trained.assertWithin(expected, bounds(size, rows, start), actual, "gradient " + actual.shape());
    }

    private static double[] bounds(double[] size, int depth, double rest) {
        return Arrays.stream(size).map(s -> Tolerance.gemm(depth, s, rest)).toArray();
    }

    private static double[] absolute(double[] values) {
        return Arrays.stream(values).map(Math::abs).toArray();
    }

    @Test
    void changedParametersAreSeenWhenTold() {
        float[] w = {2f};
        Linear layer = Linear.of(Tensor.of(w, 1, 1), null);
        float[] y = new float[1];
        layer.forward(SERIAL, Tensor.of(new float[] {3f}), Tensor.of(y));
        assertEquals(6f, y[0]);
        w[0] = 5f;
        layer.parametersChanged();
        layer.forward(SERIAL, Tensor.of(new float[] {3f}), Tensor.of(y));
        assertEquals(15f, y[0]);
    }

    /** A layer multiplies packed weights of a file without a copy. */
    @Test
    void packedWeightsOfAnyFormatAreMultiplied() {
        Random random = new Random(3);
        Tensor matrix = TestTensors.random(random, 256, 5);
        Tensor bias = TestTensors.random(random, 5);
        Tensor x = TestTensors.random(random, 2, 3, 256);
        for (WeightFormat format : WeightFormat.values()) {
            PackedWeights packed = PackedWeights.ofInputRows(Arena.ofAuto(), matrix, format);
            Linear layer = Linear.of(packed, bias);
            Tensor expected = Tensor.of(new float[30], 6, 5);
            Gemm.multiply(SERIAL, x.reshape(6, 256), packed, expected, GemmOptions.DEFAULT.withBias(bias));
            Tensor y = Tensor.of(new float[30], 2, 3, 5);
            layer.forward(SERIAL, x, y);
            layer.parametersChanged();
            layer.forward(SERIAL, x, y);
            assertArrayEquals(expected.toArray(), y.toArray());
            assertEquals(List.of("bias"), List.copyOf(layer.parameters().keySet()));
        }
        PackedWeights packed = PackedWeights.ofInputRows(matrix);
        assertEquals(
                "bias: shape [6]; expected [5], as weights of 5 outputs",
                assertThrows(IllegalArgumentException.class, () -> Linear.of(packed, TestTensors.random(random, 6)))
                        .getMessage());
    }

    /**
     * The gradient of the input is within the bound of a product with the panels' elements. The gradient of the bias does
     * not depend on the format.
     */
    @Test
    void frozenWeightsOfAnyFormatHaveGradientsOfInputs() {
        SplittableRandom random = new SplittableRandom(5);
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage dense = new Trained.Storage(arena, Layout.DENSE, DType.F32);
            Tensor x = dense.normal(random, 0, 1, 3, 7, 256);
            Tensor dy = dense.normal(random, 0, 1, 3, 7, 37);
            Tensor bias = dense.normal(random, 0, 1, 37);
            Tensor matrix = dense.normal(random, 0, 1, 256, 37);
            for (WeightFormat format : WeightFormat.values()) {
                PackedWeights packed = PackedWeights.ofInputRows(arena, matrix, format);
                Linear layer = Linear.of(packed, bias);
                Tensor weight = packed.unpack(arena).transpose(0, 1).copy(arena, DType.F32);
                Trained frozen = Trained.run(SERIAL, layer, x, dy, dense, 0.5);
                assertEquals(Set.of("bias"), frozen.gradients().keySet());
                double[] elements = Numbers.of(weight);
                ReferenceLinear.Gradients exact =
                        ReferenceLinear.backward(Numbers.of(x), elements, Numbers.of(dy), 37, 256);
                ReferenceLinear.Gradients size = ReferenceLinear.backward(
                        absolute(Numbers.of(x)), absolute(elements), absolute(Numbers.of(dy)), 37, 256);
                Trained.assertWithin(exact.x(), bounds(size.x(), 37, 0), frozen.dx(), format + " dx");
                added(exact.bias(), size.bias(), 21, 0.5, frozen.gradients().get("bias"));
                Trained.run(THREADS, layer, x, dy, dense, 0.5).assertSame(frozen, "threads");
                Tensor inferred = dense.allocate(frozen.y().shape());
                layer.forward(SERIAL, x, inferred);
                assertArrayEquals(Numbers.of(inferred), Numbers.of(frozen.y()));
                assertArrayEquals(
                        Numbers.of(Trained.run(SERIAL, Linear.of(weight, bias), x, dy, dense, 0.5)
                                .dx()),
                        Numbers.of(frozen.dx()));
            }
        }
    }

    @Test
    void gradientsAddUpAndUnwantedOnesAreLeftOut() {
        Linear layer = Linear.of(Tensor.of(new float[] {2f, 3f}, 1, 2), Tensor.of(new float[] {1f}));
        Tensor y = Tensor.of(new float[1]);
        try (Arena arena = Arena.ofConfined();
                Pass pass = layer.record(SERIAL, Tensor.of(new float[] {5f, 7f}), y)) {
            Map<String, Tensor> gradients = Gradients.zeros(arena, layer);
            assertEquals(List.of("weight", "bias"), List.copyOf(gradients.keySet()));
            Tensor dy = Tensor.of(new float[] {10f});
            pass.backward(dy, null, gradients);
            pass.backward(dy, null, gradients);
            assertArrayEquals(new float[] {100f, 140f}, gradients.get("weight").toArray());
            assertArrayEquals(new float[] {20f}, gradients.get("bias").toArray());
            pass.backward(dy, null, Map.of("bias", gradients.get("bias"), "other", dy));
            assertArrayEquals(new float[] {30f}, gradients.get("bias").toArray());
            assertArrayEquals(new float[] {100f, 140f}, gradients.get("weight").toArray());
            Tensor dx = Tensor.of(new float[2]);
            pass.backward(dy, dx);
            assertArrayEquals(new float[] {20f, 30f}, dx.toArray());
        }
    }

    @Test
    void partsOfAMapOfGradients() {
        Tensor a = Tensor.of(new float[1]);
        Tensor b = Tensor.of(new float[1]);
        Map<String, Tensor> all = Map.of("linear1.weight", a, "linear2.weight", b, "linear1weight", b);
        assertEquals(Map.of("weight", a), Gradients.under("linear1.", all));
    }

    @Test
    void badInputIsNamedAndWritesNothing() {
        Tensor weight = Tensor.of(new float[6], 2, 3);
        Named.message("weight: shape [6]; expected [outputs, inputs]", () -> Linear.of(Tensor.of(new float[6]), null));
        Named.message(
                "bias: shape [3]; expected [2], as weight [2, 3]", () -> Linear.of(weight, Tensor.of(new float[3])));
        Linear layer = Linear.of(weight, null);
        Tensor x = Tensor.of(new float[12], 4, 3);
        float[] memory = new float[12];
        Arrays.fill(memory, Float.NaN);
        Tensor y = Tensor.of(memory, 4, 2);
        Named.message("x: shape [4, 2]; expected [..., 3]", () -> layer.forward(SERIAL, y, y));
        Named.message("y: shape [4, 3]; expected [4, 2]", () -> layer.record(SERIAL, x, Tensor.of(memory, 4, 3)));
        Named.message(
                "y: F32 [4, 2] overlaps x; expected separate memory",
                () -> layer.forward(SERIAL, Tensor.of(memory, 4, 3), y));
        Pass pass = layer.record(SERIAL, x, Tensor.of(new float[8], 4, 2));
        Tensor dy = Tensor.of(new float[8], 4, 2);
        Named.message(
                "outputGradient: shape [4, 3]; expected [4, 2]",
                () -> pass.backward(x, Tensor.of(memory, 4, 3), Map.of()));
        Named.message(
                "gradient of weight: shape [3, 2]; expected [2, 3]",
                () -> pass.backward(dy, Tensor.of(memory, 4, 3), Map.of("weight", Tensor.of(new float[6], 3, 2))));
        Named.message(
                "gradient of weight: F32 [2, 3] overlaps inputGradient; expected separate memory",
                () -> pass.backward(dy, Tensor.of(memory, 4, 3), Map.of("weight", Tensor.of(memory, 2, 3))));
        pass.close();
        pass.close();
        assertThrows(IllegalStateException.class, () -> pass.backward(dy, Tensor.of(memory, 4, 3)));
        for (float element : memory) {
            assertEquals(Float.NaN, element);
        }
    }
}
