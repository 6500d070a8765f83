package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.TinyStatic.Raw;
import io.multihead.internal.encoder.layer.DenseFunction;
import io.multihead.internal.encoder.layer.DenseLayer;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Invalid folders of static embeddings are refused, and errors name the wrong contents. */
class StaticFolderTest {
    private static final Tensor ROWS = TinyStatic.rows(1, TinyStatic.ROWS);

    @TempDir
    Path folder;

    private SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "other | 59 | 0 | tensor \"embedding.weight\": not in the file; expected it, or model2vec's \"embeddings\", beside [other]",
                "embedding.weight | 58 | 0 | tokenizer: 59 tokens; expected at most the 58 of the model's word embeddings",
                "embedding.weight | 59 | 1 | weights: unused [more]; expected the weights of a StaticEmbedding module",
            })
    void weightsThatDoNotFitAreNamed(String name, int rows, int more, String message) throws IOException {
        TinyStatic.write(folder, ROWS, true);
        Map<String, Raw> tensors = new LinkedHashMap<>();
        tensors.put(name, Raw.of(TinyStatic.rows(1, rows)));
        if (more > 0) {
            tensors.put("more", Raw.of(ROWS));
        }
        TinyStatic.writeRaw(folder.resolve("0_StaticEmbedding/model.safetensors"), tensors);
        assertFails(message);
    }

    @Test
    void partsOfModel2VecThatDoNotFitAreNamed() throws IOException {
        Raw rows = Raw.of(TinyStatic.rows(1, 7));
        requireRefused(
                Map.of("embeddings", rows, "mapping", Raw.longs(0, 6, 7)),
                "mapping[2]: 7; expected 0 to 6, a row of \"embeddings\"");
        requireRefused(Map.of("embeddings", rows, "mapping", Raw.ints(0, -1)), "mapping[1]: -1; expected 0 to 6");
        requireRefused(
                Map.of("embeddings", rows, "mapping", Raw.doubles(0)),
                "tensor \"mapping\": dtype F64; expected I64 or I32");
        requireRefused(
                Map.of("embeddings", rows, "mapping", Raw.ints(1, 2), "weights", Raw.doubles(1, 2, 3)),
                "tensor \"weights\": F64 [3]; expected floating numbers of shape [2]");
        requireRefused(
                Map.of("embeddings", rows, "mapping", new Raw("I32", "[2, 1]", new byte[8])),
                "tensor \"mapping\": I32 [2, 1]; expected I64 or I32 [tokens]");
        requireRefused(
                Map.of("embeddings", rows, "mapping", new Raw("I64", "[]", new byte[8])),
                "tensor \"mapping\": I64 []; expected I64 or I32 [tokens]");
        requireRefused(
                Map.of("embeddings", rows, "mapping", Raw.ints(1, 2), "weights", new Raw("F16", "[2, 1]", new byte[4])),
                "tensor \"weights\": F16 [2, 1]; expected floating numbers of shape [2]");
        requireRefused(
                Map.of("embeddings", rows, "mapping", Raw.ints(1, 2), "weights", new Raw("I8", "[2]", new byte[2])),
                "tensor \"weights\": I8 [2]; expected floating numbers of shape [2]");
        requireRefused(
                Map.of("embeddings", new Raw("U8", "[59, 2]", new byte[59 * 2])),
                "tensor \"embeddings\": U8 [59, 2]; expected floating numbers or I8 [tokens, dim]");
        requireRefused(
                Map.of("embedding.weight", new Raw("I8", "[59, 2]", new byte[59 * 2])),
                "tensor \"embedding.weight\": I8 [59, 2]; expected floating numbers [tokens, dim]");
        requireRefused(
                Map.of("embeddings", rows, "mapping", Raw.longs()),
                "tensor \"embeddings\": vocab_size: 0; expected at least 1");
        requireRefused(
                Map.of("embeddings", Raw.doubles(1, 2)),
                "tensor \"embeddings\": F64 [2]; expected floating numbers or I8 [tokens, dim]");
        requireRefused(
                Map.of("embeddings", new Raw("F16", "[1, 65537]", new byte[2 * 65537])),
                "tensor \"embeddings\": hidden_size: 65537; expected 1 to 65536");
        // a file of about 200 KB would become 5 GB
        requireRefused(
                Map.of(
                        "embeddings",
                        new Raw("F16", "[1, 65536]", new byte[2 * 65536]),
                        "mapping",
                        Raw.ints(new int[20000])),
                "mapping: 20000 tokens of 262144 bytes; expected at most 268435456 bytes for 1 different rows");
    }

    private void requireRefused(Map<String, Raw> tensors, String message) throws IOException {
        TinyStatic.writeModel2Vec(folder, tensors);
        assertFails(message);
    }

    @Test
    void modulesThatDoNotFitAreNamed() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        Path modules = folder.resolve("modules.json");
        Files.writeString(modules, TinyStatic.MODULES.replace("Normalize\"", "Pooling\""));
        assertFails("modules.type: sentence_transformers.models.Pooling; expected a Transformer, a Pooling, optional");
        TinyDense.of(2, "1_Normalize", new DenseLayer.Config(20, 10, true, DenseFunction.TANH, false))
                .write(folder, DType.F32);
        Files.writeString(modules, TinyStatic.MODULES.replace("models.Normalize", "models.Dense"));
        assertFails("in_features: 20; expected the 21 of a vector");
        Files.writeString(modules, TinyStatic.MODULES);
        Files.delete(folder.resolve("1_Normalize/config.json"));
        Path tokenizer = folder.resolve("0_StaticEmbedding/tokenizer.json");
        Files.writeString(tokenizer, TinyStatic.tokenizer().replace("BertNormalizer", "NFKC"));
        assertFails("tokenizer.normalizer.type: NFKC; expected BertNormalizer");
        Files.delete(tokenizer);
        NoSuchFileException missing = assertThrows(NoSuchFileException.class, this::load);
        assertTrue(missing.getMessage().startsWith(tokenizer + ": nothing there, in "), missing.getMessage());
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.toString()), wrong.getMessage());
    }
}
