package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.compute.Compute;
import io.multihead.model.Buffers;
import io.multihead.model.Pooling;
import io.multihead.model.TokenBatch;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Vectors of chunks are compared with separately computed means of the states of the encoder's transformer. */
@Tag("lanes")
class LateChunkingTest {
    private static final List<String> CHUNKS = List.of("ab cd", " x y z", " q", ". abc");

    @TempDir
    private Path folder;

    /** Returns the states of the tokens of a text, including [CLS] and [SEP]. */
    private static float[][] states(Compute cpu, SentenceEncoder encoder, String text) {
        int[] ids = encoder.tokenizer().encodeWithSpecialTokens(text);
        TokenBatch batch = TokenBatch.of(ids.length);
        batch.begin();
        for (int id : ids) {
            batch.add(id);
        }
        Buffers buffers = encoder.transformer().buffers(ids.length);
        encoder.transformer().forward(cpu, batch, buffers);
        float[][] states = new float[ids.length][];
        for (int token = 0; token < ids.length; token++) {
            states[token] = buffers.states().select(0, token).toArray();
        }
        return states;
    }

    private static float[] mean(float[][] states, int from, int end) {
        float[] mean = new float[TinyModel.DIM];
        for (int i = 0; i < mean.length; i++) {
            double sum = states[from][i];
            for (int token = from + 1; token < end; token++) {
                sum += states[token][i];
            }
            mean[i] = (float) (sum / (end - from));
        }
        return mean;
    }

    @Test
    void vectorsAreMeansOfTheStatesOfTheirTokens() throws IOException {
        TinyModel.write(folder);
        try (Compute cpu = Compute.threads(2);
                SentenceEncoder loaded = SentenceEncoder.load(cpu, folder)) {
            for (String prompt : List.of("", "query: ")) {
                SentenceEncoder encoder =
                        loaded.withMaxTokens(24).withPrompt(prompt).withNormalization(false);
                float[][] vectors = LateChunking.embed(encoder, CHUNKS);
                float[][] states = states(cpu, encoder, prompt + String.join("", CHUNKS));
                int from = 1 + loaded.tokenizer().count(prompt);
                for (int i = 0; i < CHUNKS.size(); i++) {
                    int end = from + loaded.tokenizer().count(CHUNKS.get(i));
                    assertArrayEquals(mean(states, from, end), vectors[i], "part " + i);
                    from = end;
                }
                assertEquals(states.length - 1, from);
            }
        }
    }

    @Test
    void spacesMayStandAtEitherSideOfABorder() throws IOException {
        TinyModel.write(folder);
        try (Compute cpu = Compute.serial();
                SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            float[][] behind = LateChunking.embed(encoder, List.of("ab ", "cd"));
            float[][] before = LateChunking.embed(encoder, List.of("ab", " cd"));
            assertArrayEquals(before[0], behind[0]);
            assertArrayEquals(before[1], behind[1]);
            // a word of two tokens crosses the border
            float[][] within = LateChunking.embed(encoder, List.of("a", "b cd"));
            assertEquals(2, within.length);
            assertEquals(0, LateChunking.embed(encoder, List.of()).length);
        }
    }

    @Test
    void whatCannotBeDividedIsNamed() throws IOException {
        TinyModel.write(folder);
        try (Compute cpu = Compute.serial();
                SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
            assertRefused(
                    "chunks[1]: no token; expected at least one token for each chunk", encoder, List.of("a", " ", "b"));
            assertRefused(
                    "chunks: 27 tokens; expected at most 12, as parts of a text that is read as a whole",
                    encoder,
                    List.of("a ".repeat(10), "b ".repeat(15)));
            assertRefused(
                    "encoder: [MEAN, CLS]; expected one pooling, which the mean replaces",
                    encoder.withPooling(Pooling.MEAN, Pooling.CLS),
                    List.of("a"));
        }
    }

    private static void assertRefused(String message, SentenceEncoder encoder, List<String> chunks) {
        assertEquals(
                message,
                assertThrows(IllegalArgumentException.class, () -> LateChunking.embed(encoder, chunks))
                        .getMessage());
    }
}
