package io.multihead.decoder;

import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.reference.ReferenceMamba2;
import io.multihead.reference.ReferenceTransformer.Norm;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The layers of Granite 4: their tensors as in GGUF files, the names and joined matrices of folders, and the specification. */
final class FamilyMamba {
    static final String TYPE = "granitemoehybrid";

    private static final int HEADS = 8;
    private static final int HEAD_DIM = 16;
    private static final int GROUPS = 2;
    private static final int STATE = 24;
    private static final int TAPS = 4;
    private static final int WIDTH = HEADS * HEAD_DIM;
    private static final int CHANNELS = WIDTH + 2 * GROUPS * STATE;

    private FamilyMamba() {}

    static void draw(FamilyFile file, String at, int dim) {
        file.draw(at + "attn_norm.weight", 1, 0.2, dim);
        file.draw(at + "ssm_in.weight", 0.02, 0.12, WIDTH + CHANNELS + HEADS, dim);
        file.draw(at + "ssm_conv1d.weight", 0.3, 0.5, CHANNELS, TAPS);
        file.draw(at + "ssm_conv1d.bias", 0.1, 0.3, CHANNELS);
        file.draw(at + "ssm_dt.bias", -2, 1, HEADS);
        file.draw(at + "ssm_a", -1, 0.1, HEADS, 1);
        file.draw(at + "ssm_d", 1, 0.3, HEADS, 1);
        file.draw(at + "ssm_norm.weight", 1, 0.3, GROUPS, WIDTH / GROUPS);
        file.draw(at + "ssm_out.weight", 0.02, 0.1, dim, WIDTH);
    }

    static void metadata(Kind kind, GgufWriter writer, int keyHeads) {
        String at = kind.architecture + ".";
        long[] heads = new long[kind.layers];
        Arrays.setAll(heads, layer -> kind.isMamba(layer) ? 0 : keyHeads);
        writer.put(at + "attention.head_count_kv", GgufValue.ofIntegers(GgufType.I32, heads))
                .put(at + "rope.scaling.finetuned", GgufValue.ofBool(kind == Kind.GRANITE_HYBRID_DENSE))
                .put(at + "ssm.conv_kernel", FamilyFile.number(TAPS))
                .put(at + "ssm.state_size", FamilyFile.number(STATE))
                .put(at + "ssm.group_count", FamilyFile.number(GROUPS))
                .put(at + "ssm.time_step_rank", FamilyFile.number(HEADS))
                .put(at + "ssm.inner_size", FamilyFile.number(WIDTH));
    }

    static String config(Kind kind, int inner) {
        List<String> types = IntStream.range(0, kind.layers)
                .mapToObj(layer -> kind.isMamba(layer) ? "\"mamba\"" : "\"attention\"")
                .toList();
        boolean dense = kind == Kind.GRANITE_HYBRID_DENSE;
        return ", \"layer_types\": " + types + ", \"mamba_n_heads\": " + HEADS + ", \"mamba_d_head\": " + HEAD_DIM
                + ", \"mamba_n_groups\": " + GROUPS + ", \"mamba_d_state\": " + STATE + ", \"mamba_d_conv\": " + TAPS
                + ", \"mamba_expand\": 2, \"mamba_conv_bias\": true, \"mamba_proj_bias\": false"
                + ", \"position_embedding_type\": " + (dense ? "\"rope\"" : "\"nope\"")
                + ", \"num_local_experts\": " + (dense ? 0 : FamilyExperts.COUNT)
                + ", \"num_experts_per_tok\": " + (dense ? 0 : FamilyExperts.USED)
                + ", \"shared_intermediate_size\": " + (dense ? inner : inner + 32)
                + ", \"attention_multiplier\": " + FamilyExperts.ATTENTION_SCALE
                + ", \"embedding_multiplier\": " + FamilyExperts.EMBEDDING_SCALE
                + ", \"residual_multiplier\": " + FamilyExperts.RESIDUAL_SCALE
                + ", \"logits_scaling\": " + FamilyExperts.LOGITS_SCALING;
    }

    /** Returns the tensors of transformers' models, in which gates and ups are one matrix. */
    static Map<String, Tensor> huggingFace(Map<String, Tensor> tensors) {
        Map<String, Tensor> all = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> {
            if (name.contains("ffn_gate_exps")) {
                Tensor ups = tensors.get(name.replace("gate", "up"));
                all.put(huggingFaceName(name), FamilyExperts.joined(tensor, ups));
            } else if (name.matches(".*ffn_gate(_shexp)?\\.weight")) {
                Tensor ups = tensors.get(name.replace("gate", "up"));
                all.put(huggingFaceName(name), joined(tensor, ups));
            } else if (name.endsWith("ssm_d") || name.contains("ssm_norm")) {
                all.put(huggingFaceName(name), tensor.reshape(tensor.shape().elements()));
            } else if (!name.contains("ffn_up")) {
                all.put(huggingFaceName(name), tensor);
            }
        });
        return all;
    }

    private static Tensor joined(Tensor gates, Tensor ups) {
        Tensor all = Tensor.of(new float[2 * (int) gates.shape().elements()], 2 * gates.dim(0), gates.dim(1));
        Tensor.concat(0, all, gates, ups);
        return all;
    }

    private static String huggingFaceName(String name) {
        return ("model." + name)
                .replace("output_norm", "norm")
                .replace("token_embd", "embed_tokens")
                .replace("blk.", "layers.")
                .replace("attn_norm", "input_layernorm")
                .replace("ffn_norm", "post_attention_layernorm")
                .replace("attn_q.", "self_attn.q_proj.")
                .replace("attn_k.", "self_attn.k_proj.")
                .replace("attn_v.", "self_attn.v_proj.")
                .replace("attn_output", "self_attn.o_proj")
                .replace("ffn_gate_inp", "block_sparse_moe.router.layer")
                .replace("ffn_gate_exps", "block_sparse_moe.input_linear")
                .replace("ffn_down_exps", "block_sparse_moe.output_linear")
                .replaceAll("ffn_gate(_shexp)?\\.", "shared_mlp.input_linear.")
                .replaceAll("ffn_down(_shexp)?\\.", "shared_mlp.output_linear.")
                .replace("ssm_in", "mamba.in_proj")
                .replace("ssm_conv1d", "mamba.conv1d")
                .replace("ssm_dt.bias", "mamba.dt_bias")
                .replace("ssm_a", "mamba.A_log")
                .replace("ssm_d", "mamba.D")
                .replace("ssm_norm", "mamba.norm")
                .replace("ssm_out", "mamba.out_proj");
    }

    /**
     * Returns the specification of the layer.
     *
     * @param isOneNorm whether all results are normalized together, as in folders, instead of each group separately
     */
    static ReferenceMamba2 reference(FamilyFile file, String at, boolean isOneNorm) {
        double[] weight = file.wide(at + "ssm_norm.weight");
        int each = isOneNorm ? WIDTH : WIDTH / GROUPS;
        return new ReferenceMamba2(
                file.linear(at + "ssm_in.weight"),
                file.wide(at + "ssm_conv1d.weight"),
                file.wide(at + "ssm_conv1d.bias"),
                new ReferenceMamba2.Heads(
                        GROUPS, file.wide(at + "ssm_a"), file.wide(at + "ssm_dt.bias"), file.wide(at + "ssm_d")),
                IntStream.range(0, WIDTH / each)
                        .mapToObj(i -> Arrays.copyOfRange(weight, i * each, (i + 1) * each))
                        .map(part -> new Norm(part, null, FamilyFile.EPSILON, false, false))
                        .toList(),
                FamilyFile.scaled(file.linear(at + "ssm_out.weight"), file.residualScale()));
    }
}
