package io.multihead.demo;

import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Writes the trained model of the jar as a folder of sentence-transformers, which can be fine-tuned. */
public final class MiniLmFolder {
    static final String CONFIG = """
            {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6,
             "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512,
             "type_vocab_size": 2, "layer_norm_eps": 1e-12, "position_embedding_type": "absolute"}
            """;

    private static final String MODULES = """
            [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
             {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
             {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
            """;

    private static final String POOLING = """
            {"word_embedding_dimension": 384, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
             "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false}
            """;

    private MiniLmFolder() {}

    public static Path write(Path folder) throws IOException {
        Files.createDirectories(folder.resolve("1_Pooling"));
        Files.writeString(folder.resolve("config.json"), CONFIG);
        Files.writeString(folder.resolve("modules.json"), MODULES);
        Files.writeString(folder.resolve("1_Pooling").resolve("config.json"), POOLING);
        Files.writeString(
                folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 256, \"do_lower_case\": false}");
        try (InputStream tokenizer = TrainedModel.open(TrainedModel.TOKENIZER);
                InputStream onnx = TrainedModel.open(TrainedModel.WEIGHTS)) {
            Files.write(folder.resolve("tokenizer.json"), tokenizer.readAllBytes());
            OnnxWeights file = OnnxWeights.read(onnx);
            Map<String, Tensor> weights = new LinkedHashMap<>();
            for (String name : file.names()) {
                if (name.startsWith("embeddings.") || name.startsWith("encoder.")) {
                    weights.put(name, file.get(name));
                }
            }
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
        return folder;
    }
}
