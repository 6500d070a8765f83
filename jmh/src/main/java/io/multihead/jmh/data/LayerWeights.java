package io.multihead.jmh.data;

import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;

/** The parameters of one attention layer, without zeros, in PyTorch's layout: {@code [out, in]}, query, key, value. */
public record LayerWeights(
        int features, FloatBuffer inWeight, FloatBuffer inBias, FloatBuffer outWeight, FloatBuffer outBias) {
    /** Returns random parameters with which outputs have the size of inputs. */
    public static LayerWeights draw(int features) {
        float factor = (float) (1 / Math.sqrt(features));
        return new LayerWeights(
                features,
                Data.gaussian(3 * features * features, 11, factor, 0),
                Data.gaussian(3 * features, 12, factor, 0),
                Data.gaussian(features * features, 13, factor, 0),
                Data.gaussian(features, 14, factor, 0));
    }

    /** Returns the parameter with PyTorch's name, or null if this layer does not have it. */
    public Tensor tensor(String name) {
        return switch (name) {
            case "in_proj_weight" -> Data.tensor(inWeight, 3L * features, features);
            case "in_proj_bias" -> Data.tensor(inBias, 3L * features);
            case "out_proj.weight" -> Data.tensor(outWeight, features, features);
            case "out_proj.bias" -> Data.tensor(outBias, features);
            default -> null;
        };
    }

    /** Returns the weight of query (0), key (1), value (2) or output (3) as a right operand {@code [in, out]}. */
    public FloatBuffer transposed(int part) {
        int length = features * features;
        FloatBuffer rows = part == 3 ? outWeight : inWeight.slice(part * length, length);
        return Data.transposed(rows, features, features);
    }

    public FloatBuffer bias(int part) {
        return part == 3 ? outBias : inBias.slice(part * features, features);
    }
}
