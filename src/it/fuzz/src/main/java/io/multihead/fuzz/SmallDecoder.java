package io.multihead.fuzz;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The smallest Llama with all parts: one layer, 2 heads and nine tokens, as a GGUF file and as a folder. */
public final class SmallDecoder {
    static final List<String> TOKENS = List.of("<unk>", "<s>", "</s>", "\u2581", "a", "b", "\u2581a", "ab", "<0x0A>");
    private static final int[] TYPES = {2, 3, 3, 1, 1, 1, 1, 1, 6};
    private static final String TEMPLATE =
            "{% for m in messages %}{% if m.role != 'system' %}{{ bos_token + m['content'] | trim }}{% endif %}{% endfor %}";
    private static final int HEADS = 2;
    private static final int CONTEXT = 32;

    private SmallDecoder() {}

    /** Returns the bytes of a file with weights in f32, or in blocks of the given type. */
    static byte[] gguf(@Nullable BlockType blocks) {
        int dim = blocks == null ? 8 : blocks.elements();
        GgufWriter writer = metadata(dim);
        weights(dim, TOKENS.size(), true).forEach((name, tensor) -> {
            if (blocks == null || tensor.rank() == 1) {
                writer.tensor(name, tensor);
            } else {
                writer.blocks(name, BlockTensor.quantize(Arena.ofAuto(), tensor, blocks));
            }
        });
        try {
            Path file = Scratch.folder("decoder-seed").resolve("model.gguf");
            writer.write(file);
            return Files.readAllBytes(file);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static GgufWriter metadata(int dim) {
        long[] types = IntStream.of(TYPES).asLongStream().toArray();
        return new GgufWriter()
                .put("general.architecture", GgufValue.ofString("llama"))
                .put("llama.context_length", number(CONTEXT))
                .put("llama.embedding_length", number(dim))
                .put("llama.block_count", number(1))
                .put("llama.feed_forward_length", number(dim))
                .put("llama.attention.head_count", number(HEADS))
                .put("llama.attention.head_count_kv", number(1))
                .put("llama.attention.layer_norm_rms_epsilon", GgufValue.ofF32(1e-5f))
                .put("llama.rope.dimension_count", number(dim / HEADS))
                .put("llama.rope.freq_base", GgufValue.ofF32(10_000))
                .put("tokenizer.ggml.model", GgufValue.ofString("llama"))
                .put("tokenizer.ggml.tokens", GgufValue.ofStrings(TOKENS))
                .put("tokenizer.ggml.scores", GgufValue.ofFloats(new float[TOKENS.size()]))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, types))
                .put("tokenizer.ggml.bos_token_id", number(1))
                .put("tokenizer.ggml.eos_token_id", number(2))
                .put("tokenizer.ggml.unknown_token_id", number(0))
                .put("tokenizer.chat_template", GgufValue.ofString(TEMPLATE));
    }

    private static GgufValue number(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    /** Returns the files of a Hugging Face folder by name. */
    static Map<String, byte[]> files() {
        Map<String, byte[]> files = new LinkedHashMap<>();
        put(files, "config.json", """
                {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                 "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": 8, "max_position_embeddings": 32,
                 "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "vocab_size": 259, "tie_word_embeddings": true,
                 "hidden_act": "silu", "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                 "high_freq_factor": 4.0, "original_max_position_embeddings": 16}}
                """);
        put(files, "generation_config.json", "{\"eos_token_id\": [2, 7], \"temperature\": 0.5, \"top_p\": 0.9}");
        put(
                files,
                "tokenizer_config.json",
                "{\"bos_token\": \"<s>\", \"eos_token\": {\"content\": \"</s>\"}, \"add_bos_token\": true}");
        put(files, "chat_template.jinja", TEMPLATE);
        put(files, "tokenizer.json", tokenizerJson());
        files.put("model.safetensors", SmallModel.safetensors(weights(8, 259, false), Map.of("format", "pt")));
        return files;
    }

    /** Writes the files of a folder, and returns the folder. */
    public static Path folder() {
        Path folder = Scratch.folder("decoder-of-requests");
        files().forEach((name, bytes) -> Scratch.write(folder.resolve(name), bytes));
        return folder;
    }

    private static void put(Map<String, byte[]> files, String name, String text) {
        files.put(name, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns a tokenizer with one byte-level piece for each byte. */
    private static String tokenizerJson() {
        StringBuilder json = new StringBuilder("{\"added_tokens\": [");
        List<String> names = TOKENS.subList(0, 3);
        for (int id = 0; id < names.size(); id++) {
            json.append(id == 0 ? "" : ", ")
                    .append("{\"id\": " + id + ", \"content\": \"" + names.get(id) + "\", \"special\": true}");
        }
        json.append(
                        "], \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": true}, ")
                .append("\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"merges\": [], ")
                .append("\"vocab\": {\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2");
        int next = 256;
        for (int value = 0; value < 256; value++) {
            boolean printable =
                    value >= '!' && value <= '~' || value >= 0xa1 && value <= 0xac || value >= 0xae && value <= 0xff;
            json.append(String.format(", \"\\u%04x\": %d", printable ? value : next++, value + 3));
        }
        return json.append("}}}").toString();
    }

    /** Returns weights with the names of GGUF or of Hugging Face. */
    private static Map<String, Tensor> weights(int dim, int tokens, boolean gguf) {
        Map<String, Tensor> all = new LinkedHashMap<>();
        put(all, gguf ? "token_embd.weight" : "model.embed_tokens.weight", tokens, dim);
        String at = gguf ? "blk.0." : "model.layers.0.";
        put(all, at + (gguf ? "attn_norm.weight" : "input_layernorm.weight"), dim);
        put(all, at + (gguf ? "attn_q.weight" : "self_attn.q_proj.weight"), dim, dim);
        put(all, at + (gguf ? "attn_k.weight" : "self_attn.k_proj.weight"), dim / HEADS, dim);
        put(all, at + (gguf ? "attn_v.weight" : "self_attn.v_proj.weight"), dim / HEADS, dim);
        put(all, at + (gguf ? "attn_output.weight" : "self_attn.o_proj.weight"), dim, dim);
        put(all, at + (gguf ? "ffn_norm.weight" : "post_attention_layernorm.weight"), dim);
        put(all, at + (gguf ? "ffn_gate.weight" : "mlp.gate_proj.weight"), dim, dim);
        put(all, at + (gguf ? "ffn_up.weight" : "mlp.up_proj.weight"), dim, dim);
        put(all, at + (gguf ? "ffn_down.weight" : "mlp.down_proj.weight"), dim, dim);
        put(all, gguf ? "output_norm.weight" : "model.norm.weight", dim);
        return all;
    }

    private static void put(Map<String, Tensor> weights, String name, long... dims) {
        float[] values = new float[(int) Shape.of(dims).elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (i * 7 % 11 - 5) / 8f;
        }
        weights.put(name, Tensor.of(values, dims));
    }
}
