package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.MambaRule;
import io.multihead.internal.load.Weights;
import io.multihead.model.LinearGroup;
import io.multihead.model.Mamba2;
import io.multihead.model.Mamba2Heads;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;

/** Makes the Mamba-2 part of a layer. */
final class MambaLayer {
    private MambaLayer() {}

    static Mamba2 of(DecoderConfig config, MambaRule rule, Weights weights, String at) {
        Mamba2Heads heads = rule.heads();
        int dim = config.sizes().dim();
        int width = heads.heads() * heads.headDim();
        int channels = width + 2 * heads.groups() * heads.stateDim();
        PackedLinear in = LinearLayer.linear(weights, at + "ssm_in", width + channels + heads.heads(), dim);
        PackedLinear out = LinearLayer.linear(weights, at + "ssm_out", dim, width);
        String d = at + (weights.has(at + "ssm_d") ? "ssm_d" : "ssm_d.weight");
        Mamba2 part = Mamba2.of(
                        heads,
                        LinearGroup.concatenated(in, width, channels, heads.heads()),
                        LinearLayer.taps(weights, at + "ssm_conv1d.weight", channels, rule.taps()),
                        LinearLayer.decay(weights, at, heads.heads()),
                        Norm.rms(
                                LinearLayer.row(weights, at + "ssm_norm.weight", width),
                                config.norms().epsilon()),
                        LinearLayer.scaled(out, config.norms().residualScale()))
                .withSkip(LinearLayer.row(weights, d, heads.heads()))
                .withNormParts(rule.normParts());
        String bias = at + "ssm_conv1d.bias";
        return weights.has(bias) ? part.withConvolutionBias(weights.numbers(bias, channels)) : part;
    }
}
