package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Some weights are not finite numbers. The error names the text that uses them, and other texts of the batch keep their bits. */
class NonFiniteTest {
    private static final List<String> TEXTS = List.of("ab", "c", "a q b", "de");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY})
    void vectorsOfTexts(float poison) throws IOException {
        TinyModel.write(folder);
        Map<String, Tensor> weights = TinyModel.weights(1);
        poison(weights, "", poison);
        try (SentenceEncoder whole = SentenceEncoder.load(Compute.serial(), folder)) {
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of());
            try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), folder)) {
                assertFails("text 2: ", () -> encoder.embed(TEXTS));
                assertFails("text 0: ", () -> encoder.embed("q"));
                assertArrayEquals(whole.embed("ab"), encoder.embed("ab"));
                Iterator<TextEmbedding> each = encoder.embed(TEXTS.iterator());
                assertArrayEquals(whole.embed("ab"), each.next().vector());
                assertArrayEquals(whole.embed("c"), each.next().vector());
                assertFails("text 2: ", each::next);
                assertArrayEquals(whole.embed("de"), each.next().vector());
                assertFalse(each.hasNext());
            }
        }
    }

    @Test
    void scoresOfPassages() throws IOException {
        TinyReranker model = new TinyReranker(1, 1);
        model.write(folder);
        Map<String, Tensor> weights = model.named();
        poison(weights, "bert.", Float.NaN);
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of());
        try (Reranker reranker = Reranker.load(Compute.serial(), folder)) {
            assertFails("passage 2: ", () -> reranker.score("a", TEXTS));
            assertFails("passage 2: ", () -> reranker.rank("a", TEXTS));
            assertTrue(Double.isFinite(reranker.score("a", "de")));
        }
    }

    @Test
    void sparseVectors() throws IOException {
        TinyMasked model = new TinyMasked(1, false);
        Map<String, Tensor> weights = model.weights();
        poison(weights, "bert.", Float.NaN);
        model.write(folder, weights);
        try (SparseEncoder encoder = SparseEncoder.load(Compute.serial(), folder)) {
            assertFails("text 2: ", () -> encoder.embed(TEXTS));
            assertTrue(encoder.embed("de").size() >= 0);
        }
    }

    @Test
    void vectorsOfTokens() throws IOException {
        new TinyTokenModel(1).writePyLate(folder);
        Map<String, Tensor> weights = TinyModel.weights(1);
        poison(weights, "", Float.NaN);
        Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of());
        try (TokenEncoder encoder = TokenEncoder.load(Compute.serial(), folder)) {
            assertFails("text 2: ", () -> encoder.embedDocuments(TEXTS));
            assertFails("text 2: ", () -> encoder.embedQueries(TEXTS));
            assertEquals(1, encoder.embedDocuments(List.of("de")).texts());
        }
    }

    /** Gives the word {@code q} an embedding that is not finite. */
    private static void poison(Map<String, Tensor> weights, String prefix, float value) {
        String name = prefix + "embeddings.word_embeddings.weight";
        float[] table = weights.get(name).toArray();
        int row = TinyModel.VOCABULARY.indexOf("q");
        table[row * TinyModel.DIM + 3] = value;
        table[row * TinyModel.DIM + 4] = -value;
        weights.put(name, Tensor.of(table, weights.get(name).shape().toArray()));
    }

    private static void assertFails(String message, Executable call) {
        ArithmeticException failed = assertThrows(ArithmeticException.class, call);
        assertTrue(failed.getMessage().startsWith(message), failed.getMessage());
        assertTrue(failed.getMessage().contains("expected finite numbers"), failed.getMessage());
    }
}
