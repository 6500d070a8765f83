package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceExperts;
import io.multihead.reference.ReferenceTransformer.ClampedFeedForward;
import io.multihead.reference.ReferenceTransformer.FeedForward;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ReferenceTransformer.Rows;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The experts of a small model: their tensors as in GGUF files, the tensors of folders, and the specification. */
final class FamilyExperts {
    static final int COUNT = 6;
    static final int USED = 2;
    private static final String GATES = "ffn_gate_exps.weight";
    private static final String UPS = "ffn_up_exps.weight";
    private static final String SHARED_GATE = "ffn_gate_inp_shexp.weight";
    private static final String DOWNS = "ffn_down_exps.weight";

    /** Factors of Granite, all exact in f32. */
    static final double EMBEDDING_SCALE = 3;

    static final double ATTENTION_SCALE = 0.375;
    static final double RESIDUAL_SCALE = 0.625;
    static final double LOGITS_SCALING = 2;

    private FamilyExperts() {}

    /** Draws experts, and the additional parameters of GPT-OSS: biases and sinks. */
    static void draw(FamilyFile file, String at, int dim, int inner, int heads) {
        // the spread of logits is wide, so that rounding does not change the choice of experts
        file.draw(at + "ffn_gate_inp.weight", 0, 0.5, COUNT, dim);
        file.draw(at + GATES, 0.02, 0.12, COUNT, inner, dim);
        file.draw(at + UPS, 0.02, 0.12, COUNT, inner, dim);
        file.draw(at + DOWNS, 0.02, 0.1, COUNT, dim, inner);
        if (file.kind == Kind.QWEN_3_5_MOE) {
            file.draw(at + SHARED_GATE, 0.05, 0.2, dim);
        }
        if (file.kind.hasSharedExpert()) {
            file.draw(at + "ffn_gate_shexp.weight", 0.02, 0.12, inner + 32, dim);
            file.draw(at + "ffn_up_shexp.weight", 0.02, 0.12, inner + 32, dim);
            file.draw(at + "ffn_down_shexp.weight", 0.02, 0.1, dim, inner + 32);
        }
        if (file.kind == Kind.GPT_OSS) {
            file.draw(at + "attn_sinks.weight", 0.5, 1, heads);
            file.draw(at + "attn_output.bias", 0.1, 0.3, dim);
            file.draw(at + "ffn_gate_inp.bias", 0, 0.5, COUNT);
            // some results exceed the limit of the activation
            file.draw(at + "ffn_gate_exps.bias", 2, 5, COUNT, inner);
            file.draw(at + "ffn_up_exps.bias", 0, 5, COUNT, inner);
            file.draw(at + "ffn_down_exps.bias", 0.1, 0.3, COUNT, dim);
        }
    }

    /** Adds the settings of experts, the frequencies of GPT-OSS, and the factors of Granite. */
    static void metadata(Kind kind, GgufWriter writer, int inner) {
        String at = kind.architecture + ".";
        if (kind.hasExperts()) {
            writer.put(at + "expert_count", FamilyFile.number(COUNT))
                    .put(at + "expert_used_count", FamilyFile.number(USED))
                    .put(at + "expert_feed_forward_length", FamilyFile.number(inner));
        }
        if (kind.hasSharedExpert()) {
            writer.put(at + "expert_shared_feed_forward_length", FamilyFile.number(inner + 32L));
        }
        if (kind == Kind.GPT_OSS) {
            writer.put(at + "rope.scaling.type", GgufValue.ofString("yarn"))
                    .put(at + "rope.scaling.factor", GgufValue.ofF32(4))
                    .put(at + "rope.scaling.original_context_length", FamilyFile.number(FamilyFile.ORIGINAL));
        }
        if (kind.isGranite()) {
            writer.put(at + "attention.scale", GgufValue.ofF32((float) ATTENTION_SCALE))
                    .put(at + "embedding_scale", GgufValue.ofF32((float) EMBEDDING_SCALE))
                    .put(at + "residual_scale", GgufValue.ofF32((float) RESIDUAL_SCALE))
                    .put(at + "logit_scale", GgufValue.ofF32((float) LOGITS_SCALING));
        }
    }

    /** Returns the specification of the layer. The factors of the chosen experts are divided by their sum. */
    static Rows of(FamilyFile file, String at) {
        List<Rows> experts = new ArrayList<>();
        for (int expert = 0; expert < COUNT; expert++) {
            Linear gate = linear(file, at + GATES, expert);
            Linear up = linear(file, at + UPS, expert);
            Linear down = linear(file, at + DOWNS, expert);
            experts.add(
                    file.kind == Kind.GPT_OSS
                            ? new ClampedFeedForward(gate, up, down, 1.702, 7)
                            : new FeedForward(gate, up, down, ReferenceActivation::silu));
        }
        ReferenceExperts.Rule rule = new ReferenceExperts.Rule(USED, false, true, file.residualScale(), null);
        Rows shared = file.kind.hasSharedExpert() ? shared(file, at) : null;
        return new ReferenceExperts(file.linear(at + "ffn_gate_inp.weight"), rule, experts, shared);
    }

    private static Rows shared(FamilyFile file, String at) {
        Rows network = new FeedForward(
                file.linear(at + "ffn_gate_shexp.weight"),
                file.linear(at + "ffn_up_shexp.weight"),
                FamilyFile.scaled(file.linear(at + "ffn_down_shexp.weight"), file.residualScale()),
                ReferenceActivation::silu);
        if (file.kind.isGranite()) {
            return network;
        }
        return new ReferenceExperts.TokenGate(wide(file.tensor(at + SHARED_GATE)), network);
    }

    private static Linear linear(FamilyFile file, String name, int expert) {
        Tensor one = file.tensor(name).select(0, expert);
        String biases = name.replace(".weight", ".bias");
        boolean hasBiases = file.others().contains(biases);
        double[] bias = hasBiases ? wide(file.tensor(biases).select(0, expert)) : null;
        return new Linear(wide(one), bias, (int) one.dim(0), (int) one.dim(1));
    }

    private static double[] wide(Tensor tensor) {
        float[] values = tensor.toArray();
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return wide;
    }

    /**
     * Replaces the tensors that contain all experts by the tensors of transformers' models: one per expert, or, if {@code joined}, gates
     * and ups in one tensor.
     */
    static Map<String, Tensor> huggingFace(Map<String, Tensor> tensors, boolean joined) {
        Map<String, Tensor> all = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> {
            if (!name.contains("_exps")) {
                all.put(name, tensor);
            } else if (!joined) {
                for (int expert = 0; expert < COUNT; expert++) {
                    String own = "mlp.experts." + expert + ".$1_proj.weight";
                    all.put(name.replaceFirst("ffn_(\\w+)_exps.weight", own), tensor.select(0, expert));
                }
            } else if (name.endsWith(GATES)) {
                Tensor ups = tensors.get(name.replace(GATES, UPS));
                all.put(name.replace(GATES, "mlp.experts.gate_up_proj"), joined(tensor, ups));
            } else if (!name.endsWith(UPS)) {
                all.put(name.replace("ffn_down_exps.weight", "mlp.experts.down_proj"), tensor);
            }
        });
        return all;
    }

    static Tensor joined(Tensor gates, Tensor ups) {
        long inner = gates.dim(1);
        int elements = (int) (2 * gates.shape().elements());
        Tensor all = Tensor.of(new float[elements], gates.dim(0), 2 * inner, gates.dim(2));
        gates.copyTo(all.slice(1, 0, inner));
        ups.copyTo(all.slice(1, inner, 2 * inner));
        return all;
    }
}
