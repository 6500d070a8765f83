package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.reference.ReferenceTransformer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Vectors of texts beside the states that the specification has. */
@Tag("lanes")
class TextEmbedderTest {
    private static final List<String> TEXTS =
            List.of("a bird", "The tea is cold.", "x", "It rains in the mountains, and the river rises.");

    /** Rounding of states of three layers, whose sums have 128 terms at most, beside vectors of length 1. */
    private static final double BOUND = 4 * (5 * 128 + 6 * 64) * 0x1p-24;

    @TempDir
    private Path folder;

    @Test
    void vectorsAreThoseOfTheSpecification() throws IOException {
        FamilyFile file = new FamilyFile(Kind.QWEN_3, 9);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        ReferenceTransformer reference = file.reference();
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            assertEquals(64, model.embedder().dimension());
            float[][] last = model.embedder().embed(TEXTS);
            float[][] mean = model.embedder().withPooling(Pooling.MEAN).embed(TEXTS);
            for (int i = 0; i < TEXTS.size(); i++) {
                int[] ids = model.tokenizer().withEnds(model.tokenizer().encode(TEXTS.get(i)));
                double[] states = reference.finalNorm().of(reference.states(ids));
                assertClose(unit(rows(states, ids.length - 1, ids.length)), last[i]);
                assertClose(unit(rows(states, 0, ids.length)), mean[i]);
            }
        }
    }

    /** Each text has the frequencies of its own length, as in transformers, whatever stands beside it. */
    @Test
    void textsOfLongRopeHaveTheFrequenciesOfTheirLength() throws IOException {
        FamilyFile file = new FamilyFile(Kind.PHI_4, 9);
        Path path = folder.resolve("model.gguf");
        file.write(path);
        ReferenceTransformer longer = file.reference();
        ReferenceTransformer shorter = file.withShortContext().reference();
        List<String> texts = List.of(
                "a bird",
                "It rains in the mountains, and the river rises. The tea is cold, and a bird sings.",
                "x",
                TEXTS.get(1));
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = LanguageModel.load(cpu, path)) {
            float[][] vectors = model.embedder().embed(texts);
            for (int i = 0; i < texts.size(); i++) {
                int[] ids = model.tokenizer().withEnds(model.tokenizer().encode(texts.get(i)));
                ReferenceTransformer reference = ids.length <= FamilyFile.ORIGINAL ? shorter : longer;
                double[] states = reference.finalNorm().of(reference.states(ids));
                assertClose(unit(rows(states, ids.length - 1, ids.length)), vectors[i]);
            }
        }
    }

    private static double[] rows(double[] states, int from, int to) {
        double[] mean = new double[64];
        for (int row = from; row < to; row++) {
            for (int i = 0; i < 64; i++) {
                mean[i] += states[row * 64 + i] / (to - from);
            }
        }
        return mean;
    }

    private static double[] unit(double[] vector) {
        double length = Math.sqrt(Arrays.stream(vector).map(x -> x * x).sum());
        return Arrays.stream(vector).map(x -> x / length).toArray();
    }

    private static void assertClose(double[] expected, float[] actual) {
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], actual[i], BOUND);
        }
    }

    @Test
    void aVectorIsTheSameAloneAndInAnyBatch() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.GEMMA_3, 9).write(path);
        try (Compute two = Compute.threads(2);
                Compute one = Compute.serial();
                LanguageModel model = LanguageModel.load(two, path);
                LanguageModel serial = LanguageModel.load(one, path)) {
            for (Pooling pooling : Pooling.values()) {
                TextEmbedder embedder = model.embedder().withPooling(pooling).withNormalization(false);
                float[][] together = embedder.embed(TEXTS);
                for (int i = 0; i < TEXTS.size(); i++) {
                    float[] alone = serial.embedder()
                            .withPooling(pooling)
                            .withNormalization(false)
                            .embed(TEXTS.get(i));
                    assertArrayEquals(alone, together[i]);
                }
            }
        }
    }

    @Test
    void aTextOfTooManyTokensIsNamed() throws IOException {
        Path path = folder.resolve("model.gguf");
        new FamilyFile(Kind.LLAMA, 9).write(path);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, path)) {
            TextEmbedder embedder = model.embedder();
            String message = assertThrows(
                            IllegalArgumentException.class, () -> embedder.embed(List.of("a", "b".repeat(200))))
                    .getMessage();
            assertEquals("texts[1]: 204 tokens; expected 1 to the context of 128", message);
        }
    }
}
