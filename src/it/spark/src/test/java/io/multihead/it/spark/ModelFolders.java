package io.multihead.it.spark;

import io.multihead.format.OnnxWeights;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Writes models as folders in the form of the hub. */
final class ModelFolders {
    private static final String MINILM = "/all-minilm-l6-v2";

    private ModelFolders() {}

    /** Writes a model of one layer with random weights and letters as words. */
    static Path tiny(Path folder) throws IOException {
        Map<String, Tensor> weights = new LinkedHashMap<>();
        SplittableRandom random = new SplittableRandom(15);
        for (String shape : """
                embeddings.word_embeddings.weight 56 24
                embeddings.position_embeddings.weight 64 24
                embeddings.token_type_embeddings.weight 2 24
                embeddings.LayerNorm.weight 24
                embeddings.LayerNorm.bias 24
                encoder.layer.0.attention.self.query.weight 24 24
                encoder.layer.0.attention.self.query.bias 24
                encoder.layer.0.attention.self.key.weight 24 24
                encoder.layer.0.attention.self.key.bias 24
                encoder.layer.0.attention.self.value.weight 24 24
                encoder.layer.0.attention.self.value.bias 24
                encoder.layer.0.attention.output.dense.weight 24 24
                encoder.layer.0.attention.output.dense.bias 24
                encoder.layer.0.attention.output.LayerNorm.weight 24
                encoder.layer.0.attention.output.LayerNorm.bias 24
                encoder.layer.0.intermediate.dense.weight 40 24
                encoder.layer.0.intermediate.dense.bias 40
                encoder.layer.0.output.dense.weight 24 40
                encoder.layer.0.output.dense.bias 24
                encoder.layer.0.output.LayerNorm.weight 24
                encoder.layer.0.output.LayerNorm.bias 24
                """.split("\n")) {
            String[] parts = shape.split(" ");
            long rows = Long.parseLong(parts[1]);
            long columns = parts.length == 3 ? Long.parseLong(parts[2]) : 1;
            float[] values = new float[(int) (rows * columns)];
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) random.nextGaussian(0, 0.5);
            }
            weights.put(parts[0], parts.length == 3 ? Tensor.of(values, rows, columns) : Tensor.of(values, rows));
        }
        String letters = IntStream.rangeClosed('a', 'z')
                .mapToObj(letter -> (char) letter + "\n##" + (char) letter)
                .collect(Collectors.joining("\n"));
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + letters);
        Files.writeString(folder.resolve("config.json"), config(24, 1, 2, 40, 56, 64));
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of());
        return folder;
    }

    /** Writes all-MiniLM-L6-v2, from the file in langchain4j's jar. */
    static Path miniLm(Path folder) throws IOException {
        Files.createDirectories(folder);
        try (InputStream onnx = ModelFolders.class.getResourceAsStream(MINILM + ".onnx");
                InputStream tokenizer = ModelFolders.class.getResourceAsStream(MINILM + "-tokenizer.json")) {
            OnnxWeights read = OnnxWeights.read(onnx);
            Map<String, Tensor> weights = new LinkedHashMap<>();
            for (String name : read.names()) {
                weights.put(name, read.get(name));
            }
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of());
            Files.write(folder.resolve("tokenizer.json"), tokenizer.readAllBytes());
        }
        Files.writeString(folder.resolve("config.json"), config(384, 6, 12, 1536, 30522, 512));
        return folder;
    }

    /** Packs the files of a folder. */
    static Path zip(Path folder, Path archive) throws IOException {
        try (OutputStream out = Files.newOutputStream(archive);
                ZipOutputStream entries = new ZipOutputStream(out);
                Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                entries.putNextEntry(new ZipEntry(file.getFileName().toString()));
                Files.copy(file, entries);
                entries.closeEntry();
            }
        }
        return archive;
    }

    private static String config(int dim, int layers, int heads, int inner, int words, int positions) {
        return """
                {"model_type": "bert", "hidden_act": "gelu", "hidden_size": %d, "num_hidden_layers": %d,
                 "num_attention_heads": %d, "intermediate_size": %d, "vocab_size": %d, "max_position_embeddings": %d,
                 "type_vocab_size": 2, "layer_norm_eps": 1e-12, "position_embedding_type": "absolute"}
                """.formatted(dim, layers, heads, inner, words, positions);
    }
}
