package io.multihead.encoder;

import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairFixture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** A small ModernBERT with random weights. Its sizes are not multiples of vector or panel sizes, and its windows are shorter than texts. */
final class TinyModernBert {
    static final int DIM = 30;
    static final int HEADS = 3;
    static final int INNER = 37;
    static final int LAYERS = 4;
    static final int POSITIONS = 40;
    static final int REACH = 3;

    /** The configuration, in which layers 0 and 2 are global. */
    static final String CONFIG = """
            {"model_type": "modernbert", "hidden_activation": "gelu", "hidden_size": 30, "num_hidden_layers": 4,
             "num_attention_heads": 3, "intermediate_size": 37, "vocab_size": 264, "max_position_embeddings": 40, "norm_eps": 1e-5,
             "global_attn_every_n_layers": 2, "local_attention": 7, "global_rope_theta": 2000.0, "local_rope_theta": 30.0,
             "position_embedding_type": "absolute", "reference_compile": false, "classifier_pooling": "mean"}
            """;

    /** The configuration with all biases, in the form of newer versions of transformers. */
    static final String NEWER = """
            {"model_type": "modernbert", "hidden_activation": "gelu", "hidden_size": 30, "num_hidden_layers": 4,
             "num_attention_heads": 3, "intermediate_size": 37, "vocab_size": 264, "max_position_embeddings": 40, "norm_eps": 1e-5,
             "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"], "local_attention": 7,
             "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 2000.0},
               "sliding_attention": {"rope_type": "default", "rope_theta": 30.0}},
             "attention_bias": true, "mlp_bias": true, "norm_bias": true, "classifier_bias": true, "classifier_pooling": "cls"}
            """;

    private TinyModernBert() {}

    /** Returns random weights by name, which the seed determines. */
    static Map<String, Tensor> weights(long seed, boolean biases) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        TinyModel.put(weights, random, "embeddings.tok_embeddings.weight", 264, DIM);
        put(weights, random, biases, "embeddings.norm", DIM);
        for (int layer = 0; layer < LAYERS; layer++) {
            String name = "layers." + layer + ".";
            if (layer > 0) {
                put(weights, random, biases, name + "attn_norm", DIM);
            }
            put(weights, random, biases, name + "attn.Wqkv", 3 * DIM, DIM);
            put(weights, random, biases, name + "attn.Wo", DIM, DIM);
            put(weights, random, biases, name + "mlp_norm", DIM);
            put(weights, random, biases, name + "mlp.Wi", 2 * INNER, DIM);
            put(weights, random, biases, name + "mlp.Wo", DIM, INNER);
        }
        put(weights, random, biases, "final_norm", DIM);
        return weights;
    }

    private static void put(
            Map<String, Tensor> weights, SplittableRandom random, boolean bias, String name, long... dims) {
        TinyModel.put(weights, random, name + ".weight", dims);
        if (bias) {
            TinyModel.put(weights, random, name + ".bias", dims[0]);
        }
    }

    /** Returns the weights of the head, with their names in a file that also contains the encoder. */
    static Map<String, Tensor> head(long seed, boolean biases, int labels) {
        SplittableRandom random = new SplittableRandom(seed + 1000);
        Map<String, Tensor> weights = new LinkedHashMap<>();
        put(weights, random, biases, "head.dense", DIM, DIM);
        put(weights, random, biases, "head.norm", DIM);
        put(weights, random, true, "classifier", labels, DIM);
        return weights;
    }

    /** Writes the folder of an encoder without a head, as sentence-transformers does. */
    static Path write(Path folder, String config, Map<String, Tensor> weights) throws IOException {
        TinyModel.write(folder);
        Files.delete(folder.resolve("vocab.txt"));
        Files.writeString(folder.resolve("config.json"), config);
        Files.writeString(folder.resolve("tokenizer.json"), BytePairFixture.modernBert());
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": null}");
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        return folder;
    }

    /** Writes the folder of a cross-encoder, as transformers does. */
    static Path writeReranker(Path folder, String config, Map<String, Tensor> encoder, Map<String, Tensor> head)
            throws IOException {
        Map<String, Tensor> all = new LinkedHashMap<>(head);
        encoder.forEach((name, weight) -> all.put("model." + name, weight));
        String labels =
                head.get("classifier.bias").dim(0) == 1 ? "{\"0\": \"LABEL_0\"}" : "{\"0\": \"a\", \"1\": \"b\"}";
        write(
                folder,
                "{\"architectures\": [\"ModernBertForSequenceClassification\"], \"id2label\": " + labels + ", "
                        + config.strip().substring(1),
                all);
        for (String file : List.of("modules.json", "sentence_bert_config.json")) {
            Files.delete(folder.resolve(file));
        }
        return folder;
    }
}
