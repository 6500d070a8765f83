package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.encoder.TokenEncoder;
import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The trained model as an encoder of tokens, whose vectors are its states: a folder as PyLate writes it, which lives as long as this. */
final class TrainedTokens implements AutoCloseable {
    private static final int DIM = 384;

    private static final String CONFIG = """
            {"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
             "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2,
             "layer_norm_eps": 1e-12}
            """;

    private static final String MODULES = """
            [{"path": "", "type": "sentence_transformers.models.Transformer"},
             {"path": "1_Dense", "type": "pylate.models.Dense.Dense"}]
            """;

    private static final String DENSE = """
            {"in_features": 384, "out_features": 384, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}
            """;

    private static final String SETTINGS = """
            {"query_prefix": "", "document_prefix": "", "query_length": 256, "document_length": 256, "do_query_expansion": false,
             "skiplist_words": [], "similarity_fn_name": "MaxSim"}
            """;

    private final Path folder;
    private final TokenEncoder encoder;

    private TrainedTokens(Path folder, TokenEncoder encoder) {
        this.folder = folder;
        this.encoder = encoder;
    }

    static TrainedTokens open(Compute cpu) throws IOException {
        Path folder = Files.createTempDirectory("tokens");
        try {
            write(folder);
            return new TrainedTokens(folder, TokenEncoder.load(cpu, folder));
        } catch (Throwable failed) {
            delete(folder);
            throw failed;
        }
    }

    private static void write(Path folder) throws IOException {
        Path dense = Files.createDirectories(folder.resolve("1_Dense"));
        Files.writeString(folder.resolve("config.json"), CONFIG);
        Files.writeString(folder.resolve("modules.json"), MODULES);
        Files.writeString(folder.resolve("config_sentence_transformers.json"), SETTINGS);
        Files.writeString(dense.resolve("config.json"), DENSE);
        float[] identity = new float[DIM * DIM];
        for (int i = 0; i < DIM; i++) {
            identity[i * DIM + i] = 1;
        }
        Safetensors.write(
                dense.resolve("model.safetensors"),
                Map.of("linear.weight", Tensor.of(identity, DIM, DIM)),
                Map.of("format", "pt"));
        try (InputStream weights = TrainedModel.open(TrainedModel.WEIGHTS);
                InputStream tokenizer = TrainedModel.open(TrainedModel.TOKENIZER)) {
            Files.copy(tokenizer, folder.resolve("tokenizer.json"));
            OnnxWeights file = OnnxWeights.read(weights);
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            file.names().stream()
                    .filter(name -> name.startsWith("e"))
                    .forEach(name -> tensors.put(name, file.get(name)));
            Safetensors.write(folder.resolve("model.safetensors"), tensors, Map.of("format", "pt"));
        }
    }

    TokenEncoder encoder() {
        return encoder;
    }

    @Override
    public void close() throws IOException {
        encoder.close();
        delete(folder);
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            List<Path> all = files.sorted(Comparator.reverseOrder()).toList();
            for (Path file : all) {
                Files.delete(file);
            }
        }
    }
}
