package io.multihead.encoder;

import io.multihead.format.GgufFixture;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairFixture;
import io.multihead.text.UnigramFixture;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The small models in the form in which llama.cpp's converters write them to GGUF. */
final class TinyGguf {
    static final String TOKENIZER = "tokenizer.ggml.";

    private static final String[] BERT = {
        "embeddings.word_embeddings.", "token_embd.",
        "embeddings.position_embeddings.", "position_embd.",
        "embeddings.token_type_embeddings.", "token_types.",
        "embeddings.LayerNorm.", "token_embd_norm.",
        "encoder.layer.", "blk.",
        "attention.self.query.", "attn_q.",
        "attention.self.key.", "attn_k.",
        "attention.self.value.", "attn_v.",
        "attention.output.dense.", "attn_output.",
        "attention.output.LayerNorm.", "attn_output_norm.",
        "intermediate.dense.", "ffn_up.",
        ".output.dense.", ".ffn_down.",
        ".output.LayerNorm.", ".layer_output_norm.",
        "pooler.dense.", "cls.",
        "classifier.dense.", "cls.",
        "classifier.out_proj.", "cls.output.",
        "classifier.", "cls.output."
    };

    private static final String[] NOMIC = {
        "embeddings.word_embeddings.", "token_embd.",
        "embeddings.token_type_embeddings.", "token_types.",
        "emb_ln.", "token_embd_norm.",
        "encoder.layers.", "blk.",
        "attn.Wqkv.", "attn_qkv.",
        "attn.out_proj.", "attn_output.",
        "norm1.", "attn_output_norm.",
        "mlp.fc11.", "ffn_up.",
        "mlp.fc12.", "ffn_gate.",
        "mlp.fc2.", "ffn_down.",
        "norm2.", "layer_output_norm."
    };

    private static final String[] MODERN = {
        "embeddings.tok_embeddings.", "token_embd.",
        "embeddings.norm.", "token_embd_norm.",
        "final_norm.", "output_norm.",
        "head.dense.", "cls.",
        "head.norm.", "cls.norm.",
        "classifier.", "cls.output.",
        "layers.", "blk.",
        "attn.Wqkv.", "attn_qkv.",
        "attn.Wo.", "attn_output.",
        "mlp_norm.", "ffn_norm.",
        "mlp.Wi.", "ffn_up.",
        "mlp.Wo.", "ffn_down."
    };

    final String architecture;
    final Map<String, Object> metadata = new LinkedHashMap<>();
    final Map<String, Tensor> tensors = new LinkedHashMap<>();

    private TinyGguf(String architecture, Map<String, Tensor> weights, String... names) {
        this.architecture = architecture;
        metadata.put("general.architecture", architecture);
        weights.forEach((name, weight) -> {
            String stored = name;
            for (int i = 0; i < names.length; i += 2) {
                stored = stored.replace(names[i], names[i + 1]);
            }
            tensors.put(stored, weight);
        });
        set("attention.causal", false);
        set("pooling_type", 1);
    }

    /** Sets a key of the architecture. */
    TinyGguf set(String key, Object value) {
        metadata.put(architecture + "." + key, value);
        return this;
    }

    private TinyGguf sizes(int dim, int layers, int heads, int inner, int positions, double epsilon) {
        return set("embedding_length", dim)
                .set("block_count", layers)
                .set("attention.head_count", heads)
                .set("feed_forward_length", inner)
                .set("context_length", positions)
                .set("attention.layer_norm_epsilon", epsilon);
    }

    /** Returns {@link TinyModel}, optionally with a head. */
    static TinyGguf bert(Map<String, Tensor> weights) {
        TinyGguf file = new TinyGguf("bert", weights, BERT)
                .sizes(
                        TinyModel.DIM,
                        TinyModel.LAYERS,
                        TinyModel.HEADS,
                        TinyModel.INNER,
                        TinyModel.POSITIONS,
                        TinyModel.EPSILON);
        file.wordPiece(60);
        return file;
    }

    /** Returns {@link TinyXlmR} without the position rows of padding, which such files do not have. */
    static TinyGguf xlmR(Map<String, Tensor> weights) {
        TinyGguf file = bert(TinyXlmR.shifted(weights, TinyXlmR.FIRST));
        file.metadata.keySet().removeIf(key -> key.startsWith(TOKENIZER));
        List<String> tokens = new ArrayList<>(List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581"));
        for (char letter = 'a'; letter <= 'z'; letter++) {
            tokens.add(String.valueOf(letter));
            tokens.add("\u2581" + letter);
        }
        double[] scores = UnigramFixture.scores(tokens.size());
        float[] rounded = new float[60];
        long[] types = new long[60];
        for (int id = 0; id < 60; id++) {
            boolean exists = id < scores.length;
            rounded[id] = exists ? (float) scores[id] : -10_000;
            types[id] = id == 3 ? 2 : id < 4 ? 3 : exists ? 1 : 5;
        }
        while (tokens.size() < 60) {
            tokens.add("[PAD" + tokens.size() + "]");
        }
        return file.token("model", "t5")
                .token("tokens", tokens)
                .token("scores", rounded)
                .token("token_type", types)
                .token("token_type_count", 1)
                .token("remove_extra_whitespaces", true)
                .token("add_bos_token", true)
                .token("add_eos_token", true)
                .token("bos_token_id", 0)
                .token("eos_token_id", 2)
                .token("unknown_token_id", 3);
    }

    /** Returns {@link TinyNomicBert} without biases. */
    static TinyGguf nomic(Map<String, Tensor> weights) {
        TinyGguf file = new TinyGguf("nomic-bert", weights, NOMIC)
                .sizes(TinyNomicBert.DIM, 2, 3, 256, 24, 1e-7)
                .set("rope.freq_base", 50.0);
        file.wordPiece(64);
        return file;
    }

    /** Returns {@link TinyModernBert} without biases, except the bias of the labels. */
    static TinyGguf modern(Map<String, Tensor> weights) {
        TinyGguf file = new TinyGguf("modern-bert", weights, MODERN)
                .sizes(
                        TinyModernBert.DIM,
                        TinyModernBert.LAYERS,
                        TinyModernBert.HEADS,
                        TinyModernBert.INNER,
                        TinyModernBert.POSITIONS,
                        1e-5)
                .set("attention.sliding_window", 2 * TinyModernBert.REACH + 1)
                .set("attention.sliding_window_pattern", 2)
                .set("rope.freq_base", 2000.0)
                .set("rope.freq_base_swa", 30.0)
                .set("rope.scaling.type", "none");
        List<String> tokens = new ArrayList<>();
        long[] types = new long[264];
        for (int id = 0; id < 264; id++) {
            tokens.add(id < 256 ? BytePairFixture.byteToken(id) : "[PAD" + id + "]");
            types[id] = id < 258 ? 1 : id < 261 ? 3 : 5;
        }
        tokens.subList(256, 261).clear();
        tokens.addAll(256, List.of("ab", "\u0120ab", "[CLS]", "[SEP]", "[MASK]"));
        return file.token("model", "gpt2")
                .token("pre", "modern-bert")
                .token("tokens", tokens)
                .token("token_type", types)
                .token("merges", List.of("a b", "\u0120 ab"))
                .token("cls_token_id", 258)
                .token("seperator_token_id", 259)
                .token("add_bos_token", true)
                .token("add_eos_token", true);
    }

    /** Sets a key of the tokenizer. */
    TinyGguf token(String key, Object value) {
        metadata.put(TOKENIZER + key, value);
        return this;
    }

    private void wordPiece(int rows) {
        List<String> tokens = new ArrayList<>();
        long[] types = new long[rows];
        for (int id = 0; id < rows; id++) {
            boolean exists = id < TinyModel.VOCABULARY.size();
            String token = exists ? TinyModel.VOCABULARY.get(id) : "[unused" + id + "]";
            boolean special = token.startsWith("[") && exists;
            types[id] = special ? 3 : 1;
            tokens.add(special ? token : token.startsWith("##") ? token.substring(2) : "\u2581" + token);
        }
        token("model", "bert")
                .token("tokens", tokens)
                .token("token_type", types)
                .token("token_type_count", 2)
                .token("unknown_token_id", 1)
                .token("cls_token_id", 2)
                .token("seperator_token_id", 3);
    }

    Path write(Path file) throws IOException {
        GgufWriter writer = writer();
        tensors.forEach(writer::tensor);
        writer.write(file);
        return file;
    }

    private GgufWriter writer() {
        GgufWriter writer = new GgufWriter();
        metadata.forEach((key, value) -> writer.put(key, GgufFixture.value(value)));
        return writer;
    }

    /** Writes matrices and tables in another type, and tensors of one axis in f32. */
    Path write(Path file, DType dtype) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            GgufWriter writer = writer();
            tensors.forEach(
                    (name, weight) -> writer.tensor(name, weight.rank() == 1 ? weight : weight.copy(arena, dtype)));
            writer.write(file);
            return file;
        }
    }

    /** Writes matrices and tables in blocks. */
    Path write(Path file, BlockType type) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            GgufWriter writer = writer();
            tensors.forEach((name, weight) -> {
                if (weight.rank() == 1) {
                    writer.tensor(name, weight);
                } else {
                    writer.blocks(name, BlockTensor.quantize(arena, weight, type));
                }
            });
            writer.write(file);
            return file;
        }
    }
}
