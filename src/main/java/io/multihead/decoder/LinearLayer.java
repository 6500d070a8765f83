package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.LinearRule;
import io.multihead.internal.load.Weights;
import io.multihead.model.GatedLinearAttention;
import io.multihead.model.LinearDecay;
import io.multihead.model.LinearGroup;
import io.multihead.model.LinearHeads;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Makes the linear attention of a layer. */
final class LinearLayer {
    private LinearLayer() {}

    static GatedLinearAttention of(DecoderConfig config, LinearRule rule, Weights weights, String at) {
        LinearHeads heads = rule.heads();
        int dim = config.sizes().dim();
        int width = heads.valueHeads() * heads.valueDim();
        int channels = 2 * heads.keyHeads() * heads.keyDim() + width;
        LinearGroup projections = LinearGroup.of(
                linear(weights, at + "attn_qkv", channels, dim),
                linear(weights, at + "attn_gate", width, dim),
                linear(weights, at + "ssm_beta", heads.valueHeads(), dim),
                linear(weights, at + "ssm_alpha", heads.valueHeads(), dim));
        return GatedLinearAttention.of(
                heads,
                projections,
                taps(weights, at + "ssm_conv1d.weight", channels, rule.taps()),
                decay(weights, at, heads.valueHeads()),
                // this norm's weights are stored unchanged, unlike the weights of the family's other norms, which are
                // stored minus 1
                Norm.rms(
                        weights.numbers(at + "ssm_norm.weight", heads.valueDim()),
                        config.norms().epsilon()),
                linear(weights, at + "ssm_out", dim, width));
    }

    static PackedLinear linear(Weights weights, String name, int outputs, int inputs) {
        return weights.linear(name, outputs, inputs, weights.has(name + ".bias"));
    }

    /** Divides a fused matrix into its parts, by rows. */
    static LinearGroup parts(Weights weights, String name, int inputs, int... outputs) {
        Shape whole = Shape.of(Arrays.stream(outputs).sum(), inputs);
        PackedLinear[] parts = new PackedLinear[outputs.length];
        int from = 0;
        for (int i = 0; i < parts.length; i++) {
            parts[i] = PackedLinear.of(weights.rows(name, whole, from, from + outputs[i]));
            from += outputs[i];
        }
        return LinearGroup.of(parts);
    }

    /** Returns the factors {@code [channels, taps]} of a convolution. PyTorch stores another axis, for the one input of each channel. */
    static Tensor taps(Weights weights, String name, int channels, int taps) {
        return weights.has(name) && weights.shape(name).rank() == 3
                ? weights.numbers(name, channels, 1, taps).reshape(channels, taps)
                : weights.numbers(name, channels, taps);
    }

    /** Returns the decays. GGUF files store their slopes, and other files store the logarithms of the slopes' magnitudes. */
    static LinearDecay decay(Weights weights, String at, int heads) {
        Tensor biases = weights.numbers(at + "ssm_dt.bias", heads);
        if (weights.has(at + "ssm_a")) {
            return LinearDecay.of(row(weights, at + "ssm_a", heads), biases);
        }
        float[] slopes = weights.numbers(at + "ssm_a_log.weight", heads).toArray();
        for (int i = 0; i < slopes.length; i++) {
            slopes[i] = (float) -StrictMath.exp(slopes[i]);
        }
        return LinearDecay.of(Tensor.of(slopes), biases);
    }

    /** Returns a row of numbers, which files may also store as a matrix. */
    static Tensor row(Weights weights, String name, int count) {
        Shape shape = weights.shape(name);
        return shape.rank() == 2 && shape.elements() == count
                ? weights.numbers(name, shape.dim(0), shape.dim(1)).reshape(count)
                : weights.numbers(name, count);
    }

    /** Returns a layer with a factor of its results. */
    static PackedLinear scaled(PackedLinear layer, double scale) {
        Tensor bias = layer.bias();
        if (scale == 1) {
            return layer;
        }
        if (bias == null) {
            return layer.withScale(scale);
        }
        float[] scaled = bias.toArray();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] = (float) (scaled[i] * scale);
        }
        return PackedLinear.of(layer.weights(), Tensor.of(scaled)).withScale(scale);
    }
}
