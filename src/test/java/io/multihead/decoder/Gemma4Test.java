package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A small model with Gemma 4's architecture, compared with plain loops. */
@Tag("lanes")
class Gemma4Test {
    private static final double U = 0x1p-24;
    /** The number of terms of all sums in a block, one after the other: eight products of at most 192 terms, and eight norms of 64. */
    private static final int ROUNDINGS = 8 * 192 + 8 * 64;

    @TempDir
    private Path folder;

    @Test
    void logitsOfAFileAreThoseOfPlainLoops() throws IOException {
        Gemma4File file = new Gemma4File(5, 1);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        assertClose(file, path);
    }

    @Test
    void logitsOfAFolderAreThoseOfPlainLoops() throws IOException {
        Gemma4File file = new Gemma4File(6, 2);
        file.writeFolder(folder, false);
        assertClose(file, folder);
    }

    @Test
    void logitsOfAFileWithExpertsAreThoseOfPlainLoops() throws IOException {
        Gemma4File file = new Gemma4File(7, 1, true);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        assertClose(file, path);
    }

    @Test
    void logitsOfAFolderWithExpertsAndImagesAreThoseOfPlainLoops() throws IOException {
        Gemma4File file = new Gemma4File(8, 1, true);
        file.writeFolder(folder, true);
        assertClose(file, folder);
    }

    private static void assertClose(Gemma4File file, Path path) throws IOException {
        int[] ids = new SplittableRandom(1).ints(40, 3, 259).toArray();
        double[] largest = {0};
        double[][] expected = file.logits(ids, largest);
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open()) {
            for (int token = 0; token < ids.length; token++) {
                float[] logits = session.append(new int[] {ids[token]}).nextLogits();
                double size = Math.max(largest[0], 30);
                for (int i = 0; i < logits.length; i++) {
                    // each block adds the rounding errors of its sums
                    assertEquals(
                            expected[token][i],
                            logits[i],
                            (Gemma4File.LAYERS + 1) * ROUNDINGS * U * size,
                            "token " + token + ", logit " + i);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPackedModelIsTheSame(boolean large) throws IOException {
        Path path = folder.resolve("model.gguf");
        Path packed = folder.resolve("model.packed");
        new Gemma4File(5, 1, large).write(path);
        int[] ids = new SplittableRandom(1).ints(30, 3, 259).toArray();
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            model.write(packed);
            try (LanguageModel mapped = LanguageModel.map(cpu, packed);
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                    Sessions others = mapped.sessions(SessionOptions.DEFAULT)) {
                assertArrayEquals(
                        sessions.open().append(ids).nextLogits(),
                        others.open().append(ids).nextLogits());
            }
        }
    }

    /** Embedding has no session, but layers share keys, so each batch has a cache. */
    @Test
    void embeddingsAreThoseOfEachTextAlone() throws IOException {
        Path path = folder.resolve("model.gguf");
        new Gemma4File(5, 1).write(path);
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            TextEmbedder embedder = model.embedder();
            List<String> texts = List.of("A text.", "x", "Another text, which is longer.");
            float[][] together = embedder.embed(texts);
            for (int i = 0; i < texts.size(); i++) {
                assertArrayEquals(embedder.embed(texts.get(i)), together[i]);
            }
        }
    }

    @Test
    void whatDoesNotFitIsNamed() throws IOException {
        new Gemma4File(6, 2, true).writeFolder(folder, false);
        Path config = folder.resolve("config.json");
        String text = Files.readString(config);
        assertRefused(config, text.replace("\"attention_k_eq_v\": true", "\"attention_k_eq_v\": false"), "v_proj");
        assertRefused(
                config,
                text.replace("\"enable_moe_block\": true", "\"enable_moe_block\": false"),
                "experts.gate_up_proj");
        assertRefused(config, text.replace("\"top_k_experts\": 2", "\"top_k_experts\": 6"), "top_k_experts");
        assertRefused(
                config,
                text.replace("\"num_global_key_value_heads\": 2", "\"num_global_key_value_heads\": 3"),
                "num_global_key_value_heads");
        assertRefused(config, text.replace("\"vision\"", "\"all\""), "use_bidirectional_attention");
    }

    private void assertRefused(Path config, String text, String key) throws IOException {
        Files.writeString(config, text);
        try (Compute cpu = Compute.serial()) {
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, folder))
                    .getMessage();
            assertTrue(message.contains(key), message);
        }
    }
}
