package io.multihead.decoder;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ReferenceTransformer.Norm;
import io.multihead.reference.ReferenceTransformer.Norms;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;

/**
 * A small model of a family with random weights, as a file and as the specification according to the published description of the family.
 * They share only the values of the weights.
 */
final class FamilyFile {
    /** Families and variants of families. */
    enum Kind {
        LLAMA("llama", 5),
        LLAMA_3("llama", 3),
        /** Rows have whole blocks of 256 elements, as k-quants require. */
        WIDE("llama", 2),
        QWEN_2("qwen2", 3),
        QWEN_3("qwen3", 3),
        QWEN_3_MOE("qwen3moe", 3),
        GPT_OSS("gpt-oss", 4),
        GRANITE("granite", 3),
        GRANITE_MOE("granitemoe", 2),
        /** The third layer has attention, the others have Mamba-2. The model has experts and no positions. */
        GRANITE_HYBRID("granitehybrid", 4),
        /** The second layer has attention. The model has positions and no experts. */
        GRANITE_HYBRID_DENSE("granitehybrid", 3),
        GEMMA_3("gemma3", 7),
        SMOLLM_3("smollm3", 5),
        /** The context is longer than in the original training. */
        PHI_4("phi3", 3),
        /** Neither the context nor 256, to which llama.cpp rounds it up, is longer than in the original training. */
        PHI_4_SHORT("phi3", 2),
        /** The third and the last layer have attention, the others have convolutions. */
        LFM_2("lfm2", 5),
        /** The fourth layer has attention, the others have linear attention. */
        QWEN_3_5("qwen35", 5),
        QWEN_3_5_MOE("qwen35moe", 5);

        final String architecture;
        final int layers;

        Kind(String architecture, int layers) {
            this.architecture = architecture;
            this.layers = layers;
        }

        boolean isLinear(int layer) {
            return isQwen35() && layer % 4 != 3;
        }

        boolean isQwen35() {
            return this == QWEN_3_5 || this == QWEN_3_5_MOE;
        }

        boolean isGemma() {
            return this == GEMMA_3;
        }

        boolean isGranite() {
            return this == GRANITE || this == GRANITE_MOE || isHybridGranite();
        }

        boolean isHybridGranite() {
            return this == GRANITE_HYBRID || this == GRANITE_HYBRID_DENSE;
        }

        boolean isMamba(int layer) {
            return isHybridGranite() && layer != (this == GRANITE_HYBRID ? 2 : 1);
        }

        boolean hasExperts() {
            return this == QWEN_3_MOE || this == GPT_OSS || this == GRANITE_MOE || hasSharedExpert();
        }

        boolean hasSharedExpert() {
            return this == QWEN_3_5_MOE || this == GRANITE_HYBRID;
        }

        boolean isPhi() {
            return this == PHI_4 || this == PHI_4_SHORT;
        }

        boolean hasHeadNorms() {
            return this == QWEN_3 || isQwen35() || this == QWEN_3_MOE || this == GEMMA_3 || this == LFM_2;
        }

        boolean isConvolution(int layer) {
            return this == LFM_2 && (layer == 0 || layer % 2 == 1);
        }

        boolean isInterleaved() {
            return this == LLAMA || this == LLAMA_3 || this == WIDE || this == SMOLLM_3 || isGranite();
        }
    }

    static final int VOCABULARY = 261;
    static final int CONTEXT = 128;
    /** The context length of Phi's original training. */
    static final int ORIGINAL = 32;
    /** The factor of cosine and sine if the context is not longer than in the original training. */
    private static final float SHORT_ATTENTION = 1.25F;

    static final int HEADS = 4;
    static final int KEY_HEADS = 2;
    static final int WINDOW = 4;
    static final double THETA = 50_000;
    static final double LOCAL_THETA = 10_000;
    static final double EPSILON = 0x1p-16;

    final Kind kind;
    final int headDim;
    final int dim;
    final int inner;
    private final SplittableRandom random;
    final Map<String, float[]> weights = new LinkedHashMap<>();
    private final Map<String, long[]> shapes = new LinkedHashMap<>();
    boolean halves;
    boolean shortContext;
    private int context = CONTEXT;
    private boolean joinedExperts;
    private List<String> words = List.of();

    FamilyFile(Kind kind, long seed) {
        this.kind = kind;
        dim = kind == Kind.WIDE ? 256 : 64;
        inner = kind == Kind.WIDE ? 512 : 96;
        headDim = kind.hasHeadNorms() && kind != Kind.LFM_2 ? 32 : dim / HEADS;
        random = new SplittableRandom(seed);
        draw("token_embd.weight", 0, kind == Kind.LLAMA ? 1 : 0.15, VOCABULARY, dim);
        for (int layer = 0; layer < kind.layers; layer++) {
            if (kind.isLinear(layer)) {
                FamilyLinear.draw(this::draw, "blk." + layer + ".", dim);
            } else if (kind.isMamba(layer)) {
                FamilyMamba.draw(this, "blk." + layer + ".", dim);
            } else if (kind.isConvolution(layer)) {
                FamilyConvolutions.draw(this, "blk." + layer + ".", dim);
            } else {
                FamilyAttention.draw(this, "blk." + layer + ".");
            }
            drawNetwork("blk." + layer + ".");
        }
        draw(finalNorm(), 1, 0.2, dim);
        if (kind == Kind.LLAMA || kind == Kind.GPT_OSS) {
            draw("output.weight", 0.02, 0.15, VOCABULARY, dim);
        }
        if (kind == Kind.LLAMA_3) {
            draw("rope_freqs.weight", 4, 1, headDim / 2);
        }
        if (kind.isPhi()) {
            draw("rope_factors_short.weight", 1.5, 0.2, rotaryDims() / 2);
            draw("rope_factors_long.weight", 6, 1, rotaryDims() / 2);
        }
    }

    /** Returns the number of rotated elements of a head. Phi rotates three quarters of a head, and Qwen 3.5 one quarter. */
    int rotaryDims() {
        return kind.isPhi() ? headDim * 3 / 4 : kind.isQwen35() ? headDim / 4 : headDim;
    }

    private String finalNorm() {
        return kind == Kind.LFM_2 ? "token_embd_norm.weight" : "output_norm.weight";
    }

    private void drawNetwork(String at) {
        draw(at + normBetween(), 1, 0.2, dim);
        if (kind.hasExperts()) {
            FamilyExperts.draw(this, at, dim, inner, HEADS);
            return;
        }
        if (kind.isPhi()) {
            draw(at + "ffn_up.weight", 0.02, 0.12, 2 * inner, dim);
        } else {
            draw(at + "ffn_gate.weight", 0.02, 0.12, inner, dim);
            draw(at + "ffn_up.weight", 0.02, 0.12, inner, dim);
        }
        draw(at + "ffn_down.weight", 0.02, 0.1, dim, inner);
        if (kind.isGemma()) {
            draw(at + "post_attention_norm.weight", 0.5, 0.2, dim);
            draw(at + "post_ffw_norm.weight", 0.5, 0.2, dim);
        }
    }

    /**
     * Returns the name of the norm between attention and the network. GPT-OSS and Qwen 3.5 have the name that Gemma uses for another norm.
     */
    private String normBetween() {
        return kind == Kind.GPT_OSS || kind.isQwen35() ? "post_attention_norm.weight" : "ffn_norm.weight";
    }

    void draw(String name, double mean, double deviation, long... shape) {
        float[] values = new float[(int) Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(mean, deviation);
        }
        weights.put(name, values);
        shapes.put(name, shape);
    }

    /** Returns the names of all tensors with one or several matrices, except embeddings. */
    List<String> matrices() {
        return shapes.keySet().stream()
                .filter(name ->
                        shapes.get(name).length > 1 && !name.startsWith("token_embd") && !name.endsWith(".bias"))
                .filter(name -> !name.contains("conv.") && !name.contains("conv1d"))
                .filter(name -> !name.matches(".*ssm_(a|d|norm.weight)"))
                .toList();
    }

    /** Returns the names of all tensors that are not in {@link #matrices}. */
    List<String> others() {
        List<String> matrices = matrices();
        return shapes.keySet().stream().filter(name -> !matrices.contains(name)).toList();
    }

    Tensor tensor(String name) {
        return Tensor.of(weights.get(name), shapes.get(name));
    }

    /** Replaces the numbers of a tensor with other numbers, such as the numbers of a narrower type. */
    void replace(String name, Tensor values) {
        weights.put(name, values.toArray());
    }

    /** Writes all tensors in f32. */
    void write(Path file) throws IOException {
        GgufWriter writer = metadata();
        shapes.keySet().forEach(name -> writer.tensor(name, tensor(name)));
        writer.write(file);
    }

    /** Makes {@code yes} and {@code no} tokens of GGUF files. */
    FamilyFile withAnswers() {
        words = List.of("yes", "no");
        return this;
    }

    /** Sets the context length in GGUF files. */
    FamilyFile withContext(int tokens) {
        context = tokens;
        return this;
    }

    /** Writes all tensors in f32, and a chat template. */
    void writeChat(Path file, String template) throws IOException {
        GgufWriter writer = metadata();
        writer.put("tokenizer.chat_template", GgufValue.ofString(template));
        shapes.keySet().forEach(name -> writer.tensor(name, tensor(name)));
        writer.write(file);
    }

    /** Returns a writer with the metadata and without tensors. */
    GgufWriter metadata() {
        String at = kind.architecture + ".";
        GgufWriter writer = new GgufWriter()
                .put("general.architecture", GgufValue.ofString(kind.architecture))
                .put(at + "context_length", number(context))
                .put(at + "embedding_length", number(dim))
                .put(at + "block_count", number(kind.layers))
                .put(at + "feed_forward_length", number(inner))
                .put(at + "attention.head_count", number(HEADS))
                .put(at + "attention.layer_norm_rms_epsilon", GgufValue.ofF32((float) EPSILON))
                .put(at + "rope.freq_base", GgufValue.ofF32((float) THETA))
                .put(at + "rope.dimension_count", number(rotaryDims()))
                .put(at + "vocab_size", number(VOCABULARY));
        if (kind == Kind.LFM_2) {
            return FamilyTokens.put(FamilyConvolutions.metadata(kind, writer, KEY_HEADS));
        }
        if (kind.isHybridGranite()) {
            FamilyMamba.metadata(kind, writer, KEY_HEADS);
        } else {
            writer.put(at + "attention.head_count_kv", number(KEY_HEADS));
        }
        if (kind.isQwen35()) {
            FamilyLinear.metadata(writer, at);
        }
        if (kind.isGemma() || kind == Kind.GPT_OSS) {
            writer.put(at + "attention.sliding_window", number(WINDOW));
        }
        FamilyExperts.metadata(kind, writer, inner);
        if (!kind.isPhi()) {
            writer.put(at + "attention.key_length", number(headDim))
                    .put(at + "attention.value_length", number(headDim));
            return FamilyTokens.put(writer, words);
        }
        writer.put(at + "rope.scaling.original_context_length", number(kind == Kind.PHI_4 ? ORIGINAL : 2 * CONTEXT))
                .put(at + "rope.scaling.attn_factor", GgufValue.ofF32((float) attentionFactor()))
                .put(at + "attention.sliding_window", number(2 * CONTEXT));
        return FamilyTokens.put(writer, words);
    }

    /** Returns the attention factor, which transformers computes (Phi-3) and GGUF files contain. */
    double attentionFactor() {
        double stretch = (double) CONTEXT / ORIGINAL;
        return kind == Kind.PHI_4 ? Math.sqrt(1 + Math.log(stretch) / Math.log(ORIGINAL)) : SHORT_ATTENTION;
    }

    static GgufValue number(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    /** Writes a folder in f32 with the names of Hugging Face's models, whose rotations pair halves of a head. */
    void writeFolder(Path folder, String tokenizerJson) throws IOException {
        Files.writeString(folder.resolve("config.json"), FamilyConfig.of(this));
        Files.writeString(folder.resolve("tokenizer.json"), tokenizerJson);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        for (String name : shapes.keySet()) {
            Tensor tensor = tensor(name);
            boolean onePlus = kind.isGemma() || kind.isQwen35() && !name.contains("ssm");
            if (onePlus && name.contains("norm")) {
                tensor = FamilyConfig.lessOne(weights.get(name));
            }
            if (name.contains("conv.conv") || name.contains("conv1d.weight")) {
                tensor = tensor.reshape(tensor.dim(0), 1, tensor.dim(1));
            }
            if (name.endsWith("ssm_a")) {
                tensor = FamilyLinear.logarithms(weights.get(name));
            }
            if (!name.startsWith("rope_")) {
                tensors.put(FamilyNames.huggingFace(kind, name), tensor);
            }
        }
        Map<String, Tensor> all = kind.isHybridGranite()
                ? FamilyMamba.huggingFace(tensors)
                : FamilyExperts.huggingFace(tensors, joinedExperts);
        Safetensors.write(folder.resolve("model.safetensors"), all, Map.of());
    }

    /** Makes folders contain all experts of a layer in two tensors. */
    FamilyFile withJoinedExperts() {
        joinedExperts = true;
        return this;
    }

    /** Makes the specification use the frequencies of contexts that are not longer than in the original training. */
    FamilyFile withShortContext() {
        shortContext = true;
        return this;
    }

    /** Makes the specification pair halves of a head in rotations, as the models of Hugging Face do. */
    FamilyFile withHalves() {
        halves = true;
        return this;
    }

    /** Returns the specification of the model. */
    ReferenceTransformer reference() {
        List<ReferenceTransformer.Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < kind.layers; layer++) {
            blocks.add(block(layer));
        }
        double scale = kind.isGemma() ? (float) Math.sqrt(dim) : kind.isGranite() ? FamilyExperts.EMBEDDING_SCALE : 1;
        String head = weights.containsKey("output.weight") ? "output.weight" : "token_embd.weight";
        return new ReferenceTransformer(
                new ReferenceTransformer.Embedding(wide("token_embd.weight"), scale, null, null, null, dim),
                blocks,
                norm(finalNorm()),
                scaled(linear(head), kind.isGranite() ? 1 / FamilyExperts.LOGITS_SCALING : 1),
                0);
    }

    private ReferenceTransformer.Block block(int layer) {
        String at = "blk." + layer + ".";
        boolean gemma = kind.isGemma();
        return new ReferenceTransformer.Block(
                mixer(at, layer),
                new Norms(norm(at + "attn_norm.weight"), gemma ? norm(at + "post_attention_norm.weight") : null, null),
                feedForward(at, gemma ? ReferenceActivation::geluTanh : ReferenceActivation::silu),
                new Norms(norm(at + normBetween()), gemma ? norm(at + "post_ffw_norm.weight") : null, null),
                false);
    }

    private ReferenceTransformer.Part mixer(String at, int layer) {
        if (kind.isLinear(layer)) {
            return FamilyLinear.of(this::linear, this::wide, norm(at + "ssm_norm.weight"), at, !halves);
        }
        if (kind.isConvolution(layer)) {
            return FamilyConvolutions.reference(this, at, dim);
        }
        if (kind.isMamba(layer)) {
            return FamilyMamba.reference(this, at, halves);
        }
        ReferenceTransformer.Attention attention = FamilyAttention.reference(this, at, layer);
        return kind.isQwen35()
                ? new ReferenceTransformer.GatedAttention(
                        attention, FamilyLinear.half(linear(at + "attn_q.weight"), headDim, headDim))
                : attention;
    }

    private ReferenceTransformer.Rows feedForward(String at, DoubleUnaryOperator gate) {
        if (kind.hasExperts()) {
            return FamilyExperts.of(this, at);
        }
        return new ReferenceTransformer.FeedForward(
                kind.isPhi() ? rows(at + "ffn_up.weight", 0, inner) : linear(at + "ffn_gate.weight"),
                kind.isPhi() ? rows(at + "ffn_up.weight", inner, 2 * inner) : linear(at + "ffn_up.weight"),
                scaled(linear(at + "ffn_down.weight"), residualScale()),
                gate);
    }

    /** Returns some rows of a tensor that consists of several matrices. */
    Linear rows(String name, int from, int to) {
        int columns = (int) shapes.get(name)[1];
        return new Linear(Arrays.copyOfRange(wide(name), from * columns, to * columns), null, to - from, columns);
    }

    /** Returns the factor of the results of a block before they are added to its input. */
    double residualScale() {
        return kind.isGranite() ? FamilyExperts.RESIDUAL_SCALE : 1;
    }

    static Linear scaled(Linear layer, double by) {
        double[] scaled = Arrays.stream(layer.weight()).map(x -> x * by).toArray();
        return new Linear(scaled, layer.bias(), layer.outputs(), layer.inputs());
    }

    Linear linear(String name) {
        String bias = name.replace(".weight", ".bias");
        long[] shape = shapes.get(name);
        return new Linear(wide(name), weights.containsKey(bias) ? wide(bias) : null, (int) shape[0], (int) shape[1]);
    }

    Norm norm(String name) {
        return new Norm(wide(name), null, EPSILON, false, false);
    }

    double[] wide(String name) {
        float[] values = weights.get(name);
        double[] wide = new double[values.length];
        Arrays.setAll(wide, i -> values[i]);
        return wide;
    }
}
