package io.multihead.jmh.bench;

import io.multihead.jmh.data.Data;
import io.multihead.jmh.rival.ScalarLayers;
import io.multihead.nn.Gelu;
import io.multihead.nn.Layer;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Pass;
import io.multihead.nn.Silu;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.Map;
import org.openjdk.jmh.annotations.Param;

/**
 * Layer normalization, GELU and SiLU of 1024 x 1024 numbers, forward and backward. Backward includes the parameters'
 * gradients.
 */
public class LayersBench extends ThreadedComparison {
    private static final int SIZE = 1024;

    @Param({"multihead", "scalar"})
    public String impl;

    @Param({"layerNorm", "gelu", "geluTanh", "silu"})
    public String layer;

    @Param({"forward", "backward"})
    public String direction;

    private final FloatBuffer x = Data.gaussian(SIZE * SIZE, 1);
    private final FloatBuffer weight = Data.gaussian(SIZE, 2);
    private final FloatBuffer bias = Data.gaussian(SIZE, 3);
    private final FloatBuffer dy = Data.gaussian(SIZE * SIZE, 4);

    @Override
    void open() throws Exception {
        Writer own = result -> switch (impl) {
            case "multihead" -> multihead(result);
            case "scalar" -> scalar(result);
            default -> throw unknown(impl);
        };
        // f32 sums of 1024 numbers in two orders, and the error of the scalar error function
        compare(impl, SIZE * SIZE, this::multihead, own, 1e-5);
    }

    private Runnable multihead(FloatBuffer result) {
        Layer made =
                switch (layer) {
                    case "gelu" -> Gelu.erf();
                    case "geluTanh" -> Gelu.tanh();
                    case "silu" -> Silu.of();
                    default -> LayerNorm.of(Shape.of(SIZE), 1e-5, row(weight), row(bias));
                };
        Tensor input = matrix(x);
        Tensor to = matrix(result);
        if (direction.equals("forward")) {
            return () -> made.forward(cpu, input, to);
        }
        Pass recorded = kept(made.record(cpu, input, matrix(Data.zeros(SIZE * SIZE))));
        Tensor given = matrix(dy);
        Map<String, Tensor> gradients = Map.of("weight", row(Data.zeros(SIZE)), "bias", row(Data.zeros(SIZE)));
        return () -> recorded.backward(given, to, gradients);
    }

    private Runnable scalar(FloatBuffer result) {
        float[] from = Data.array(x);
        float[] given = Data.array(dy);
        float[] w = Data.array(weight);
        float[] b = Data.array(bias);
        float[] to = new float[SIZE * SIZE];
        float[] weightGradient = new float[SIZE];
        float[] biasGradient = new float[SIZE];
        boolean forward = direction.equals("forward");
        Runnable loops =
                switch (layer) {
                    case "gelu" ->
                        forward ? () -> ScalarLayers.gelu(from, to) : () -> ScalarLayers.geluGradient(from, given, to);
                    case "geluTanh" ->
                        forward
                                ? () -> ScalarLayers.geluTanh(from, to)
                                : () -> ScalarLayers.geluTanhGradient(from, given, to);
                    case "silu" ->
                        forward ? () -> ScalarLayers.silu(from, to) : () -> ScalarLayers.siluGradient(from, given, to);
                    default ->
                        forward
                                ? () -> ScalarLayers.layerNorm(from, w, b, to)
                                : () -> ScalarLayers.layerNormGradient(
                                        from, w, given, to, weightGradient, biasGradient);
                };
        return () -> {
            loops.run();
            result.duplicate().put(to); // copies to the memory that the library writes to
        };
    }

    private static Tensor matrix(FloatBuffer buffer) {
        return Data.tensor(buffer, SIZE, SIZE);
    }

    private static Tensor row(FloatBuffer buffer) {
        return Data.tensor(buffer, SIZE);
    }
}
