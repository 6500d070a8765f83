package io.multihead.decoder;

import io.multihead.decoder.DecoderConfig.ExpertRule;
import io.multihead.internal.load.Weights;
import io.multihead.model.Experts;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.PackedLinear;
import io.multihead.model.Router;
import io.multihead.tensor.Shape;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes the experts of a layer: of tensors with all experts' gates, ups and downs, as GGUF files have them, of such tensors with gates and
 * ups in one, or of matrices of each expert.
 */
final class ExpertLayer {
    private final DecoderConfig config;
    private final Weights weights;
    private final ExpertRule rule;
    private final String at;
    private final int dim;

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
        PackedLinear logits = PackedLinear.of(weights.matrix(at + "ffn_gate_inp.weight", rule.count(), dim));
        Router router = Router.of(logits, rule.used()).withNormalised(rule.normalised());
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
            experts.add(FeedForward.gated(config.activation(), gateAndUp, down));
        }
        return Experts.of(router, experts);
    }

    private String name(String part) {
        return at + "ffn_" + part + ".weight";
    }

    private PackedLinear matrix(String part, boolean whole, int expert, int outputs, int inputs) {
        return whole
                ? part(part + "_exps", expert, outputs, inputs, 0, outputs)
                : PackedLinear.of(weights.matrix(name(part + "." + expert), outputs, inputs));
    }

    /** Takes rows of one expert's matrix out of the tensor of all. */
    private PackedLinear part(String part, int expert, int outputs, int inputs, int from, int to) {
        Shape all = Shape.of(rule.count(), outputs, inputs);
        return PackedLinear.of(weights.rowsOf(name(part), all, expert, from, to));
    }
}
