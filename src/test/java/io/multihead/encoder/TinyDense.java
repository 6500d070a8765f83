package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.encoder.layer.DenseLayer;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceLinear;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Dense modules with random weights, as folders of sentence-transformers and in double. */
record TinyDense(String name, DenseLayer.Config config, Map<String, Tensor> weights) {
    private static final double U = 0x1p-24;

    static TinyDense of(long seed, String name, DenseLayer.Config config) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        TinyModel.put(weights, random, "linear.weight", config.outputs(), config.inputs());
        if (config.hasBias()) {
            TinyModel.put(weights, random, "linear.bias", config.outputs());
        }
        if (config.addsInput() && config.inputs() != config.outputs()) {
            TinyModel.put(weights, random, "residual.weight", config.outputs(), config.inputs());
        }
        return new TinyDense(name, config, weights);
    }

    /** Writes the folder of the module with weights of this type. */
    void write(Path model, DType dtype) throws IOException {
        Path folder = Files.createDirectories(model.resolve(name));
        Files.writeString(folder.resolve("config.json"), JsonWriter.write("config", config.toJson()));
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> narrow = new LinkedHashMap<>();
            weights.forEach((weight, tensor) -> narrow.put(weight, tensor.copy(arena, dtype)));
            Safetensors.write(folder.resolve("model.safetensors"), narrow, Map.of("format", "pt"));
        }
    }

    /** Writes a folder with the modules between Pooling and, if requested, Normalize. */
    static void write(Path model, List<TinyDense> layers, DType dtype, boolean normalized) throws IOException {
        StringBuilder modules =
                new StringBuilder("[" + module("", "Transformer") + ", " + module("1_Pooling", "Pooling"));
        for (TinyDense layer : layers) {
            layer.write(model, dtype);
            modules.append(", ").append(module(layer.name, "Dense"));
        }
        modules.append(normalized ? ", " + module("9_Normalize", "Normalize") + "]" : "]");
        Files.writeString(model.resolve("modules.json"), modules);
    }

    private static String module(String path, String type) {
        return "{\"path\": \"" + path + "\", \"type\": \"sentence_transformers.models." + type + "\"}";
    }

    /** A vector and the largest error of its elements. */
    @SuppressWarnings("ArrayRecordComponent")
    record Bounded(double[] vector, double error) {
        /**
         * Returns the vector divided by its norm n. An element x / n has an error of e / n, an error from n of at most sqrt(length) e / n,
         * because x / n <= 1, and is rounded once.
         */
        Bounded normalized() {
            double squares = 0;
            for (double x : vector) {
                squares += x * x;
            }
            double norm = Math.sqrt(squares);
            double[] unit = vector.clone();
            for (int i = 0; i < unit.length; i++) {
                unit[i] /= norm;
            }
            return new Bounded(unit, (1 + Math.sqrt(vector.length)) * error / norm + U);
        }
    }

    /**
     * Computes the module. A product of n elements with errors of e has an error of e sum |w|, and an error of (n + 1) u sum |w x| from
     * rounding. The functions of PyTorch used here have a slope of at most 1.13, and an error of at most 16 u relative to the larger of
     * input and output.
     */
    Bounded forward(Bounded x) {
        double[] values = x.vector;
        double[] bias = config.hasBias() ? values("linear.bias") : null;
        double[] weight = values("linear.weight");
        double[] y = ReferenceLinear.forward(values, weight, bias, config.outputs(), config.inputs());
        double error = 0;
        for (int i = 0; i < y.length; i++) {
            double z = y[i];
            y[i] = function(z);
            error = Math.max(error, 1.13 * error(x, weight, i, z) + 16 * U * Math.max(Math.abs(z), Math.abs(y[i])));
        }
        if (config.addsInput()) {
            double[] residual = config.inputs() == config.outputs() ? null : values("residual.weight");
            double[] added = residual == null
                    ? values
                    : ReferenceLinear.forward(values, residual, null, config.outputs(), config.inputs());
            double most = 0;
            for (int i = 0; i < y.length; i++) {
                y[i] += added[i];
                double one = residual == null ? x.error : error(x, residual, i, added[i]);
                most = Math.max(most, one + 2 * U * Math.abs(y[i]));
            }
            error += most;
        }
        return new Bounded(y, error);
    }

    private double error(Bounded x, double[] weight, int row, double z) {
        double error = U * Math.abs(z);
        for (int j = 0; j < config.inputs(); j++) {
            double w = Math.abs(weight[row * config.inputs() + j]);
            error += w * x.error + (config.inputs() + 1) * U * w * Math.abs(x.vector[j]);
        }
        return error;
    }

    private double function(double x) {
        return switch (config.function()) {
            case IDENTITY -> x;
            case TANH -> Math.tanh(x);
            case SIGMOID -> 1 / (1 + Math.exp(-x));
            case RELU -> Math.max(x, 0);
            case GELU -> ReferenceActivation.gelu(x);
            case SILU -> ReferenceActivation.silu(x);
        };
    }

    private double[] values(String weight) {
        float[] values = weights.get(weight).toArray();
        double[] result = new double[values.length];
        for (int i = 0; i < result.length; i++) {
            result[i] = values[i];
        }
        return result;
    }
}
