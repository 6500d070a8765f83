package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.internal.base.Philox;
import io.multihead.reference.ReferenceActivation;
import io.multihead.support.Golden;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.Stream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Elementwise layers are compared with PyTorch's vectors, with their specification, and with each other. */
class ActivationLayersTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};

    /** A layer, its function and derivative. */
    enum Kind {
        ERF(Gelu.erf(), ReferenceActivation::gelu, ReferenceActivation::geluSlope),
        TANH(Gelu.tanh(), ReferenceActivation::geluTanh, ReferenceActivation::geluTanhSlope),
        SILU(Silu.of(), ReferenceActivation::silu, ReferenceActivation::siluSlope),
        RELU(Relu.of(), x -> Math.max(x, 0), x -> x > 0 ? 1 : 0);

        private final Layer layer;
        private final DoubleUnaryOperator function;
        private final DoubleUnaryOperator slope;

        Kind(Layer layer, DoubleUnaryOperator function, DoubleUnaryOperator slope) {
            this.layer = layer;
            this.function = function;
            this.slope = slope;
        }
    }

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("layer/gelu_")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    boolean tanh = golden.meta("approximate").equals("tanh");
                    Trained.assertEqualsPyTorch(golden, tanh ? Gelu.tanh() : Gelu.erf());
                }));
    }

    /**
     * {@code ActivationOpsTest} measures the errors of the kernels: 7.5 ulp, at most 15 u, of the output and of the
     * derivative's parts, which are below 1.2. The product with dy rounds once more.
     */
    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(
            @ForAll Kind kind,
            @ForAll @IntRange(max = 5) int batch,
            @ForAll @IntRange(max = 3000) int tokens,
            @ForAll @IntRange(max = 40) int features,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int rows = features == 1 ? tokens : tokens / 40;
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage in = new Trained.Storage(arena, layout, TYPES[random.nextInt(TYPES.length)]);
            Trained.Storage out = new Trained.Storage(arena, results, TYPES[random.nextInt(TYPES.length)]);
            Tensor x = in.normal(random, 0, 3, batch, rows, features);
            Tensor dy = in.normal(random, 0, 1, batch, rows, features);
            Trained trained = Trained.run(SERIAL, kind.layer, x, dy, out, 0);
            trained.assertUntouchedOutside();
            double[] y = Arrays.stream(Numbers.of(x)).map(kind.function).toArray();
            double[] dx = Arrays.stream(Numbers.of(x)).map(kind.slope).toArray();
            double[] given = Numbers.of(dy);
            double[] dxBound = new double[dx.length];
            for (int i = 0; i < dx.length; i++) {
                dx[i] *= given[i];
                dxBound[i] = 17 * 0x1p-24 * 1.2 * Math.abs(given[i]) + 0x1p-120;
            }
            double[] yBound = Arrays.stream(y)
                    .map(v -> 15 * 0x1p-24 * Math.abs(v) + 0x1p-122)
                    .toArray();
            Trained.assertWithin(y, yBound, trained.y(), "y");
            Trained.assertWithin(dx, dxBound, trained.dx(), "dx");
            Trained.run(THREADS, kind.layer, x, dy, out, 0).assertSame(trained, "threads");
            Tensor inferred = out.allocate(x.shape());
            kind.layer.forward(THREADS, x, inferred);
            assertArrayEquals(Numbers.of(trained.y()), Numbers.of(inferred), "forward");
        }
    }

    /**
     * Every element is compared with the published generator, for any layout. Backward drops the same elements as
     * forward.
     */
    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void dropoutDrawsByPlaceAlone(
            @ForAll @IntRange(max = 130) int tokens,
            @ForAll @IntRange(max = 40) int features,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double rate = new double[] {0.1, 0.5, 0.9, 1}[random.nextInt(4)];
        Dropout layer = Dropout.of(rate);
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage in = new Trained.Storage(arena, layout, DType.F32);
            Trained.Storage out = new Trained.Storage(arena, results, TYPES[random.nextInt(TYPES.length)]);
            Tensor x = in.normal(random, 0, 1, 2, tokens, features);
            Tensor dy = in.normal(random, 0, 1, 2, tokens, features);
            Tensor y = out.allocate(x.shape());
            Tensor dx = out.allocate(x.shape());
            try (Pass pass = layer.record(THREADS, x, y, seed)) {
                pass.backward(dy, dx);
            }
            double[] factor = factors(rate, seed, (int) x.shape().elements());
            double[] bound = new double[factor.length];
            double[] values = Numbers.of(x);
            double[] slopes = Numbers.of(dy);
            for (int i = 0; i < factor.length; i++) {
                values[i] *= factor[i];
                slopes[i] *= factor[i];
                bound[i] = 0x1p-24 * Math.max(Math.abs(values[i]), Math.abs(slopes[i]));
            }
            Trained.assertWithin(values, bound, y, "y");
            Trained.assertWithin(slopes, bound, dx, "dx");
            assertTrue(Layout.untouchedOutside(y) && Layout.untouchedOutside(dx));
            Tensor again = Numbers.fill(out.allocate(x.shape()), () -> Double.NaN);
            layer.record(SERIAL, Numbers.copy(x, arena, Layout.DENSE, DType.F32), again, seed)
                    .close();
            assertArrayEquals(Numbers.of(y), Numbers.of(again), "threads and layout");
        }
    }

    private static double[] factors(double rate, long seed, int elements) {
        double[] factors = new double[elements];
        int[] words = new int[4];
        for (int i = 0; i < elements; i++) {
            Philox.draw(seed, i / 4, 0, words);
            boolean drops = Integer.toUnsignedLong(words[i % 4]) < Math.round(rate * 0x1p32);
            factors[i] = drops ? 0 : (float) (1 / (1 - rate));
        }
        return factors;
    }

    @Test
    void dropoutCopiesWhereItDropsNothing() {
        float[] x = {1f, -0f, Float.MIN_VALUE, Float.intBitsToFloat(0x7fc12345), Float.NEGATIVE_INFINITY};
        float[] y = new float[5];
        Dropout.of(0.7).forward(SERIAL, Tensor.of(x), Tensor.of(y));
        assertSameBits(x, y);
        Arrays.fill(y, 9f);
        float[] dx = new float[5];
        try (Pass pass = Dropout.of(0).record(SERIAL, Tensor.of(x), Tensor.of(y), 3)) {
            pass.backward(Tensor.of(x.clone()), Tensor.of(dx));
        }
        assertSameBits(x, y);
        assertSameBits(x, dx);
    }

    private static void assertSameBits(float[] expected, float[] actual) {
        for (int i = 0; i < expected.length; i++) {
            assertEquals(Float.floatToRawIntBits(expected[i]), Float.floatToRawIntBits(actual[i]));
        }
    }

    @Test
    void scalarsAndEmptyTensors() {
        Tensor x = Tensor.of(new float[] {2f}).select(0, 0);
        Tensor y = Tensor.of(new float[1]).select(0, 0);
        Relu.of().forward(SERIAL, x, y);
        assertEquals(2, y.get());
        Tensor none = Tensor.of(new float[0], 3, 0);
        try (Pass pass = Gelu.erf().record(SERIAL, none, Tensor.of(new float[0], 3, 0))) {
            pass.backward(Tensor.of(new float[0], 3, 0), null, Map.of());
        }
    }

    @Test
    void badInputIsNamedAndWritesNothing() {
        float[] memory = new float[6];
        Arrays.fill(memory, Float.NaN);
        Tensor x = Tensor.of(new float[6], 2, 3);
        Tensor to = Tensor.of(memory, 2, 3);
        for (Layer layer : new Layer[] {Gelu.erf(), Gelu.tanh(), Relu.of(), Dropout.of(0.5), Dropout.of(0)}) {
            assertEquals(Map.of(), layer.parameters());
            Named.message("y: shape [3, 2]; expected [2, 3]", () -> layer.forward(SERIAL, x, Tensor.of(memory, 3, 2)));
            Named.message("y: F32 [2, 3] overlaps x; expected separate memory", () -> layer.forward(SERIAL, to, to));
            Pass pass = layer.record(SERIAL, x, Tensor.of(new float[6], 2, 3));
            Named.message(
                    "inputGradient: shape [3, 2]; expected [2, 3]",
                    () -> pass.backward(Tensor.of(new float[6], 2, 3), Tensor.of(memory, 3, 2)));
            Named.message(
                    "inputGradient: F32 [2, 3] overlaps outputGradient; expected separate memory",
                    () -> pass.backward(to, to));
            pass.close();
            assertThrows(IllegalStateException.class, () -> pass.backward(Tensor.of(new float[6], 2, 3), to));
        }
        Named.message("rate: NaN; expected 0 to 1", () -> Dropout.of(Double.NaN));
        Named.message("rate: 1.5; expected 0 to 1", () -> Dropout.of(1.5));
        for (float element : memory) {
            assertTrue(Float.isNaN(element), "written");
        }
    }
}
