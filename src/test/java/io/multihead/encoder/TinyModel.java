package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** A small model with random weights, as a folder of sentence-transformers. Its sizes are not multiples of vector or panel sizes. */
public final class TinyModel {
    static final int DIM = 21;
    static final int HEADS = 3;
    static final int INNER = 37;
    static final int LAYERS = 2;
    static final int POSITIONS = 24;
    static final double EPSILON = 1e-7;

    /** The tokens are letters that begin a word, letters that continue a word, special tokens, and a few others. */
    static final List<String> VOCABULARY = vocabulary();

    static final String MODULES = """
            [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
             {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
             {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
            """;

    static final String POOLING = """
            {"word_embedding_dimension": 21, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
             "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false}
            """;

    static final String CONFIG = """
            {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 21, "num_hidden_layers": 2,
             "num_attention_heads": 3, "intermediate_size": 37, "vocab_size": 60, "max_position_embeddings": 24,
             "type_vocab_size": 2, "layer_norm_eps": 1e-7, "position_embedding_type": "absolute"}
            """;

    private TinyModel() {}

    private static List<String> vocabulary() {
        List<String> tokens = new ArrayList<>(List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", ":"));
        for (char letter = 'a'; letter <= 'z'; letter++) {
            tokens.add(String.valueOf(letter));
            tokens.add("##" + letter);
        }
        return tokens;
    }

    /** Returns random weights by name, which the seed determines. */
    static Map<String, Tensor> weights(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        put(weights, random, "embeddings.word_embeddings.weight", 60, DIM);
        put(weights, random, "embeddings.position_embeddings.weight", POSITIONS, DIM);
        put(weights, random, "embeddings.token_type_embeddings.weight", 2, DIM);
        put(weights, random, "embeddings.LayerNorm.weight", DIM);
        put(weights, random, "embeddings.LayerNorm.bias", DIM);
        for (int i = 0; i < LAYERS; i++) {
            String layer = "encoder.layer." + i + ".";
            for (String name : List.of("self.query", "self.key", "self.value", "output.dense")) {
                put(weights, random, layer + "attention." + name + ".weight", DIM, DIM);
                put(weights, random, layer + "attention." + name + ".bias", DIM);
            }
            put(weights, random, layer + "intermediate.dense.weight", INNER, DIM);
            put(weights, random, layer + "intermediate.dense.bias", INNER);
            put(weights, random, layer + "output.dense.weight", DIM, INNER);
            put(weights, random, layer + "output.dense.bias", DIM);
            for (String norm : List.of("attention.output.LayerNorm", "output.LayerNorm")) {
                put(weights, random, layer + norm + ".weight", DIM);
                put(weights, random, layer + norm + ".bias", DIM);
            }
        }
        return weights;
    }

    static void put(Map<String, Tensor> weights, SplittableRandom random, String name, long... dims) {
        int elements = 1;
        for (long dim : dims) {
            elements *= (int) dim;
        }
        float[] values = new float[elements];
        for (int i = 0; i < elements; i++) {
            values[i] = (float) random.nextGaussian(0, 0.5);
        }
        weights.put(name, Tensor.of(values, dims));
    }

    /** Writes the folder. */
    public static Path write(Path folder) throws IOException {
        return write(folder, weights(1));
    }

    static Path write(Path folder, Map<String, Tensor> weights) throws IOException {
        Files.createDirectories(folder.resolve("1_Pooling"));
        Files.writeString(folder.resolve("modules.json"), MODULES);
        Files.writeString(folder.resolve("1_Pooling/config.json"), POOLING);
        Files.writeString(folder.resolve("config.json"), CONFIG);
        Files.writeString(folder.resolve("vocab.txt"), String.join("\n", VOCABULARY));
        Files.writeString(
                folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 12, \"do_lower_case\": false}");
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        return folder;
    }
}
