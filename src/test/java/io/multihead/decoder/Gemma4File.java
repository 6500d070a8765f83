package io.multihead.decoder;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.reference.ReferenceActivation;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * A small model with Gemma 4's architecture and random weights, as a file and as plain loops in double according to its publication. Every
 * second layer has no window. In the architecture of the small models, the last three layers share keys of earlier layers, and each layer
 * has additional embeddings. In the architecture of the large model there are experts, and in layers without a window the keys are also the
 * values.
 */
final class Gemma4File {
    static final String NAME = "GEMMA_4";
    static final String LARGE = "GEMMA_4_EXPERTS";
    static final int LAYERS = 7;
    private static final int CONTEXT = 200;
    private static final int EXPERTS = 5;
    private static final int USED = 2;
    private static final int EXPERT_INNER = 32;
    private static final int DIM = 64;
    private static final int HEADS = 4;
    private static final int INNER = 96;
    private static final int WINDOW = 4;
    private static final double GLOBAL_THETA = 50_000;
    private static final double LOCAL_THETA = 10_000;
    private static final double EPSILON = 0x1p-16;
    private static final double CAP = 30;

    private final SplittableRandom random;
    private final Map<String, Tensor> weights = new LinkedHashMap<>();
    /** The number of key heads of layers without a window. In folders of small models, all layers have the same number. */
    private final int globalKeyHeads;

    private final boolean large;
    /** The number of layers that do not share keys. */
    private final int own;
    /** The number of elements of the additional embeddings of a layer. */
    private final int input;

    Gemma4File(long seed, int globalKeyHeads) {
        this(seed, globalKeyHeads, false);
    }

    Gemma4File(long seed, int globalKeyHeads, boolean large) {
        random = new SplittableRandom(seed);
        this.globalKeyHeads = globalKeyHeads;
        this.large = large;
        own = large ? LAYERS : 4;
        input = large ? 0 : 32;
        draw("token_embd.weight", 0, 0.15, FamilyFile.VOCABULARY, DIM);
        draw("output_norm.weight", 1, 0.2, DIM);
        if (!large) {
            draw("per_layer_token_embd.weight", 0, 0.2, FamilyFile.VOCABULARY, LAYERS * input);
            draw("per_layer_model_proj.weight", 0.02, 0.5, LAYERS * input, DIM);
            draw("per_layer_proj_norm.weight", 1, 0.2, input);
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            String at = "blk." + layer + ".";
            int queries = HEADS * headDim(layer);
            int inner = inner(layer);
            draw(at + "attn_norm.weight", 1, 0.2, DIM);
            draw(at + "attn_q.weight", 0.02, 0.12, queries, DIM);
            draw(at + "attn_q_norm.weight", 1, 0.3, headDim(layer));
            if (layer < own) {
                draw(at + "attn_k.weight", 0.02, 0.12, keyHeads(layer) * headDim(layer), DIM);
                if (!large || !isGlobal(layer)) {
                    draw(at + "attn_v.weight", 0.02, 0.12, keyHeads(layer) * headDim(layer), DIM);
                }
                draw(at + "attn_k_norm.weight", 0.5, 0.2, headDim(layer));
            }
            draw(at + "attn_output.weight", 0.02, 0.1, DIM, queries);
            draw(at + "post_attention_norm.weight", 0.5, 0.2, DIM);
            draw(at + "ffn_norm.weight", 1, 0.2, DIM);
            draw(at + "ffn_gate.weight", 0.02, 0.12, inner, DIM);
            draw(at + "ffn_up.weight", 0.02, 0.12, inner, DIM);
            draw(at + "ffn_down.weight", 0.02, 0.1, DIM, inner);
            draw(at + "post_ffw_norm.weight", 0.5, 0.2, DIM);
            drawOfKind(at);
            draw(at + "layer_output_scale.weight", 0.8, 0.1, 1);
        }
    }

    private void drawOfKind(String at) {
        if (!large) {
            draw(at + "inp_gate.weight", 0.02, 0.12, input, DIM);
            draw(at + "proj.weight", 0.02, 0.2, DIM, input);
            draw(at + "post_norm.weight", 0.5, 0.2, DIM);
            return;
        }
        // the spread of logits is wide, so that rounding does not change the choice of experts
        draw(at + "ffn_gate_inp.weight", 0, 2, EXPERTS, DIM);
        draw(at + "ffn_gate_inp.scale", 1, 0.3, DIM);
        draw(at + "ffn_gate_up_exps.weight", 0.02, 0.12, EXPERTS, 2 * EXPERT_INNER, DIM);
        draw(at + "ffn_down_exps.weight", 0.02, 0.1, EXPERTS, DIM, EXPERT_INNER);
        draw(at + "ffn_down_exps.scale", 1, 0.3, EXPERTS);
        draw(at + "post_ffw_norm_1.weight", 0.5, 0.2, DIM);
        draw(at + "pre_ffw_norm_2.weight", 1, 0.2, DIM);
        draw(at + "post_ffw_norm_2.weight", 0.5, 0.2, DIM);
    }

    private int inner(int layer) {
        return layer < own ? INNER : 2 * INNER;
    }

    private static boolean isGlobal(int layer) {
        return layer % 2 == 1 || layer == LAYERS - 1;
    }

    private static int headDim(int layer) {
        return isGlobal(layer) ? 32 : 16;
    }

    private int keyHeads(int layer) {
        return isGlobal(layer) ? globalKeyHeads : 2;
    }

    private void draw(String name, double mean, double deviation, long... shape) {
        float[] values = new float[(int) Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(mean, deviation);
        }
        weights.put(name, Tensor.of(values, shape));
    }

    void write(Path file) throws IOException {
        String at = "gemma4.";
        long[] inner = IntStream.range(0, LAYERS).mapToLong(this::inner).toArray();
        long[] heads = IntStream.range(0, LAYERS).mapToLong(this::keyHeads).toArray();
        List<GgufValue> local = IntStream.range(0, LAYERS)
                .mapToObj(layer -> GgufValue.ofBool(!isGlobal(layer)))
                .toList();
        GgufWriter writer = new GgufWriter()
                .put("general.architecture", GgufValue.ofString("gemma4"))
                .put(at + "context_length", FamilyFile.number(CONTEXT))
                .put(at + "embedding_length", FamilyFile.number(DIM))
                .put(at + "embedding_length_per_layer_input", FamilyFile.number(input))
                .put(at + "block_count", FamilyFile.number(LAYERS))
                .put(at + "feed_forward_length", GgufValue.ofIntegers(GgufType.I32, inner))
                .put(at + "attention.head_count", FamilyFile.number(HEADS))
                .put(at + "attention.head_count_kv", GgufValue.ofIntegers(GgufType.I32, heads))
                .put(at + "attention.layer_norm_rms_epsilon", GgufValue.ofF32((float) EPSILON))
                .put(at + "attention.key_length", FamilyFile.number(32))
                .put(at + "attention.value_length", FamilyFile.number(32))
                .put(at + "attention.key_length_swa", FamilyFile.number(16))
                .put(at + "attention.value_length_swa", FamilyFile.number(16))
                .put(at + "attention.sliding_window", FamilyFile.number(WINDOW))
                .put(at + "attention.sliding_window_pattern", GgufValue.ofValues(GgufType.BOOL, local))
                .put(at + "attention.shared_kv_layers", FamilyFile.number(LAYERS - own))
                .put(at + "final_logit_softcapping", GgufValue.ofF32((float) CAP))
                .put(at + "rope.freq_base", GgufValue.ofF32((float) GLOBAL_THETA))
                .put(at + "rope.freq_base_swa", GgufValue.ofF32((float) LOCAL_THETA))
                .put(at + "rope.dimension_count", FamilyFile.number(32))
                .put(at + "rope.dimension_count_swa", FamilyFile.number(16))
                .put(at + "vocab_size", FamilyFile.number(FamilyFile.VOCABULARY));
        if (large) {
            writer.put(at + "expert_count", FamilyFile.number(EXPERTS))
                    .put(at + "expert_used_count", FamilyFile.number(USED))
                    .put(at + "expert_feed_forward_length", FamilyFile.number(EXPERT_INNER));
        }
        FamilyTokens.put(writer);
        weights.forEach(writer::tensor);
        float[] factors = new float[16];
        Arrays.fill(factors, 1e30f);
        Arrays.fill(factors, 0, 4, 1f);
        writer.tensor("rope_freqs.weight", Tensor.of(factors));
        writer.write(file);
    }

    /** Writes a folder with the names of Hugging Face's models. If {@code withImages}, the text model is one part of the folder's model. */
    void writeFolder(Path folder, boolean withImages) throws IOException {
        List<String> types = IntStream.range(0, LAYERS)
                .mapToObj(layer -> isGlobal(layer) ? "\"full_attention\"" : "\"sliding_attention\"")
                .toList();
        String kind = !large
                ? ", \"attention_k_eq_v\": false, \"enable_moe_block\": false"
                : ", \"attention_k_eq_v\": true, \"num_global_key_value_heads\": " + globalKeyHeads
                        + ", \"enable_moe_block\": true, \"num_experts\": " + EXPERTS + ", \"top_k_experts\": " + USED
                        + ", \"moe_intermediate_size\": " + EXPERT_INNER;
        String config =
                "{\"model_type\": \"gemma4_text\", \"hidden_size\": " + DIM + ", \"num_hidden_layers\": " + LAYERS
                        + ", \"num_attention_heads\": " + HEADS + ", \"num_key_value_heads\": 2, \"head_dim\": 16"
                        + ", \"global_head_dim\": 32, \"max_position_embeddings\": " + FamilyFile.CONTEXT
                        + ", \"intermediate_size\": " + INNER + ", \"use_double_wide_mlp\": true, \"rms_norm_eps\": "
                        + EPSILON + ", \"sliding_window\": " + WINDOW + ", \"layer_types\": " + types
                        + ", \"num_kv_shared_layers\": " + (LAYERS - own) + ", \"hidden_size_per_layer_input\": "
                        + input + ", \"hidden_activation\": \"gelu_pytorch_tanh\", \"final_logit_softcapping\": "
                        + CAP + kind + ", \"use_bidirectional_attention\": \"vision\""
                        + ", \"rope_parameters\": {\"sliding_attention\": {\"rope_type\": \"default\", \"rope_theta\": "
                        + LOCAL_THETA + "}, \"full_attention\": {\"rope_type\": \"proportional\", "
                        + "\"partial_rotary_factor\": 0.25, \"rope_theta\": " + GLOBAL_THETA + "}}}";
        Files.writeString(
                folder.resolve("config.json"),
                withImages ? "{\"model_type\": \"gemma4\", \"text_config\": " + config + "}" : config);
        Files.writeString(folder.resolve("tokenizer.json"), BytePieces.tokenizerJson());
        Map<String, Tensor> tensors = renamed(withImages ? "model.language_model." : "model.");
        if (withImages) {
            tensors.put("model.vision_tower.std_scale", Tensor.of(new float[1]));
            tensors.put("model.embed_audio.weight", Tensor.of(new float[1]));
        }
        Safetensors.write(folder.resolve("model.safetensors"), tensors, Map.of());
    }

    private Map<String, Tensor> renamed(String prefix) {
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        weights.forEach((name, tensor) -> tensors.put(
                (prefix + name)
                        .replace("per_layer_token_embd", "embed_tokens_per_layer")
                        .replace("per_layer_model_proj.", "per_layer_model_projection.")
                        .replace("per_layer_proj_norm", "per_layer_projection_norm")
                        .replace("token_embd", "embed_tokens")
                        .replace("output_norm", "norm")
                        .replace("blk.", "layers.")
                        .replace("layer_output_scale.weight", "layer_scalar")
                        .replace("inp_gate", "per_layer_input_gate")
                        .replaceAll("(layers\\.\\d+)\\.proj\\.", "$1.per_layer_projection.")
                        .replace(".post_norm", ".post_per_layer_input_norm")
                        .replace("post_attention_norm", "post_attention_layernorm")
                        .replace("post_ffw_norm", "post_feedforward_layernorm")
                        .replace("pre_ffw_norm", "pre_feedforward_layernorm")
                        .replace("ffn_gate_inp.weight", "router.proj.weight")
                        .replace("ffn_gate_inp.scale", "router.scale")
                        .replace("ffn_down_exps.scale", "router.per_expert_scale")
                        .replace("ffn_gate_up_exps.weight", "experts.gate_up_proj")
                        .replace("ffn_down_exps.weight", "experts.down_proj")
                        .replace("ffn_norm", "pre_feedforward_layernorm")
                        .replace("attn_norm", "input_layernorm")
                        .replace("attn_q_norm", "self_attn.q_norm")
                        .replace("attn_k_norm", "self_attn.k_norm")
                        .replaceAll("attn_([qkv])\\.", "self_attn.$1_proj.")
                        .replace("attn_output", "self_attn.o_proj")
                        .replace("ffn_gate", "mlp.gate_proj")
                        .replace("ffn_up", "mlp.up_proj")
                        .replace("ffn_down", "mlp.down_proj"),
                tensor));
        return tensors;
    }

    /** Returns the logits of each token, and reports the largest state. */
    double[][] logits(int[] ids, double[] largest) {
        int tokens = ids.length;
        double[][] x = new double[tokens][];
        for (int t = 0; t < tokens; t++) {
            x[t] = scaled(row("token_embd.weight", ids[t]), (float) Math.sqrt(DIM));
        }
        double[][] inputs = new double[tokens][];
        for (int t = 0; t < tokens && !large; t++) {
            inputs[t] = inputs(ids[t], x[t]);
        }
        double[][][] keys = new double[LAYERS][tokens][];
        double[][][] values = new double[LAYERS][tokens][];
        for (int layer = 0; layer < LAYERS; layer++) {
            String at = "blk." + layer + ".";
            int source = layer < own ? layer : isGlobal(layer) ? own - 1 : own - 2;
            double[][] queries = new double[tokens][];
            for (int t = 0; t < tokens; t++) {
                double[] h = norm(x[t], at + "attn_norm.weight");
                queries[t] = heads(product(at + "attn_q.weight", h), at + "attn_q_norm.weight", layer, t);
                if (layer < own) {
                    double[] key = product(at + "attn_k.weight", h);
                    boolean isValue = large && isGlobal(layer);
                    keys[layer][t] = heads(key, at + "attn_k_norm.weight", layer, t);
                    values[layer][t] = heads(isValue ? key : product(at + "attn_v.weight", h), null, layer, -1);
                }
            }
            for (int t = 0; t < tokens; t++) {
                double[] context = attend(queries[t], keys[source], values[source], layer, t);
                x[t] = sum(x[t], norm(product(at + "attn_output.weight", context), at + "post_attention_norm.weight"));
                x[t] = sum(x[t], norm(feedForward(at, x[t]), at + "post_ffw_norm.weight"));
                if (!large) {
                    double[] ofLayer = Arrays.copyOfRange(inputs[t], layer * input, (layer + 1) * input);
                    double[] gate = times(gelu(product(at + "inp_gate.weight", x[t])), ofLayer);
                    x[t] = sum(x[t], norm(product(at + "proj.weight", gate), at + "post_norm.weight"));
                }
                largest[0] = Math.max(
                        largest[0], Arrays.stream(x[t]).map(Math::abs).max().orElseThrow());
                x[t] = scaled(
                        x[t], weights.get(at + "layer_output_scale.weight").get(0));
            }
        }
        double[][] logits = new double[tokens][];
        for (int t = 0; t < tokens; t++) {
            double[] all = product("token_embd.weight", norm(x[t], "output_norm.weight"));
            logits[t] = Arrays.stream(all)
                    .map(logit -> CAP * Math.tanh(logit / CAP))
                    .toArray();
        }
        return logits;
    }

    private double[] feedForward(String at, double[] x) {
        double[] h = norm(x, at + "ffn_norm.weight");
        double[] inner = times(gelu(product(at + "ffn_gate.weight", h)), product(at + "ffn_up.weight", h));
        double[] dense = product(at + "ffn_down.weight", inner);
        return large
                ? sum(norm(dense, at + "post_ffw_norm_1.weight"), norm(experts(at, x), at + "post_ffw_norm_2.weight"))
                : dense;
    }

    private double[] experts(String at, double[] x) {
        double[] read = times(scaled(norm(x, null), 1 / Math.sqrt(DIM)), wide(weights.get(at + "ffn_gate_inp.scale")));
        double[] logits = product(at + "ffn_gate_inp.weight", read);
        double[] scales = wide(weights.get(at + "ffn_down_exps.scale"));
        List<Integer> chosen = IntStream.range(0, EXPERTS)
                .boxed()
                .sorted((a, b) -> Double.compare(logits[b], logits[a]))
                .limit(USED)
                .toList();
        double sum = chosen.stream().mapToDouble(i -> Math.exp(logits[i])).sum();
        double[] h = norm(x, at + "pre_ffw_norm_2.weight");
        double[] all = new double[DIM];
        for (int expert : chosen) {
            double[] both =
                    product(wide(weights.get(at + "ffn_gate_up_exps.weight").select(0, expert)), h);
            double[] gate = gelu(Arrays.copyOf(both, EXPERT_INNER));
            double[] inner = times(gate, Arrays.copyOfRange(both, EXPERT_INNER, 2 * EXPERT_INNER));
            double[] made =
                    product(wide(weights.get(at + "ffn_down_exps.weight").select(0, expert)), inner);
            all = sum(all, scaled(made, scales[expert] * Math.exp(logits[expert]) / sum));
        }
        return all;
    }

    private double[] inputs(int id, double[] x) {
        double[] projected = scaled(product("per_layer_model_proj.weight", x), 1 / Math.sqrt(DIM));
        double[] table = scaled(row("per_layer_token_embd.weight", id), Math.sqrt(input));
        double[] all = new double[projected.length];
        for (int layer = 0; layer < LAYERS; layer++) {
            double[] slice = Arrays.copyOfRange(projected, layer * input, (layer + 1) * input);
            System.arraycopy(norm(slice, "per_layer_proj_norm.weight"), 0, all, layer * input, input);
        }
        return scaled(sum(all, table), 1 / Math.sqrt(2));
    }

    /** Normalizes heads and rotates them to a position. At position -1 they are not rotated. */
    private double[] heads(double[] all, String norm, int layer, int position) {
        int dim = headDim(layer);
        int pairs = dim / 2;
        double theta = isGlobal(layer) ? GLOBAL_THETA : LOCAL_THETA;
        double[] made = new double[all.length];
        for (int from = 0; from < all.length; from += dim) {
            double[] head = norm(Arrays.copyOfRange(all, from, from + dim), norm);
            for (int i = 0; i < pairs; i++) {
                boolean rotates = position >= 0 && (!isGlobal(layer) || i < pairs / 4);
                double angle = rotates ? position * Math.pow(theta, -2.0 * i / dim) : 0;
                made[from + i] = head[i] * Math.cos(angle) - head[pairs + i] * Math.sin(angle);
                made[from + pairs + i] = head[pairs + i] * Math.cos(angle) + head[i] * Math.sin(angle);
            }
        }
        return made;
    }

    private double[] attend(double[] queries, double[][] keys, double[][] values, int layer, int token) {
        int dim = headDim(layer);
        double[] context = new double[HEADS * dim];
        int first = isGlobal(layer) ? 0 : Math.max(0, token - WINDOW + 1);
        for (int head = 0; head < HEADS; head++) {
            int keyHead = head / (HEADS / keyHeads(layer));
            double[] scores = new double[token + 1];
            double most = Double.NEGATIVE_INFINITY;
            for (int k = first; k <= token; k++) {
                for (int i = 0; i < dim; i++) {
                    scores[k] += queries[head * dim + i] * keys[k][keyHead * dim + i];
                }
                most = Math.max(most, scores[k]);
            }
            double sum = 0;
            for (int k = first; k <= token; k++) {
                scores[k] = Math.exp(scores[k] - most);
                sum += scores[k];
            }
            for (int k = first; k <= token; k++) {
                for (int i = 0; i < dim; i++) {
                    context[head * dim + i] += scores[k] / sum * values[k][keyHead * dim + i];
                }
            }
        }
        return context;
    }

    /** Returns the numbers divided by their root mean square, times weights if the norm has weights. */
    private double[] norm(double[] x, String name) {
        double square = Arrays.stream(x).map(each -> each * each).sum() / x.length;
        double[] y = scaled(x, 1 / Math.sqrt(square + EPSILON));
        return name == null ? y : times(y, wide(weights.get(name)));
    }

    private double[] product(String name, double[] x) {
        return product(wide(weights.get(name)), x);
    }

    private static double[] product(double[] weight, double[] x) {
        double[] y = new double[weight.length / x.length];
        for (int i = 0; i < weight.length; i++) {
            y[i / x.length] += weight[i] * x[i % x.length];
        }
        return y;
    }

    private double[] row(String name, int row) {
        return wide(weights.get(name).select(0, row));
    }

    private static double[] wide(Tensor tensor) {
        float[] values = tensor.toArray();
        return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
    }

    private static double[] scaled(double[] x, double factor) {
        return Arrays.stream(x).map(each -> each * factor).toArray();
    }

    private static double[] gelu(double[] x) {
        return Arrays.stream(x).map(ReferenceActivation::geluTanh).toArray();
    }

    private static double[] times(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).toArray();
    }

    private static double[] sum(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] + b[i]).toArray();
    }
}
