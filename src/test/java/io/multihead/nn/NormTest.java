package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.reference.ReferenceNorm;
import io.multihead.support.Golden;
import io.multihead.support.Layout;
import io.multihead.support.NormBounds;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Both normalizations are compared with PyTorch's vectors and their specification. Memory and threads of a call do not
 * change a bit.
 */
@Tag("lanes")
@net.jqwik.api.Tag("lanes")
class NormTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final DType[] TYPES = {DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16};
    private static final double START = 0.5;

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("layer/norm_")
                .map(name -> DynamicTest.dynamicTest(name, () -> {
                    Golden golden = Golden.open(name);
                    Tensor weight = golden.tensor("weight");
                    double epsilon = Double.parseDouble(golden.meta("eps"));
                    Trained.assertEqualsPyTorch(
                            golden, LayerNorm.of(weight.shape(), epsilon, weight, golden.tensor("bias")));
                }));
    }

    private record Case(Tensor x, Tensor dy, Tensor weight, Tensor bias, double epsilon, boolean centered) {
        Layer layer() {
            Shape normalized = Shape.of(Arrays.copyOfRange(x.shape().toArray(), 2, x.rank()));
            return centered ? LayerNorm.of(normalized, epsilon, weight, bias) : RmsNorm.of(normalized, epsilon, weight);
        }
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBound(
            @ForAll @IntRange(max = 50) int tokens,
            @ForAll @IntRange(min = 1, max = 100) int features,
            @ForAll Layout layout,
            @ForAll Layout results,
            @ForAll boolean centered,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage in = new Trained.Storage(arena, layout, TYPES[random.nextInt(TYPES.length)]);
            Trained.Storage out = new Trained.Storage(arena, results, TYPES[random.nextInt(TYPES.length)]);
            boolean two = random.nextBoolean();
            long[] row = two ? new long[] {3, features} : new long[] {features};
            long[] dims = two ? new long[] {2, tokens, 3, features} : new long[] {2, tokens, features};
            double mean = new double[] {0, 0, 1, 300}[random.nextInt(4)];
            Case c = new Case(
                    in.normal(random, mean, random.nextInt(4) == 0 ? 1e-3 : 1, dims),
                    in.normal(random, 0, 1, dims),
                    random.nextBoolean() ? in.normal(random, 1, 0.5, row) : null,
                    random.nextBoolean() && centered ? in.normal(random, 0, 1, row) : null,
                    random.nextBoolean() ? 1e-5 : 1e-2,
                    centered);
            Trained trained = Trained.run(SERIAL, c.layer(), c.x, c.dy, out, START);
            trained.assertUntouchedOutside();
            check(c, trained);
            Trained.run(THREADS, c.layer(), c.x, c.dy, out, START).assertSame(trained, "threads");
            Tensor dense = Numbers.copy(c.x, arena, Layout.DENSE, c.x.dtype());
            Trained.run(THREADS, c.layer(), dense, c.dy, out, START).assertSame(trained, "layout");
            Tensor inferred = out.allocate(c.x.shape());
            c.layer().forward(THREADS, c.x, inferred);
            assertArrayEquals(Numbers.of(trained.y()), Numbers.of(inferred), "forward");
        }
    }

    private static void check(Case c, Trained trained) {
        int length = (int) (c.x.shape().elements() / Math.max(1, c.x.dim(0) * c.x.dim(1)));
        if (c.x.shape().elements() == 0) {
            return;
        }
        double[] ones = new double[length];
        Arrays.fill(ones, 1);
        double[] weight = c.weight == null ? ones : Numbers.of(c.weight);
        double[] bias = c.bias == null ? new double[length] : Numbers.of(c.bias);
        double[] all = Numbers.of(c.x);
        double[] slopes = Numbers.of(c.dy);
        NormBounds sums = new NormBounds(length, all.length / length, START);
        double[] y = new double[all.length];
        double[] yBound = new double[all.length];
        double[] dx = new double[all.length];
        double[] dxBound = new double[all.length];
        for (int at = 0; at < all.length; at += length) {
            double[] x = Arrays.copyOfRange(all, at, at + length);
            double[] dy = Arrays.copyOfRange(slopes, at, at + length);
            NormBounds.Row row = new NormBounds.Row(x, c.epsilon, c.centered);
            System.arraycopy(ReferenceNorm.forward(x, weight, bias, c.epsilon, c.centered), 0, y, at, length);
            System.arraycopy(row.output(weight, bias), 0, yBound, at, length);
            System.arraycopy(ReferenceNorm.backward(x, weight, dy, c.epsilon, c.centered), 0, dx, at, length);
            System.arraycopy(row.inputGradient(weight, dy), 0, dxBound, at, length);
            sums.add(row, dy);
        }
        Trained.assertWithin(y, yBound, trained.y(), "y");
        Trained.assertWithin(dx, dxBound, trained.dx(), "dx");
        if (c.weight != null) {
            Trained.assertWithin(
                    sums.weight(), sums.weightBound(), trained.gradients().get("weight"), "dweight");
        }
        if (c.bias != null) {
            Trained.assertWithin(
                    sums.bias(), sums.biasBound(), trained.gradients().get("bias"), "dbias");
        }
    }

    /** There are more rows than a chain and a unit hold, so that the parameters' sums use all levels. */
    @Test
    void manyRowsSumInAFixedOrder() {
        SplittableRandom random = new SplittableRandom(3);
        try (Arena arena = Arena.ofShared()) {
            Trained.Storage storage = new Trained.Storage(arena, Layout.DENSE, DType.F32);
            Case c = new Case(
                    storage.normal(random, 0, 1, 2, 5003, 7),
                    storage.normal(random, 1, 1, 2, 5003, 7),
                    storage.normal(random, 1, 1, 7),
                    storage.normal(random, 1, 1, 7),
                    1e-5,
                    true);
            Trained trained = Trained.run(SERIAL, c.layer(), c.x, c.dy, storage, START);
            check(c, trained);
            Trained.run(THREADS, c.layer(), c.x, c.dy, storage, START).assertSame(trained, "threads");
        }
    }

    @Test
    void aLargeMeanCostsNoAccuracy() {
        float[] x = new float[64];
        for (int i = 0; i < x.length; i++) {
            x[i] = 1_000_000f + i % 2;
        }
        float[] y = new float[64];
        LayerNorm.of(Shape.of(64), 0, null, null).forward(SERIAL, Tensor.of(x), Tensor.of(y));
        for (int i = 0; i < x.length; i++) {
            assertEquals(i % 2 == 0 ? -1 : 1, y[i], 1e-6);
        }
    }

    @Test
    void aBadRowStaysAlone() {
        float[] x = {1f, 2f, 4f, Float.NaN, 1f, 2f, 3f, 3f, 3f};
        float[] y = new float[9];
        LayerNorm.of(Shape.of(3), 1e-5, null, null).forward(SERIAL, Tensor.of(x, 3, 3), Tensor.of(y, 3, 3));
        assertTrue(Float.isFinite(y[0]) && Float.isFinite(y[2]));
        assertTrue(Float.isNaN(y[3]) && Float.isNaN(y[4]) && Float.isNaN(y[5]));
        assertArrayEquals(new float[3], Arrays.copyOfRange(y, 6, 9));
    }

    @Test
    void badInputIsNamedAndWritesNothing() {
        Named.message(
                "normalized: []; expected one axis or more, and elements",
                () -> LayerNorm.of(Shape.of(), 1e-5, null, null));
        Named.message("epsilon: -1.0; expected a finite number of at least 0", () -> RmsNorm.of(Shape.of(3), -1, null));
        Tensor three = Tensor.of(new float[3]);
        Named.message("weight: shape [3]; expected [4]", () -> RmsNorm.of(Shape.of(4), 0, three));
        Named.message("bias: shape [3]; expected [2, 3]", () -> LayerNorm.of(Shape.of(2, 3), 0, null, three));
        Layer layer = LayerNorm.of(Shape.of(3), 1e-5, three, null);
        float[] memory = new float[6];
        Arrays.fill(memory, Float.NaN);
        Tensor to = Tensor.of(memory, 2, 3);
        Named.message(
                "x: shape [3, 2]; expected the last axes to be [3]",
                () -> layer.forward(SERIAL, Tensor.of(new float[6], 3, 2), to));
        Named.message("y: F32 [2, 3] overlaps x; expected separate memory", () -> layer.record(SERIAL, to, to));
        Pass pass = layer.record(SERIAL, Tensor.of(new float[6], 2, 3), Tensor.of(new float[6], 2, 3));
        Named.message(
                "gradient of weight: F32 [3] overlaps weight; expected separate memory",
                () -> pass.backward(Tensor.of(new float[6], 2, 3), to, Map.of("weight", three)));
        pass.close();
        assertThrows(IllegalStateException.class, () -> pass.backward(Tensor.of(new float[6], 2, 3), to, Map.of()));
        for (float element : memory) {
            assertTrue(Float.isNaN(element), "written");
        }
    }
}
