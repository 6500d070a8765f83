package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SparseEncoder;
import io.multihead.encoder.SparseVector;
import io.multihead.encoder.TinyMasked;
import io.multihead.nn.Gradients;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A masked language model of layers: gradients are compared with differences. Other tests check training, and written
 * and read folders.
 */
class BertMaskedModelTest {
    private static final Compute CPU = Compute.serial();
    private static final int[] TOKENS = new SplittableRandom(4).ints(300, 7, 14).toArray();

    @TempDir
    private Path folder;

    private BertMaskedModel load() throws IOException {
        return BertMaskedModel.load(Arena.ofAuto(), new TinyMasked(1, true).writePlain(folder.resolve("masked")));
    }

    private static TokenWindows windows(long seed) {
        return TokenWindows.masked(TOKENS, 5, 9, new TokenWindows.Masking(0.3, 4, 60), seed);
    }

    @Test
    void gradientsAreDifferences() throws IOException {
        BertMaskedModel model = load();
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto(), name -> true);
        double loss = model.learn(CPU, windows(1), gradients, 0);
        // both forward passes have the same bits
        assertEquals(loss, model.loss(CPU, windows(1)));
        Slopes.assertSlopes(model.parameters(), gradients, () -> {
            model.parametersChanged();
            return model.loss(CPU, windows(1));
        });
    }

    @Test
    void itLearnsWithTheSameBitsOnAnyThreads() throws IOException {
        BertMaskedModel model = load().withDropout(0.1);
        BertMaskedModel other = load().withDropout(0.1);
        double before = model.loss(CPU, windows(99));
        train(CPU, model);
        try (Compute threads = Compute.threads(3)) {
            train(threads, other);
        }
        model.parameters()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), other.parameters().get(name).toArray(), name));
        double after = model.loss(CPU, windows(99));
        assertTrue(after < before - 1, before + " to " + after);
    }

    private static void train(Compute cpu, BertMaskedModel model) {
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto(), name -> true);
        AdamW optimizer = AdamW.of(model.parameters(), AdamW.Options.DEFAULT);
        for (int step = 0; step < 60; step++) {
            Gradients.clear(gradients);
            model.learn(cpu, windows(step), gradients, step);
            Gradients.clip(cpu, gradients, 1);
            optimizer.step(cpu, gradients, 1e-2);
            model.parametersChanged();
        }
    }

    @Test
    void aFolderThereAndBackHasTheSameVectors() throws IOException {
        BertMaskedModel model = load();
        model.save(folder.resolve("copy"));
        try (SparseEncoder before = SparseEncoder.load(CPU, folder.resolve("masked"));
                SparseEncoder after = SparseEncoder.load(CPU, folder.resolve("copy"))) {
            SparseVector expected = before.embed("a dog and a cat");
            SparseVector actual = after.embed("a dog and a cat");
            assertArrayEquals(expected.ids(), actual.ids());
            assertArrayEquals(expected.weights(), actual.weights());
        }
        BertMaskedModel again = BertMaskedModel.load(Arena.ofAuto(), folder.resolve("copy"));
        assertEquals(model.loss(CPU, windows(2)), again.loss(CPU, windows(2)));
        assertThrows(IllegalArgumentException.class, () -> model.save(folder.resolve("masked")));
    }

    @Test
    void nothingChosenIsNoLossAndLongWindowsAreRefused() throws IOException {
        BertMaskedModel model = load();
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto(), name -> true);
        TokenWindows none = TokenWindows.masked(TOKENS, 1, 2, new TokenWindows.Masking(1e-9, 4, 60), 1);
        assertEquals(0, model.learn(CPU, none, gradients, 0));
        assertEquals(0, model.loss(CPU, none));
        TokenWindows longer = TokenWindows.masked(TOKENS, 1, 25, new TokenWindows.Masking(0.3, 4, 60), 1);
        assertEquals(
                "windows: 25 tokens; expected at most the model's 24 positions",
                assertThrows(IllegalArgumentException.class, () -> model.loss(CPU, longer))
                        .getMessage());
    }

    @Test
    void otherFoldersAreRefusedByName() throws IOException {
        Path untied = new TinyMasked(1, false).writePlain(folder.resolve("untied"));
        refuses("tie_word_embeddings", untied);
        Path config = untied.resolve("config.json");
        Files.writeString(config, Files.readString(config).replace("\"tie_word_embeddings\": false", "\"x\": 1"));
        refuses("cls.predictions.decoder.weight", untied);
        Path headless = folder.resolve("headless");
        io.multihead.encoder.TinyModel.write(headless);
        refuses("cls.predictions.transform.dense.weight", headless);
    }

    private static void refuses(String part, Path folder) {
        String message = assertThrows(
                        IllegalArgumentException.class, () -> BertMaskedModel.load(Arena.ofAuto(), folder))
                .getMessage();
        assertTrue(message.contains(part), message);
    }
}
