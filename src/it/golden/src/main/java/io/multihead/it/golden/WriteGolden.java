package io.multihead.it.golden;

import io.multihead.encoder.GoldenEncoder;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** Writes all golden files into the repository that the only argument names. */
public final class WriteGolden {
    private static final String COMMAND = "mvn -q -f src/it/golden compile exec:exec";
    private static final String MODEL = "all-minilm-l6-v2";

    private WriteGolden() {}

    public static void main(String[] args) throws Exception {
        Path repository = Path.of(args[0]);
        Path golden = repository.resolve("src/test/resources/golden");
        Path paragraph = repository.resolve("src/demo/resources/paragraph.txt");
        Path folder = Files.createTempDirectory("golden");
        Path tokenizer = extract(MODEL + "-tokenizer.json", folder);
        Path model = extract(MODEL + ".onnx", folder);
        WriteTokens.write(tokenizer, paragraph, golden.resolve("text/wordpiece.json"), COMMAND);
        WriteEmbeddings.write(
                tokenizer, model, Files.readString(paragraph), golden.resolve("encoder/minilm.safetensors"), COMMAND);
        WriteScores.write(
                tokenizer, model, Files.readString(paragraph), golden.resolve("encoder/reranker.safetensors"), COMMAND);
        WriteSparse.write(
                tokenizer, model, Files.readString(paragraph), golden.resolve("encoder/sparse.safetensors"), COMMAND);
        WriteVectors.write(GoldenEncoder.modernBert(), golden.resolve("encoder/modernbert.safetensors"), COMMAND);
        WriteVectors.write(GoldenEncoder.nomicBert(), golden.resolve("encoder/nomicbert.safetensors"), COMMAND);
        Files.delete(tokenizer);
        Files.delete(model);
        Files.delete(folder);
    }

    private static Path extract(String resource, Path folder) throws Exception {
        Path file = folder.resolve(resource);
        try (InputStream in = WriteGolden.class.getResourceAsStream("/" + resource)) {
            Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        }
        return file;
    }
}
