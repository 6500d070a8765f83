package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.nn.Gradients;
import io.multihead.nn.Pass;
import io.multihead.support.LayerCase;
import io.multihead.support.LayerCase.Masks;
import io.multihead.support.LayerCase.Sizes;
import io.multihead.support.LayerCase.Switches;
import io.multihead.support.NaiveLayer;
import io.multihead.support.PyTorchMasks;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleSupplier;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;

/** Gradients of the layer with all its options are compared with differences of its definition in f64. */
class MultiHeadGradientTest {
    private static final Compute CPU = Compute.serial();

    @Provide
    Arbitrary<Sizes> sizes() {
        return new MultiHeadAttentionProperties().sizes();
    }

    @Provide
    Arbitrary<Switches> switches() {
        Arbitrary<Boolean> flag = Arbitraries.of(false, true);
        return Combinators.combine(flag, flag, flag, flag, flag, flag, flag, Arbitraries.just(DType.F64))
                .as(Switches::new);
    }

    @Provide
    Arbitrary<Masks> masks() {
        return new MultiHeadAttentionProperties().masks();
    }

    @Property(tries = 250)
    void equalDifferencesOfTheDefinition(
            @ForAll("sizes") Sizes sizes,
            @ForAll("switches") Switches switches,
            @ForAll("masks") Masks masks,
            @ForAll @IntRange(max = 3) int weights,
            @ForAll long seed) {
        LayerCase tried = new LayerCase(sizes, switches, masks, seed);
        Map<String, Tensor> parameters = widened(tried.parameters);
        MultiHeadAttention layer = MultiHeadAttention.of(tried.config, parameters::get);
        Random random = new Random(seed);
        Tensor output = like(
                tried.inputs.query(),
                layer.outputShape(tried.inputs.query().shape()).toArray());
        Tensor upstream = fill(like(output, output.shape().toArray()), random::nextGaussian);
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> gradients.put(name, zeros(tensor)));
        MultiHeadGradients inputs = switches.self()
                ? MultiHeadGradients.of(zeros(tried.inputs.query()))
                : MultiHeadGradients.of(
                        zeros(tried.inputs.query()), zeros(tried.inputs.key()), zeros(tried.inputs.value()));
        if (tried.scores != null && tried.scores.dtype().isFloating()) {
            inputs = inputs.withScoreBias(PyTorchMasks.perHead(zeros(tried.scores), tried.config.queryHeads()));
        }
        MultiHeadOutputs outputs = withWeights(tried, MultiHeadOutputs.of(output), weights, () -> 0);
        MultiHeadOutputs given = withWeights(tried, MultiHeadOutputs.of(upstream), weights, random::nextGaussian);
        try (MultiHeadPass pass = layer.record(CPU, tried.inputs, outputs, 0)) {
            pass.backward(given, inputs, gradients);
        }
        DoubleSupplier loss = () -> loss(tried, parameters, given);
        double lossSize = size(given.output(), output)
                + size(given.averageWeights(), outputs.averageWeights())
                + size(given.headWeights(), outputs.headWeights());
        for (Map.Entry<String, Tensor> parameter : parameters.entrySet()) {
            Tensor gradient = gradients.get(parameter.getKey());
            check(parameter.getKey(), parameter.getValue(), gradient, loss, lossSize, random);
        }
        check("query", tried.inputs.query(), inputs.query(), loss, lossSize, random);
        if (!switches.self()) {
            check("key", tried.inputs.key(), inputs.key(), loss, lossSize, random);
            check("value", tried.inputs.value(), inputs.value(), loss, lossSize, random);
        }
    }

    /** Adds averaged weights (kind 1), the weights of every head (kind 2), or both (kind 3). */
    private static MultiHeadOutputs withWeights(LayerCase tried, MultiHeadOutputs to, int kind, DoubleSupplier source) {
        Sizes sizes = tried.sizes;
        long keys = tried.allKeys();
        DType dtype = kind == 3 ? DType.BF16 : DType.F32;
        Tensor average = TestTensors.zeros(DType.F32, sizes.batch(), sizes.queries(), keys);
        Tensor perHead = TestTensors.zeros(dtype, sizes.batch(), tried.config.queryHeads(), sizes.queries(), keys);
        return to.withAverageWeights((kind & 1) == 0 ? null : fill(average, source))
                .withHeadWeights((kind & 2) == 0 ? null : fill(perHead, source));
    }

    private static double size(@Nullable Tensor gradient, @Nullable Tensor of) {
        double sum = 0;
        for (long[] place : gradient == null ? List.<long[]>of() : places(gradient)) {
            sum += Math.abs(gradient.get(place) * of.get(place));
        }
        return sum;
    }

    /** With one visible key, the gradients of scores are 0 except for roundings. */
    @Example
    void roundingsOfWhatCancelsAreAllowed() {
        equalDifferencesOfTheDefinition(
                new Sizes(3, 4, 2, 2, 1, 2, 6, 18),
                new Switches(false, false, false, false, false, true, false, DType.F64),
                new Masks(LayerCase.Padding.DROP_SHARED, LayerCase.Scores.NONE, LayerCase.Causal.NONE),
                0,
                5);
    }

    /**
     * Compares gradients along a random direction. Fourth-order differences with h = 1e-3 are exact to about 1e-10. f32
     * arithmetic with four multiplications of up to 20 addends and a softmax has an error of less than 100 roundings of
     * the sum of absolute addends, including the loss. If gradients cancel, as with one visible key, the roundings of
     * the canceled terms remain.
     */
    static void check(
            String name, Tensor varied, Tensor gradient, DoubleSupplier loss, double lossSize, Random random) {
        if (varied.shape().elements() == 0) {
            return;
        }
        List<long[]> places = places(varied);
        double[] held = new double[places.size()];
        double[] direction = new double[places.size()];
        double expected = 0;
        double size = 1 + lossSize;
        for (int i = 0; i < held.length; i++) {
            held[i] = varied.get(places.get(i));
            direction[i] = random.nextGaussian();
            expected += direction[i] * gradient.get(places.get(i));
            size += Math.abs(direction[i] * gradient.get(places.get(i)));
        }
        double h = 1e-3;
        double[] at = new double[4];
        double[] steps = {-2, -1, 1, 2};
        for (int s = 0; s < 4; s++) {
            move(varied, places, held, direction, steps[s] * h);
            at[s] = loss.getAsDouble();
        }
        move(varied, places, held, direction, 0);
        double numeric = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
        double error = Math.abs(numeric - expected);
        assertTrue(error <= 100 * 0x1p-24 * size, name + ": " + expected + " for " + numeric + ", size " + size);
    }

    private static void move(Tensor varied, List<long[]> places, double[] held, double[] direction, double by) {
        for (int i = 0; i < held.length; i++) {
            varied.set(held[i] + by * direction[i], places.get(i));
        }
    }

    private static double loss(LayerCase tried, Map<String, Tensor> parameters, MultiHeadOutputs upstream) {
        NaiveLayer.Result result = tried.expected(parameters);
        Tensor ordered = tried.batchFirst(upstream.output());
        double sum = 0;
        for (int b = 0; b < ordered.dim(0); b++) {
            sum += dot(result.output().get(b).value(), ordered.select(0, b));
            if (upstream.averageWeights() != null) {
                sum += dot(
                        result.averageWeights(b).value(),
                        upstream.averageWeights().select(0, b));
            }
            for (int h = 0; upstream.headWeights() != null && h < tried.config.queryHeads(); h++) {
                double[][] weights = result.weights().get(b).get(h).value();
                sum += dot(weights, upstream.headWeights().select(0, b).select(0, h));
            }
        }
        return sum;
    }

    static double dot(double[][] values, Tensor gradient) {
        double sum = 0;
        for (int i = 0; i < values.length; i++) {
            for (int d = 0; d < values[i].length; d++) {
                sum += values[i][d] * gradient.get(i, d);
            }
        }
        return sum;
    }

    private static List<long[]> places(Tensor tensor) {
        List<long[]> places = new ArrayList<>();
        long[] dims = tensor.shape().toArray();
        for (long flat = 0; flat < tensor.shape().elements(); flat++) {
            long[] index = new long[dims.length];
            long rest = flat;
            for (int axis = dims.length - 1; axis >= 0; axis--) {
                index[axis] = rest % dims[axis];
                rest /= dims[axis];
            }
            places.add(index);
        }
        return places;
    }

    @Example
    void threadsAndSeedsGiveTheSameBits() {
        MultiHeadConfig config = MultiHeadConfig.of(24, 3).withDropout(0.3).withKeyValueBias(true);
        try (Compute threads = Compute.threads(3)) {
            Run one = new Run(CPU, config, 5);
            Run many = new Run(threads, config, 5);
            Run other = new Run(CPU, config, 6);
            assertArrayEquals(one.output, many.output);
            assertArrayEquals(one.inputGradient, many.inputGradient);
            assertArrayEquals(one.weightGradient, many.weightGradient);
            assertTrue(!java.util.Arrays.equals(one.output, other.output), "another seed drops others");
        }
    }

    @Example
    void withoutDropoutRecordingIsInference() {
        MultiHeadConfig config = MultiHeadConfig.of(24, 3).withDropout(0);
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 3);
        Tensor x = TestTensors.random(new Random(1), 2, 40, 24);
        Tensor inferred = TestTensors.zeros(DType.F32, 2, 40, 24);
        Tensor recorded = TestTensors.zeros(DType.F32, 2, 40, 24);
        layer.forward(CPU, x, inferred);
        layer.record(CPU, x, recorded).close();
        assertArrayEquals(inferred.toArray(), recorded.toArray());
    }

    @Example
    void inferenceSeesChangedParameters() {
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(8, 2), 3);
        Tensor x = TestTensors.random(new Random(1), 1, 4, 8);
        Tensor before = TestTensors.zeros(DType.F32, 1, 4, 8);
        layer.forward(CPU, x, before);
        fill(layer.parameters().get("out_proj.weight"), () -> 0);
        layer.parametersChanged();
        Tensor after = TestTensors.zeros(DType.F32, 1, 4, 8);
        layer.forward(CPU, x, after);
        assertArrayEquals(new float[32], after.toArray());
    }

    @Example
    void maskedHeadsAndPrunedHeadsAgree() {
        MultiHeadConfig config = MultiHeadConfig.of(24, 4).withKeyValueBias(true);
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 3);
        Tensor x = TestTensors.random(new Random(1), 2, 9, 24);
        Tensor mask = Tensor.of(new float[] {1, 0, 1, 0}, 4);
        Tensor masked = TestTensors.zeros(DType.F32, 2, 9, 24);
        layer.forward(CPU, MultiHeadInputs.of(x).withHeadMask(mask), MultiHeadOutputs.of(masked));
        Tensor recorded = TestTensors.zeros(DType.F32, 2, 9, 24);
        layer.record(CPU, MultiHeadInputs.of(x).withHeadMask(mask), MultiHeadOutputs.of(recorded), 0)
                .close();
        Tensor pruned = TestTensors.zeros(DType.F32, 2, 9, 24);
        MultiHeadAttention smaller = layer.keepHeads(Arena.ofAuto(), 0, 2);
        smaller.forward(CPU, x, pruned);
        // the output projection adds 24 or 12 products in different orders, so there are up to 24 roundings of values
        // around 1
        assertArrayEquals(masked.toArray(), pruned.toArray(), 24 * 0x1p-23f);
        assertArrayEquals(masked.toArray(), recorded.toArray());
        assertEquals(smaller.parameterCount(), layer.parameterCount() - 2L * (3 * 6 * 24 + 3 * 6 + 2 * 6 + 24 * 6));
        assertThrows(IllegalArgumentException.class, () -> layer.keepHeads(Arena.ofAuto()));
        assertThrows(IllegalArgumentException.class, () -> layer.keepHeads(Arena.ofAuto(), 1, 1));
        assertThrows(IllegalArgumentException.class, () -> layer.keepHeads(Arena.ofAuto(), 4));
    }

    @Example
    void theHeadMasksGradientIsWhatAHeadAdds() {
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(12, 3), 3);
        Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
        Tensor y = TestTensors.zeros(DType.F32, 2, 5, 12);
        Tensor upstream = TestTensors.random(new Random(2), 2, 5, 12);
        Tensor gradient = TestTensors.zeros(DType.F32, 2, 3);
        MultiHeadPass pass = layer.record(CPU, x, y, 0);
        pass.backward(upstream, MultiHeadGradients.NONE.withHeadMask(gradient), Map.of());
        for (int h = 0; h < 3; h++) {
            float[] factors = {1, 1, 1};
            factors[h] = 0;
            Tensor without = TestTensors.zeros(DType.F32, 2, 5, 12);
            MultiHeadInputs silenced = MultiHeadInputs.of(x).withHeadMask(Tensor.of(factors, 3));
            layer.forward(CPU, silenced, MultiHeadOutputs.of(without));
            for (int b = 0; b < 2; b++) {
                double lost = 0;
                for (int i = 0; i < 5; i++) {
                    for (int d = 0; d < 12; d++) {
                        lost += upstream.get(b, i, d) * (y.get(b, i, d) - without.get(b, i, d));
                    }
                }
                // the output is linear in the mask: 60 differences of values around 1, each with a few roundings
                assertEquals(lost, gradient.get(b, h), 60 * 4 * 0x1p-24);
            }
        }
    }

    @Example
    void illegalCallsAreRefused() {
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(12, 3), 3);
        Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
        Tensor y = TestTensors.zeros(DType.F32, 2, 5, 12);
        Tensor dy = TestTensors.zeros(DType.F32, 2, 5, 12);
        MultiHeadPass pass = layer.record(CPU, x, y, 0);
        Named.message(
                "query gradient: shape [2, 5]; expected [2, 5, 12]",
                () -> pass.backward(dy, TestTensors.zeros(DType.F32, 2, 5)));
        Named.message(
                "outputGradient: shape [2, 5]; expected [2, 5, 12]",
                () -> pass.backward(TestTensors.zeros(DType.F32, 2, 5), dy));
        Named.message(
                "key gradient: given; expected null, since the query was the same tensor and takes the sum",
                () -> pass.backward(dy, MultiHeadGradients.of(zeros(x), zeros(x), zeros(x)), Map.of()));
        Named.message(
                "gradient of out_proj.bias: shape [3]; expected [12]",
                () -> pass.backward(dy, MultiHeadGradients.NONE, Map.of("out_proj.bias", Tensor.of(new float[3], 3))));
        Named.message(
                "headMask gradient: shape [4]; expected [3]",
                () -> pass.backward(dy, MultiHeadGradients.NONE.withHeadMask(Tensor.of(new float[4], 4)), Map.of()));
        Named.message(
                "weights gradient: given; expected outputs with weights, as none were recorded",
                () -> pass.backward(
                        MultiHeadOutputs.of(dy).withAverageWeights(TestTensors.zeros(DType.F32, 2, 5, 5)),
                        MultiHeadGradients.NONE,
                        Map.of()));
        Named.message(
                "sinks gradient: given; expected options with sinks, as the configuration has none",
                () -> pass.backward(dy, MultiHeadGradients.NONE.withSinks(Tensor.of(new float[3], 3)), Map.of()));
        Named.message(
                "headMask: shape [4]; expected [3] or [2, 3]",
                () -> layer.forward(
                        CPU, MultiHeadInputs.of(x).withHeadMask(Tensor.of(new float[4], 4)), MultiHeadOutputs.of(y)));
        pass.close();
        pass.close();
        assertThrows(IllegalStateException.class, () -> pass.backward(dy, zeros(x)));
    }

    /** The results of one step of a layer. */
    private static final class Run {
        final float[] output;
        final float[] inputGradient;
        final float[] weightGradient;

        Run(Compute cpu, MultiHeadConfig config, long seed) {
            MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 3);
            Tensor x = TestTensors.random(new Random(1), 2, 70, 24);
            Tensor y = TestTensors.zeros(DType.F32, 2, 70, 24);
            Tensor dx = TestTensors.zeros(DType.F32, 2, 70, 24);
            Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), layer);
            try (Pass pass = layer.record(cpu, x, y, seed)) {
                pass.backward(TestTensors.random(new Random(2), 2, 70, 24), dx, gradients);
            }
            output = y.toArray();
            inputGradient = dx.toArray();
            weightGradient = gradients.get("in_proj_weight").toArray();
        }
    }

    private static Map<String, Tensor> widened(Map<String, Tensor> parameters) {
        Map<String, Tensor> wide = new LinkedHashMap<>();
        parameters.forEach((name, tensor) -> wide.put(name, tensor.copy(Arena.ofAuto(), DType.F64)));
        return wide;
    }

    private static Tensor like(Tensor tensor, long... dims) {
        return TestTensors.zeros(tensor.dtype(), dims);
    }

    private static Tensor zeros(Tensor tensor) {
        return TestTensors.zeros(DType.F32, tensor.shape().toArray());
    }

    private static Tensor fill(Tensor tensor, DoubleSupplier source) {
        for (long[] place : places(tensor)) {
            tensor.set(source.getAsDouble(), place);
        }
        return tensor;
    }
}
