package io.multihead.nn.attention;

import static io.multihead.support.TestTensors.random;
import static io.multihead.support.TestTensors.zeros;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Every illegal argument is refused with its message, and nothing is written. */
class MultiHeadAttentionBadInputTest {
    private static final MultiHeadConfig CONFIG = MultiHeadConfig.of(8, 2).withInputDims(6, 5);

    private final Random random = new Random(42);
    private final Map<String, Tensor> parameters = new HashMap<>(TestParameters.of(CONFIG, random));
    private final MultiHeadAttention layer = MultiHeadAttention.of(CONFIG, parameters::get);
    private final Tensor query = random(random, 2, 3, 8);
    private final Tensor key = random(random, 2, 4, 6);
    private final Tensor value = random(random, 2, 4, 5);
    private final MultiHeadInputs good = MultiHeadInputs.of(query, key, value);
    private final MultiHeadOutputs outputs = MultiHeadOutputs.of(TestTensors.guarded(DType.F32, false, 2, 3, 8))
            .withAverageWeights(TestTensors.guarded(DType.F32, false, 2, 3, 4))
            .withHeadWeights(TestTensors.guarded(DType.F32, false, 2, 2, 3, 4));

    private void forwardFails(String message, MultiHeadInputs inputs) {
        forwardFails(message, inputs, outputs);
    }

    private void forwardFails(String message, MultiHeadInputs inputs, MultiHeadOutputs to) {
        Named.message(message, () -> layer.forward(Compute.serial(), inputs, to));
        assertUntouched();
    }

    private void assertUntouched() {
        for (Tensor tensor : new Tensor[] {outputs.output(), outputs.averageWeights(), outputs.headWeights()}) {
            for (float element : tensor.toArray()) {
                assertTrue(Float.isNaN(element), "written");
            }
        }
    }

    private static void forwardFails(String message, MultiHeadConfig config, Tensor x) {
        try (Arena arena = Arena.ofConfined()) {
            MultiHeadAttention layer = MultiHeadAttention.initialize(arena, config, 1);
            Named.message(message, () -> layer.forward(Compute.serial(), x, x));
        }
    }

    @Test
    void sizesOfTheConfiguration() {
        Named.message("embedDim: 0; expected at least 1", () -> MultiHeadConfig.of(0, 1));
        Named.message("heads: 0; expected at least 1", () -> MultiHeadConfig.of(8, 0));
        Named.message("heads: -1; expected at least 1", () -> MultiHeadConfig.of(8, -1, 4));
        Named.message(
                "heads: 3; expected a divisor of embedDim 8, or a separate head dim", () -> MultiHeadConfig.of(8, 3));
        Named.message("headDim: 0; expected at least 1", () -> MultiHeadConfig.of(8, 2, 0));
        Named.message("keyValueHeads: 0; expected at least 1", () -> CONFIG.withKeyValueHeads(0));
        Named.message("keyValueHeads: 3; expected a divisor of heads 4", () -> MultiHeadConfig.of(8, 4)
                .withKeyValueHeads(3));
        Named.message("valueDim: 0; expected at least 1", () -> CONFIG.withValueDim(0));
        Named.message("keyInputDim: 0; expected at least 1", () -> CONFIG.withInputDims(0, 1));
        Named.message("valueInputDim: -2; expected at least 1", () -> CONFIG.withInputDims(1, -2));
        Named.message("outputShape: []; expected at least one axis; no size is 0", CONFIG::withOutputShape);
        Named.message(
                "outputShape: [3, 0]; expected at least one axis; no size is 0", () -> CONFIG.withOutputShape(3, 0));
    }

    @Test
    void numbersOfParametersBeyondLong() {
        Named.message(
                "headDim: 1152921504606846976; expected at most 384307168202282325 with 8 heads",
                () -> MultiHeadConfig.of(8, 8, 1L << 60));
        Named.message(
                "valueDim: 1537228672809129302; expected at most 1537228672809129301 with 2 heads",
                () -> CONFIG.withValueDim(1537228672809129302L));
        MultiHeadConfig square = MultiHeadConfig.of(1L << 31, 2).withBias(false);
        Named.message(
                "parameters: shapes [[2147483648, 2147483648], [2147483648, 2147483648], [2147483648, 2147483648], "
                        + "[2147483648, 2147483648]]; expected fewer than 2^63 elements",
                square::parameterCount);
        MultiHeadConfig wide = MultiHeadConfig.of(1L << 40, 2);
        Named.message("shape: [1099511627776, 1099511627776]; expected fewer than 2^63 elements", wide::parameterCount);
    }

    @Test
    void attentionAxes() {
        Named.message(
                "attentionAxes: [1, -1]; expected different axes, none negative",
                () -> CONFIG.withAttentionAxes(1, -1));
        Named.message(
                "attentionAxes: [2, 2]; expected different axes, none negative", () -> CONFIG.withAttentionAxes(2, 2));
        Named.message("attentionAxes: [1]; expected none when batchFirst is false", () -> CONFIG.withBatchFirst(false)
                .withAttentionAxes(1));
        forwardFails(
                "query: shape [2, 3, 8]; expected axes [2] to attend over, before the features",
                MultiHeadConfig.of(8, 2).withAttentionAxes(2),
                random(random, 2, 3, 8));
    }

    @Test
    void missingParameter() {
        parameters.remove("out_proj.weight");
        Named.message(
                "out_proj.weight: missing; expected a tensor of shape [8, 8]",
                () -> MultiHeadAttention.of(CONFIG, parameters::get));
        Named.message(
                "in_proj_weight: missing; expected a tensor of shape [24, 8]",
                () -> MultiHeadAttention.of(MultiHeadConfig.of(8, 2), name -> null));
        Named.message(
                "q_proj_weight: missing; expected a tensor of shape [8, 8]",
                () -> MultiHeadAttention.of(CONFIG, name -> null));
    }

    @Test
    void wrongParameter() {
        parameters.put("k_proj_weight", zeros(DType.F32, 8, 8));
        Named.message(
                "k_proj_weight: shape [8, 8]; expected [8, 6]", () -> MultiHeadAttention.of(CONFIG, parameters::get));
        parameters.put("k_proj_weight", zeros(DType.I8, 8, 6));
        Named.message(
                "k_proj_weight: I8 [8, 6]; expected a floating-point element type",
                () -> MultiHeadAttention.of(CONFIG, parameters::get));
    }

    @Test
    void parameterThatTheConfigurationWouldIgnore() {
        Named.message(
                "in_proj_bias: shape [24]; expected none, as the config has no such bias",
                () -> MultiHeadAttention.of(CONFIG.withBias(false), parameters::get));
        parameters.put("bias_v", zeros(DType.F32, 1, 1, 8));
        Named.message(
                "bias_v: shape [1, 1, 8]; expected none, as the config has no such bias",
                () -> MultiHeadAttention.of(CONFIG, parameters::get));
    }

    /** A weight that is present fused and separate is refused, since one of the two would be ignored. */
    @Test
    void weightThatIsThereFusedAndSeparate() {
        parameters.put("in_proj_weight", zeros(DType.F32, 24, 8));
        Named.message(
                "in_proj_weight: shape [24, 8]; expected none beside q_proj_weight",
                () -> MultiHeadAttention.of(CONFIG, parameters::get));
        Named.message(
                "q_proj_weight: shape [8, 8]; expected none beside in_proj_weight",
                () -> MultiHeadAttention.of(MultiHeadConfig.of(8, 2), parameters::get));
    }

    @Test
    void queryShape() {
        forwardFails(
                "query: shape [2, 3, 7]; expected [2, 3, 8]", MultiHeadInputs.of(random(random, 2, 3, 7), key, value));
        forwardFails(
                "query: shape [8]; expected [batch, tokens, 8] or [tokens, 8]",
                MultiHeadInputs.of(random(random, 8), key, value));
        forwardFails(
                "query: shape [2, 3, 4, 8]; expected [tokens, batch, 8] or [tokens, 8], as batchFirst is false",
                MultiHeadConfig.of(8, 2).withBatchFirst(false),
                random(random, 2, 3, 4, 8));
    }

    @Test
    void outputShapeTakesWhatForwardTakes() {
        assertEquals(Shape.of(2, 3, 8), layer.outputShape(Shape.of(2, 3, 8)));
        Named.message("query: shape [2, 3, 7]; expected [2, 3, 8]", () -> layer.outputShape(Shape.of(2, 3, 7)));
        Named.message(
                "query: shape [8]; expected [batch, tokens, 8] or [tokens, 8]", () -> layer.outputShape(Shape.of(8)));
        MultiHeadAttention tokensFirst = MultiHeadAttention.initialize(
                Arena.ofAuto(), MultiHeadConfig.of(8, 2).withBatchFirst(false), 1);
        Named.message(
                "query: shape [2, 3, 4, 8]; expected [tokens, batch, 8] or [tokens, 8], as batchFirst is false",
                () -> tokensFirst.outputShape(Shape.of(2, 3, 4, 8)));
        MultiHeadAttention alongAxis = MultiHeadAttention.initialize(
                Arena.ofAuto(), MultiHeadConfig.of(8, 2).withAttentionAxes(2), 1);
        Named.message(
                "query: shape [2, 3, 8]; expected axes [2] to attend over, before the features",
                () -> alongAxis.outputShape(Shape.of(2, 3, 8)));
    }

    @Test
    void keyAndValueShape() {
        forwardFails(
                "key: shape [4, 6]; expected as many axes as query [2, 3, 8]",
                MultiHeadInputs.of(query, key.select(0, 0), value));
        forwardFails("key: shape [1, 4, 6]; expected [2, 4, 6]", MultiHeadInputs.of(query, key.slice(0, 0, 1), value));
        forwardFails("key: shape [2, 4, 5]; expected [2, 4, 6]", MultiHeadInputs.of(query, value, value));
        forwardFails(
                "value: shape [2, 3, 5]; expected [2, 4, 5]", MultiHeadInputs.of(query, key, value.slice(1, 0, 3)));
        forwardFails("value: shape [2, 4, 6]; expected [2, 4, 5]", MultiHeadInputs.of(query, key, key));
    }

    @Test
    void inputTypes() {
        Tensor whole = zeros(DType.I8, 2, 3, 8);
        forwardFails(
                "query: I8 [2, 3, 8]; expected a floating-point element type", MultiHeadInputs.of(whole, key, value));
        Tensor wholeKey = zeros(DType.I8, 2, 4, 6);
        forwardFails(
                "key: I8 [2, 4, 6]; expected a floating-point element type",
                MultiHeadInputs.of(query, wholeKey, value));
        MultiHeadInputs values = MultiHeadInputs.of(query, key, zeros(DType.I8, 2, 4, 5));
        forwardFails("value: I8 [2, 4, 5]; expected a floating-point element type", values);
        Named.message(
                "value: I8 [2, 4, 5]; expected a floating-point element type",
                () -> layer.record(Compute.serial(), values, outputs, 0));
        assertUntouched();
    }

    @Test
    void masks() {
        forwardFails(
                "mask: shape [2, 1, 1, 3]; expected a shape that broadcasts to (batch, heads, queries, keys) = [2, 2, 3, 4]",
                good.withMask(Mask.keyPadding(zeros(DType.I8, 2, 3))));
        forwardFails(
                "mask: shape [5, 1, 3, 4]; expected a shape that broadcasts to (batch, heads, queries, keys) = [2, 2, 3, 4]",
                good.withMask(Mask.bias(zeros(DType.F32, 5, 1, 3, 4))));
        Named.message(
                "headMask: I8 [2]; expected a floating-point element type",
                () -> good.withHeadMask(zeros(DType.I8, 2)));
    }

    @Test
    void outputShapes() {
        forwardFails(
                "output: shape [2, 4, 8]; expected [2, 3, 8]",
                good,
                new MultiHeadOutputs(zeros(DType.F32, 2, 4, 8), outputs.averageWeights(), outputs.headWeights()));
        forwardFails(
                "averageWeights: shape [2, 2, 3, 4]; expected [2, 3, 4]",
                good,
                outputs.withAverageWeights(zeros(DType.F32, 2, 2, 3, 4)));
        forwardFails(
                "headWeights: shape [2, 3, 4]; expected [2, 2, 3, 4]",
                good,
                outputs.withHeadWeights(zeros(DType.F32, 2, 3, 4)));
    }

    @Test
    void outputTypes() {
        forwardFails(
                "output: I8 [2, 3, 8]; expected a floating-point element type",
                good,
                MultiHeadOutputs.of(zeros(DType.I8, 2, 3, 8)));
        forwardFails(
                "averageWeights: I8 [2, 3, 4]; expected a floating-point element type",
                good,
                outputs.withAverageWeights(zeros(DType.I8, 2, 3, 4)));
    }

    @Test
    void outputsThatShareMemory() {
        forwardFails(
                "output: F32 [2, 3, 8] strides [0, 8, 1]; expected every element to have its own storage",
                good,
                MultiHeadOutputs.of(zeros(DType.F32, 1, 3, 8).broadcast(2, 3, 8)));
        forwardFails(
                "output: F32 [2, 3, 8] overlaps query; expected separate memory", good, MultiHeadOutputs.of(query));
        Tensor buffer = zeros(DType.F32, 64);
        Tensor output = buffer.slice(0, 0, 48).reshape(2, 3, 8);
        forwardFails(
                "averageWeights: F32 [2, 3, 4] overlaps output; expected separate memory",
                good,
                MultiHeadOutputs.of(output)
                        .withAverageWeights(buffer.slice(0, 40, 64).reshape(2, 3, 4)));
        forwardFails(
                "headWeights: F32 [2, 2, 3, 4] overlaps output; expected separate memory",
                good,
                MultiHeadOutputs.of(output).withHeadWeights(output.reshape(2, 2, 3, 4)));
        Tensor weight = parameters.get("out_proj.weight");
        forwardFails(
                "output: F32 [2, 3, 8] overlaps out_proj.weight; expected separate memory",
                good,
                MultiHeadOutputs.of(weight.reshape(64).slice(0, 0, 48).reshape(2, 3, 8)));
        Tensor bias = buffer.slice(0, 0, 12).reshape(3, 4);
        forwardFails(
                "output: F32 [2, 3, 8] overlaps mask 0; expected separate memory",
                good.withMask(Mask.bias(bias)),
                MultiHeadOutputs.of(output));
    }

    @Test
    void closedArenaKeepsTheJdksException() {
        Arena arena = Arena.ofConfined();
        Tensor closed = Tensor.allocate(arena, DType.F32, Shape.of(2, 3, 8));
        arena.close();
        MultiHeadOutputs to = new MultiHeadOutputs(closed, outputs.averageWeights(), outputs.headWeights());
        assertThrows(IllegalStateException.class, () -> layer.forward(Compute.serial(), good, to));
        MultiHeadInputs from = MultiHeadInputs.of(closed, key, value);
        assertThrows(IllegalStateException.class, () -> layer.forward(Compute.serial(), from, outputs));
        assertUntouched();
    }

    @Test
    void arenaOfAnotherThreadKeepsTheJdksException() throws Exception {
        try (Arena arena = Arena.ofConfined();
                var other = Executors.newSingleThreadExecutor()) {
            Tensor confined = Tensor.allocate(arena, DType.F32, Shape.of(2, 3, 8));
            MultiHeadOutputs to = new MultiHeadOutputs(confined, outputs.averageWeights(), outputs.headWeights());
            Executable call = () -> layer.forward(Compute.serial(), good, to);
            other.submit(() -> assertThrows(WrongThreadException.class, call)).get();
        }
        assertUntouched();
    }

    @Test
    void nullNamesTheArgument() {
        nullFails("cpu", () -> layer.forward(null, good, outputs));
        nullFails("inputs", () -> layer.forward(Compute.serial(), (MultiHeadInputs) null, outputs));
        nullFails("query", () -> MultiHeadInputs.of(null));
        nullFails("value", () -> MultiHeadInputs.of(query, key, null));
        nullFails("output", () -> MultiHeadOutputs.of(null));
        nullFails("config", () -> MultiHeadAttention.of(null, parameters::get));
        nullFails("parameters", () -> MultiHeadAttention.of(CONFIG, null));
    }

    private static void nullFails(String argument, Executable call) {
        String message = assertThrows(NullPointerException.class, call).getMessage();
        assertEquals(argument + ": null; expected a value", message);
    }
}
