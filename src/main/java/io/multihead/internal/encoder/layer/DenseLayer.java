package io.multihead.internal.encoder.layer;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Weights;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A Dense module of sentence-transformers after pooling: a linear layer and a function of every element. The input may be added to the result;
 * a second linear layer without bias projects it to the length of the output if the lengths differ.
 *
 * @param linear the layer, with the part of the function that its product applies
 * @param function the function of every element
 * @param addsInput whether the input is added
 * @param residual the projection of the input to the output's length; null if the lengths are equal or nothing is added
 */
public record DenseLayer(
        PackedLinear linear,
        DenseFunction function,
        boolean addsInput,
        @Nullable PackedLinear residual) {
    private static final int MOST = 1 << 24;
    static final String LINEAR = "linear";
    private static final String RESIDUAL = "residual";
    private static final String VECTOR = "sentence_embedding";
    private static final String INPUTS = "in_features";
    private static final String OUTPUTS = "out_features";
    private static final String BIAS = "bias";
    private static final String FUNCTION = "activation_function";
    private static final String ADDS_INPUT = "use_residual";

    /**
     * The settings of the module's {@code config.json}, with the defaults of sentence-transformers.
     *
     * @param inputs elements of a vector
     * @param outputs elements of the result
     * @param hasBias whether the layer has a bias
     * @param function the function of every element
     * @param addsInput whether the input is added
     */
    public record Config(int inputs, int outputs, boolean hasBias, DenseFunction function, boolean addsInput) {
        static Config of(JsonObject json) {
            json.require("module_input_name", VECTOR);
            json.require("module_output_name", VECTOR);
            return new Config(
                    json.integer(INPUTS, 1, MOST),
                    json.integer(OUTPUTS, 1, MOST),
                    json.flag(BIAS, true),
                    function(json),
                    json.flag(ADDS_INPUT, false));
        }

        /**
         * Returns the function. A function that is not PyTorch's is code in the folder, and is refused here. sentence-transformers runs this
         * code, or uses tanh with a warning.
         */
        private static DenseFunction function(JsonObject json) {
            if (!json.names().contains(FUNCTION)) {
                return DenseFunction.TANH;
            }
            return DenseFunction.of(json.text(FUNCTION))
                    .orElseThrow(() -> json.fail(FUNCTION, "one of " + DenseFunction.types()));
        }

        public Map<String, Object> toJson() {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put(INPUTS, inputs);
            json.put(OUTPUTS, outputs);
            json.put(BIAS, hasBias);
            json.put(FUNCTION, function.type());
            json.put(ADDS_INPUT, addsInput);
            return json;
        }
    }

    /** Takes the weights of a module; a prefix of their names identifies the module. */
    static DenseLayer take(Config config, Weights weights, String prefix) {
        PackedLinear linear = weights.linear(prefix + LINEAR, config.outputs, config.inputs, config.hasBias);
        boolean hasResidual = config.addsInput && config.inputs != config.outputs;
        return new DenseLayer(
                linear.withActivation(config.function.fused),
                config.function,
                config.addsInput,
                hasResidual ? weights.linear(prefix + RESIDUAL, config.outputs, config.inputs, false) : null);
    }

    /** Returns the settings that {@link #take} received. */
    Config config() {
        return new Config(linear.inputs(), linear.outputs(), linear.bias() != null, function, addsInput);
    }

    /** Computes the rows of one layer from the rows of the previous one. */
    void forward(Compute cpu, RowViews from, RowViews to, int rows) {
        Tensor x = from.get(rows);
        Tensor y = to.get(rows);
        linear.forward(cpu, x, y);
        function.apply(to.array(), rows * to.length());
        if (residual != null) {
            residual.add(cpu, x, y);
        } else if (addsInput) {
            add(from.array(), to.array(), rows * to.length());
        }
    }

    private static void add(float[] from, float[] to, int length) {
        for (int i = 0; i < length; i++) {
            to[i] += from[i];
        }
    }

    /** Fails unless the layer reads vectors of this length. */
    static Config requireInputs(Config config, int inputs) {
        if (config.inputs != inputs) {
            throw Checks.fail(INPUTS, String.valueOf(config.inputs), "expected the " + inputs + " of a vector");
        }
        return config;
    }
}
