package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.reference.Tolerance;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/** The results of a layer for an input: output and all gradients. */
public record Trained(Tensor y, Tensor dx, Map<String, Tensor> gradients) {
    /** The largest error against PyTorch's vectors, relative to the largest expected magnitude. */
    private static final double GOLDEN = 1e-6;

    /** The storage of results. */
    public record Storage(Arena arena, Layout layout, DType dtype) {
        public Tensor allocate(Shape shape) {
            return Numbers.fill(layout.allocate(arena, dtype, shape.toArray()), () -> Double.NaN);
        }

        /** Returns normally distributed numbers, which are rounded to f32 and then to the element type. */
        public Tensor normal(SplittableRandom random, double mean, double sigma, long... dims) {
            return Numbers.fill(
                    layout.allocate(arena, dtype, dims), () -> (float) (mean + sigma * random.nextGaussian()));
        }
    }

    /** Runs forward and backward once, and returns the results. Gradients of parameters are {@code start} before. */
    public static Trained run(Compute cpu, Layer layer, Tensor x, Tensor dy, Storage storage, double start) {
        Tensor y = storage.allocate(layer.outputShape(x.shape()));
        Tensor dx = storage.allocate(x.shape());
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        layer.parameters()
                .forEach((name, tensor) ->
                        gradients.put(name, Numbers.fill(storage.allocate(tensor.shape()), () -> start)));
        try (Pass pass = layer.record(cpu, x, y, 7)) {
            pass.backward(dy, dx, gradients);
        }
        return new Trained(y, dx, gradients);
    }

    /** Fails unless the results have the same bits. */
    public void assertSame(Trained other, String what) {
        assertArrayEquals(Numbers.of(y), Numbers.of(other.y), what + ": y");
        assertArrayEquals(Numbers.of(dx), Numbers.of(other.dx), what + ": dx");
        gradients.forEach((name, tensor) ->
                assertArrayEquals(Numbers.of(tensor), Numbers.of(other.gradients.get(name)), what + ": " + name));
    }

    public void assertUntouchedOutside() {
        assertTrue(Layout.untouchedOutside(y), "bytes around y");
        assertTrue(Layout.untouchedOutside(dx), "bytes around dx");
        gradients.forEach((name, tensor) -> assertTrue(Layout.untouchedOutside(tensor), "bytes around " + name));
    }

    /** Compares a layer without dropout with one of PyTorch's vectors: both forms of forward, and every gradient. */
    public static void assertEqualsPyTorch(Golden golden, Layer layer) {
        Tensor x = golden.tensor("x");
        Storage storage = new Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);
        Trained trained = run(Compute.serial(), layer, x, golden.tensor("grad_out"), storage, 0);
        Tensor inferred = storage.allocate(layer.outputShape(x.shape()));
        layer.forward(Compute.serial(), x, inferred);
        assertClose(golden, "expected.out", inferred);
        assertClose(golden, "expected.out", trained.y);
        assertClose(golden, "expected.grad.x", trained.dx);
        trained.gradients.forEach((name, tensor) -> assertClose(golden, "expected.grad." + name, tensor));
    }

    private static void assertClose(Golden golden, String name, Tensor actual) {
        double[] expected = Numbers.of(golden.tensor(name));
        double[] values = Numbers.of(actual);
        double scale = 0;
        for (double value : expected) {
            scale = Math.max(scale, Math.abs(value));
        }
        assertEquals(golden.tensor(name).shape(), actual.shape());
        for (int i = 0; i < expected.length; i++) {
            double error = Math.abs(values[i] - expected[i]);
            assertTrue(error <= GOLDEN * scale, golden.meta("case") + " " + name + " " + i + ": " + error);
        }
    }

    /** Fails unless the error of every element is at most its bound plus the rounding of its storage. */
    public static void assertWithin(double[] expected, double[] bound, Tensor actual, String what) {
        double ratio = Tolerance.ratio(Numbers.of(actual), expected, bound, actual.dtype());
        assertTrue(ratio <= 1, what + ": R = " + ratio);
    }
}
