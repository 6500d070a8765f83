package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceLinear;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Outputs and gradients of the gated linear unit and of the network with a gate are compared with their formulas in
 * double.
 */
class GatedLinearTest {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final double U = 0x1p-24;

    /** The functions of a gate. */
    enum Kind {
        SILU(Activation.SILU),
        GELU(Activation.GELU),
        RELU(Activation.RELU);

        final Activation activation;

        Kind(Activation activation) {
            this.activation = activation;
        }

        double value(double x) {
            return switch (this) {
                case SILU -> ReferenceActivation.silu(x);
                case GELU -> ReferenceActivation.gelu(x);
                case RELU -> Math.max(x, 0);
            };
        }

        double slope(double x) {
            return switch (this) {
                case SILU -> ReferenceActivation.siluSlope(x);
                case GELU -> ReferenceActivation.geluSlope(x);
                case RELU -> x > 0 ? 1 : 0;
            };
        }

        Layer layer() {
            return switch (this) {
                case SILU -> Silu.of();
                case GELU -> Gelu.erf();
                case RELU -> Relu.of();
            };
        }
    }

    /**
     * Values have the same sign, so that no cancellation hides a wrong term. The error of each sum is then the error of
     * its roundings.
     */
    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void outputsAndGradientsAreThoseOfTheFormula(
            @ForAll Kind kind,
            @ForAll @IntRange(min = 1, max = 40) int rows,
            @ForAll @IntRange(min = 1, max = 40) int inputs,
            @ForAll @IntRange(min = 1, max = 50) int outputs,
            @ForAll long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Trained.Storage storage = new Trained.Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);
        Tensor x = positive(storage, random, rows, inputs);
        Tensor dy = positive(storage, random, rows, outputs);
        Tensor gate = positive(storage, random, outputs, inputs);
        Tensor up = positive(storage, random, outputs, inputs);
        Tensor bias = positive(storage, random, outputs);
        GatedLinear layer = GatedLinear.of(Linear.of(gate, bias), kind.layer(), Linear.of(up, null));
        Trained trained = Trained.run(SERIAL, layer, x, dy, storage, 0);
        Trained.run(THREADS, layer, x, dy, storage, 0).assertSame(trained, "threads");
        double[] g = ReferenceLinear.forward(Numbers.of(x), Numbers.of(gate), Numbers.of(bias), outputs, inputs);
        double[] u = ReferenceLinear.forward(Numbers.of(x), Numbers.of(up), null, outputs, inputs);
        double[] y = new double[u.length];
        double[] dg = new double[u.length];
        double[] du = new double[u.length];
        double[] given = Numbers.of(dy);
        for (int i = 0; i < y.length; i++) {
            y[i] = kind.value(g[i]) * u[i];
            dg[i] = given[i] * u[i] * kind.slope(g[i]);
            du[i] = given[i] * kind.value(g[i]);
        }
        ReferenceLinear.Gradients gates =
                ReferenceLinear.backward(Numbers.of(x), Numbers.of(gate), dg, outputs, inputs);
        ReferenceLinear.Gradients ups = ReferenceLinear.backward(Numbers.of(x), Numbers.of(up), du, outputs, inputs);
        double[] dx = gates.x();
        for (int i = 0; i < dx.length; i++) {
            dx[i] += ups.x()[i];
        }
        assertNear(y, trained.y(), "y");
        assertNear(dx, trained.dx(), "dx");
        assertNear(gates.weight(), trained.gradients().get("gate_proj.weight"), "gate");
        assertNear(gates.bias(), trained.gradients().get("gate_proj.bias"), "bias");
        assertNear(ups.weight(), trained.gradients().get("up_proj.weight"), "up");
        Tensor inferred = storage.allocate(trained.y().shape());
        layer.forward(THREADS, x, inferred);
        assertNear(y, inferred, "forward");
    }

    private static Tensor positive(Trained.Storage storage, SplittableRandom random, long... dims) {
        Tensor tensor = storage.allocate(Shape.of(dims));
        return Numbers.fill(tensor, () -> (float) random.nextDouble(0.05, 0.5));
    }

    /**
     * Two sums of up to 50 products of the same sign, a function and a slope with errors of 15 u and less than 2 times
     * the argument's error, and some products: 2 (50 + 1) + 2 * 2 * 50 + 30 + 10 roundings.
     */
    private static void assertNear(double[] expected, Tensor actual, String what) {
        double[] values = Numbers.of(actual);
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], values[i], 342 * U * Math.abs(expected[i]), what + " " + i);
        }
    }

    @Test
    void aNetworkWithAGateHasItsParametersByName() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        Trained.Storage storage = new Trained.Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);
        SplittableRandom random = new SplittableRandom(1);
        parameters.put("gate_proj.weight", positive(storage, random, 5, 3));
        parameters.put("up_proj.weight", positive(storage, random, 5, 3));
        parameters.put("down_proj.weight", positive(storage, random, 3, 5));
        FeedForward network = FeedForward.gated(3, 5, Activation.SILU, 0, parameters::get);
        assertEquals(parameters, network.parameters());
        Tensor x = positive(storage, random, 2, 3);
        Tensor y = storage.allocate(x.shape());
        network.forward(SERIAL, x, y);
        double[] in = Numbers.of(x);
        double[] gate = ReferenceLinear.forward(in, Numbers.of(parameters.get("gate_proj.weight")), null, 5, 3);
        double[] up = ReferenceLinear.forward(in, Numbers.of(parameters.get("up_proj.weight")), null, 5, 3);
        for (int i = 0; i < up.length; i++) {
            up[i] *= ReferenceActivation.silu(gate[i]);
        }
        assertNear(ReferenceLinear.forward(up, Numbers.of(parameters.get("down_proj.weight")), null, 3, 5), y, "y");
        parameters.remove("up_proj.weight");
        assertThrows(
                IllegalArgumentException.class, () -> FeedForward.gated(3, 5, Activation.SILU, 0, parameters::get));
    }

    @Test
    void layersThatDifferAreRefused() {
        Arena arena = Arena.ofAuto();
        Linear one = Linear.initialize(arena, 3, 4, 1);
        Linear other = Linear.initialize(arena, 3, 5, 1);
        assertEquals(
                "up: weight [5, 3]; expected [4, 3], as in gate",
                assertThrows(IllegalArgumentException.class, () -> GatedLinear.of(one, Silu.of(), other))
                        .getMessage());
        assertThrows(IllegalArgumentException.class, () -> GatedLinear.of(one, one, one));
    }

    /**
     * Packed weights are not parameters. Layers without a bias have no parameters, and biases alone do not determine
     * the number of inputs.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void packedLayersAreGatedToo(boolean hasBias) {
        SplittableRandom random = new SplittableRandom(3);
        Trained.Storage storage = new Trained.Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);
        Tensor bias = hasBias ? positive(storage, random, 5) : null;
        Tensor first = positive(storage, random, 5, 3);
        Tensor second = positive(storage, random, 5, 3);
        Tensor x = positive(storage, random, 2, 3);
        Tensor expected = storage.allocate(Shape.of(2, 5));
        Tensor actual = storage.allocate(Shape.of(2, 5));
        GatedLinear.of(Linear.of(first, bias), Silu.of(), Linear.of(second, bias))
                .forward(SERIAL, x, expected);
        Linear packed = Linear.of(PackedWeights.ofOutputRows(first), bias);
        GatedLinear.of(packed, Silu.of(), Linear.of(PackedWeights.ofOutputRows(second), bias))
                .forward(SERIAL, x, actual);
        assertArrayEquals(expected.toArray(), actual.toArray());
        Linear moreInputs = Linear.of(PackedWeights.ofOutputRows(positive(storage, random, 5, 4)), bias);
        assertEquals(
                "up: weight [5, 4]; expected [5, 3], as in gate",
                assertThrows(IllegalArgumentException.class, () -> GatedLinear.of(packed, Silu.of(), moreInputs))
                        .getMessage());
    }
}
