package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.nn.Gradients;
import io.multihead.support.Golden;
import io.multihead.support.PyTorchMasks;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Forward is compared with every {@code mha} golden file, which has the results of PyTorch's layer in float64. */
class MultiHeadAttentionGoldenTest {
    /** The largest allowed error, relative to the largest expected magnitude. */
    private static final double TOLERANCE = 1e-6;

    @Test
    void allFilesAreHere() {
        assertEquals(22, Golden.names("mha/").count());
    }

    @TestFactory
    Stream<DynamicTest> equalsPyTorch() {
        return Golden.names("mha/").map(name -> DynamicTest.dynamicTest(name, () -> check(Golden.open(name))));
    }

    private static void check(Golden file) {
        MultiHeadAttention layer = MultiHeadAttention.of(config(file), file::find);
        MultiHeadInputs inputs = inputs(file);
        Tensor expected = file.tensor("expected.out");
        Tensor other = file.find("expected_other.out");
        // In fully masked rows, one of the two outputs holds NaN. The layer returns the other one, with attention value
        // 0.
        Tensor wanted = other != null && hasNan(expected) ? other : expected;
        Tensor output = TestTensors.zeros(DType.F32, expected.shape().toArray());
        layer.forward(Compute.serial(), inputs, MultiHeadOutputs.of(output));
        assertClose(TestTensors.cube(flat(wanted)), output);

        Tensor weights = file.find("expected.attn_weights");
        if (weights != null) {
            Tensor actual = TestTensors.zeros(DType.F32, weights.shape().toArray());
            Tensor again = TestTensors.zeros(DType.F32, expected.shape().toArray());
            boolean averaged = flag(file, "average_attn_weights");
            MultiHeadOutputs outputs = MultiHeadOutputs.of(again);
            layer.forward(
                    Compute.serial(),
                    inputs,
                    averaged ? outputs.withAverageWeights(actual) : outputs.withHeadWeights(actual));
            assertClose(TestTensors.cube(flat(wanted)), again);
            assertClose(zeroForNan(weights), actual);
        }
    }

    @TestFactory
    Stream<DynamicTest> gradientsEqualPyTorch() {
        return Golden.names("mha/")
                .filter(name -> Golden.open(name).find("grad_out") != null)
                .map(name -> DynamicTest.dynamicTest(name, () -> checkGradients(Golden.open(name))));
    }

    @Test
    void gradientsAreInElevenFiles() {
        assertEquals(11, gradientsEqualPyTorch().count());
    }

    private static void checkGradients(Golden file) {
        MultiHeadAttention layer = MultiHeadAttention.of(config(file), file::find);
        MultiHeadInputs inputs = inputs(file);
        Tensor output =
                TestTensors.zeros(DType.F32, file.tensor("expected.out").shape().toArray());
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), layer);
        boolean self = flag(file, "self_attention");
        MultiHeadGradients to = self
                ? MultiHeadGradients.of(zeros(inputs.query()))
                : MultiHeadGradients.of(zeros(inputs.query()), zeros(inputs.key()), zeros(inputs.value()));
        try (MultiHeadPass pass = layer.record(Compute.serial(), inputs, MultiHeadOutputs.of(output), 0)) {
            pass.backward(file.tensor("grad_out"), to, gradients);
        }
        assertClose(TestTensors.cube(flat(file.tensor("expected.out"))), output);
        gradients.forEach((name, gradient) ->
                assertClose(TestTensors.cube(flat(file.tensor("expected.grad." + name))), gradient));
        assertClose(TestTensors.cube(flat(file.tensor("expected.grad.query"))), to.query());
        if (!self) {
            assertClose(TestTensors.cube(flat(file.tensor("expected.grad.key"))), to.key());
            assertClose(TestTensors.cube(flat(file.tensor("expected.grad.value"))), to.value());
        }
    }

    private static Tensor zeros(Tensor tensor) {
        return TestTensors.zeros(DType.F32, tensor.shape().toArray());
    }

    private static MultiHeadConfig config(Golden file) {
        MultiHeadConfig config = MultiHeadConfig.of(number(file, "embed_dim"), (int) number(file, "num_heads"))
                .withInputDims(number(file, "kdim"), number(file, "vdim"))
                .withBias(file.find("out_proj.bias") != null)
                .withKeyValueBias(flag(file, "add_bias_kv"))
                .withZeroKey(flag(file, "add_zero_attn"))
                .withBatchFirst(flag(file, "batch_first"));
        double scale = config.options().scaleFor(config.headDim());
        assertEquals(Double.parseDouble(file.meta("scale_value")), scale, 1e-15);
        return config;
    }

    private static MultiHeadInputs inputs(Golden file) {
        Tensor query = file.tensor("query");
        MultiHeadInputs inputs = flag(file, "self_attention")
                ? MultiHeadInputs.of(query)
                : MultiHeadInputs.of(query, file.tensor("key"), file.tensor("value"));
        Mask mask = flag(file, "is_causal") ? Mask.CAUSAL_TOP_LEFT : Mask.NONE;
        Tensor padding = file.find("key_padding_mask");
        mask = padding == null ? mask : mask.and(PyTorchMasks.padding(padding));
        Tensor scores = file.find("attn_mask");
        return inputs.withMask(
                scores == null ? mask : mask.and(PyTorchMasks.scores(scores, number(file, "num_heads"))));
    }

    private static boolean flag(Golden file, String key) {
        return Boolean.parseBoolean(file.meta(key));
    }

    private static long number(Golden file, String key) {
        return Long.parseLong(file.meta(key));
    }

    private static boolean hasNan(Tensor tensor) {
        for (float element : tensor.toArray()) {
            if (Float.isNaN(element)) {
                return true;
            }
        }
        return false;
    }

    private static void assertClose(double[][][] expected, Tensor actual) {
        TestTensors.assertClose(expected, TestTensors.cube(flat(actual)), TOLERANCE);
    }

    /**
     * Returns PyTorch's weights with 0 for NaN. PyTorch's weights are NaN in fully masked rows, where the layer's
     * weights are 0.
     */
    private static double[][][] zeroForNan(Tensor weights) {
        double[][][] values = TestTensors.cube(flat(weights));
        for (int i = 0; i < values[0][0].length; i++) {
            values[0][0][i] = Double.isNaN(values[0][0][i]) ? 0 : values[0][0][i];
        }
        return values;
    }

    private static Tensor flat(Tensor tensor) {
        return tensor.reshape(1, 1, -1);
    }
}
