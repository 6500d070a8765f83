package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.Beside;
import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.load.Weights;
import io.multihead.model.Experts;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.Router;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes the experts of a layer. Files have one of three forms: one tensor each for the gates, the ups and the downs of all experts, as in
 * GGUF files; one tensor for gates and ups together and one for the downs; or separate matrices for each expert.
 */
final class ExpertLayer {
    private final DecoderConfig config;
    private final Weights weights;
    private final ExpertRule rule;
    private final String at;
    private final int dim;
    /** The biases of all experts, by the names of their tensors. */
    private final Map<String, Tensor> allBiases = new HashMap<>();

    private ExpertLayer(DecoderConfig config, ExpertRule rule, Weights weights, String at) {
        this.config = config;
        this.weights = weights;
        this.rule = rule;
        this.at = at;
        dim = config.sizes().dim();
    }

    static Experts of(DecoderConfig config, ExpertRule rule, Weights weights, String at) {
        return new ExpertLayer(config, rule, weights, at).build();
    }

    private Experts build() {
        PackedLinear logits = own("ffn_gate_inp", rule.count(), dim);
        Router plain = Router.of(logits, rule.used())
                .withNormalized(rule.normalized())
                .withScale(config.norms().residualScale());
        Router router = rule.beside() == Beside.BRANCH ? withNorm(plain) : plain;
        boolean whole = weights.has(name("gate_exps"));
        boolean joined = weights.has(name("gate_up_exps"));
        int inner = whole
                ? weights.outputsOfEach(name("gate_exps"))
                : joined ? weights.outputsOfEach(name("gate_up_exps")) / 2 : weights.outputs(name("gate.0"));
        List<FeedForward> experts = new ArrayList<>();
        for (int expert = 0; expert < rule.count(); expert++) {
            LinearGroup gateAndUp;
            if (joined) {
                gateAndUp = LinearGroup.of(
                        part("gate_up_exps", expert, 2 * inner, dim, 0, inner),
                        part("gate_up_exps", expert, 2 * inner, dim, inner, 2 * inner));
            } else {
                gateAndUp = LinearGroup.of(
                        matrix("gate", whole, expert, inner, dim), matrix("up", whole, expert, inner, dim));
            }
            PackedLinear down = matrix("down", whole || joined, expert, dim, inner);
            DecoderConfig.Clamp clamp = rule.clamp();
            experts.add(
                    clamp == null
                            ? FeedForward.gated(config.activation(), gateAndUp, down)
                            : FeedForward.clamped(clamp.slope(), clamp.limit(), gateAndUp, down));
        }
        Experts part = Experts.of(router, experts);
        return switch (rule.beside()) {
            case NOTHING, BRANCH -> part;
            case NETWORK -> part.withShared(shared());
            case GATED -> part.withShared(shared().withTokenGate(tokenGate()));
        };
    }

    /**
     * Returns the router with normalized input and with a factor for each expert. The weights of the norm include the factor {@code 1 /
     * sqrt(dim)}.
     */
    private Router withNorm(Router router) {
        float[] factors = weights.numbers(at + "ffn_gate_inp.scale", dim).toArray();
        for (int i = 0; i < dim; i++) {
            factors[i] = (float) (factors[i] / Math.sqrt(dim));
        }
        String scales = at + "ffn_down_exps.scale";
        return router.withNorm(Norm.rms(Tensor.of(factors), config.norms().epsilon()))
                .withExpertScales(weights.has(scales) ? weights.numbers(scales, rule.count()) : null);
    }

    private FeedForward shared() {
        boolean joined = weights.has(name("gate_up_shexp"));
        int inner = joined ? weights.outputs(name("gate_up_shexp")) / 2 : weights.outputs(name("gate_shexp"));
        LinearGroup gateAndUp = joined
                ? LinearLayer.parts(weights, name("gate_up_shexp"), dim, inner, inner)
                : LinearGroup.of(own("ffn_gate_shexp", inner, dim), own("ffn_up_shexp", inner, dim));
        PackedLinear down = own("ffn_down_shexp", dim, inner);
        double scale = config.norms().residualScale();
        return FeedForward.gated(config.activation(), gateAndUp, LinearLayer.scaled(down, scale));
    }

    /** GGUF files store the gate of each token without the axis of its single output. */
    private Tensor tokenGate() {
        String gate = name("gate_inp_shexp");
        return weights.shape(gate).rank() == 1
                ? weights.numbers(gate, dim)
                : weights.numbers(gate, 1, dim).reshape(dim);
    }

    private String name(String part) {
        return at + "ffn_" + part + ".weight";
    }

    private PackedLinear matrix(String part, boolean whole, int expert, int outputs, int inputs) {
        return whole
                ? part(part + "_exps", expert, outputs, inputs, 0, outputs)
                : own("ffn_" + part + "." + expert, outputs, inputs);
    }

    private PackedLinear own(String part, int outputs, int inputs) {
        return LinearLayer.linear(weights, at + part, outputs, inputs);
    }

    /** Takes the rows of one expert's matrix from the tensor of all experts. */
    private PackedLinear part(String part, int expert, int outputs, int inputs, int from, int to) {
        Shape all = Shape.of(rule.count(), outputs, inputs);
        PackedWeights rows = weights.rowsOf(name(part), all, expert, from, to);
        String biases = at + "ffn_" + part + ".bias";
        boolean hasBiases = to - from == outputs && weights.has(biases);
        return PackedLinear.of(rows, hasBiases ? bias(biases, expert, outputs) : null);
    }

    private Tensor bias(String name, int expert, int outputs) {
        return allBiases
                .computeIfAbsent(name, all -> weights.numbers(all, rule.count(), outputs))
                .select(0, expert);
    }
}
