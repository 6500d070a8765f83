package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.layer.DenseFunction;
import io.multihead.internal.encoder.layer.DenseLayer;
import io.multihead.model.Pooling;
import io.multihead.tensor.DType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Concatenated pooling modes, and pooling without the prompt, with the tiny model. */
class PoolingTest extends TinyModelFolder {
    private static final Pooling[] MORE = {Pooling.MEAN, Pooling.LAST, Pooling.CLS, Pooling.MEAN};

    private void write(String pooling) throws IOException {
        Files.writeString(folder.resolve("1_Pooling/config.json"), pooling);
    }

    private static float[] concat(float[]... parts) {
        int at = 0;
        float[] all = new float[Stream.of(parts).mapToInt(part -> part.length).sum()];
        for (float[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    /** Flags have a fixed order, and names have the order in the file. Normalization applies to the whole vector. */
    @Test
    void vectorsOfSeveralWaysAreConcatenated() throws IOException {
        write(
                "{\"pooling_mode_mean_tokens\": true, \"pooling_mode_lasttoken\": true, \"pooling_mode_cls_token\": true}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(63, encoder.dimension());
            SentenceEncoder plain = encoder.withNormalization(false);
            float[] expected = concat(
                    plain.withPooling(Pooling.CLS).embed("abc"),
                    plain.withPooling(Pooling.MEAN).embed("abc"),
                    plain.withPooling(Pooling.LAST).embed("abc"));
            assertArrayEquals(expected, plain.embed("abc"));
            double squares = 0;
            for (float x : expected) {
                squares += (double) x * x;
            }
            float[] unit = encoder.embed("abc");
            for (int i = 0; i < unit.length; i++) {
                assertEquals(expected[i] / Math.sqrt(squares), unit[i], 3 * 0x1p-24);
            }
        }
        write("{\"pooling_mode\": [\"max\", \"mean\", \"lasttoken\", \"cls\", \"mean\"]}");
        try (SentenceEncoder encoder = load()) {
            assertArrayEquals(encoder.withPooling(Pooling.MAX, MORE).embed("abc"), encoder.embed("abc"));
            assertEquals(105, encoder.dimension());
            assertEquals(21, encoder.withPooling(Pooling.MAX).dimension());
            assertEquals(50, encoder.withDimension(50).embed("abc").length);
            Path file = folder.resolve("packed");
            encoder.write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed("abc"), mapped.embed("abc"));
            }
            List<String> texts = TinyReranker.texts(new SplittableRandom(1), 60, 12);
            SentenceEncoder split =
                    encoder.withLongTexts(LongTexts.SPLIT_AND_AVERAGE).withMaxTokens(5);
            float[][] all = split.embed(texts);
            for (int i = 0; i < all.length; i++) {
                assertArrayEquals(all[i], split.embed(texts.get(i)));
            }
            assertThrows(NullPointerException.class, () -> encoder.withPooling(Pooling.MAX, (Pooling) null));
        }
    }

    @Test
    void aDenseLayerReadsAllWays() throws IOException {
        DenseLayer.Config config = new DenseLayer.Config(42, 5, true, DenseFunction.TANH, false);
        TinyDense dense = TinyDense.of(1, "2_Dense", config);
        TinyDense.write(folder, List.of(dense), DType.F32, false);
        write("{\"pooling_mode\": [\"max\", \"mean\"]}");
        try (SentenceEncoder encoder = load()) {
            int[] ids = encoder.tokenizer().encodeWithSpecialTokens("abc de");
            double[][] states = new ReferenceEncoder(TinyModel.weights(1)).states(ids, new int[ids.length]);
            double[] max = ReferenceEncoder.pool(states, Pooling.MAX, 0);
            double[] mean = ReferenceEncoder.pool(states, Pooling.MEAN, 0);
            double[] both = Stream.of(max, mean).flatMapToDouble(Arrays::stream).toArray();
            double largest = Arrays.stream(both).map(Math::abs).max().orElseThrow();
            TinyDense.Bounded expected =
                    dense.forward(new TinyDense.Bounded(both, SentenceEncoderTest.TOLERANCE * Math.max(1, largest)));
            float[] actual = encoder.embed("abc de");
            for (int i = 0; i < actual.length; i++) {
                assertEquals(expected.vector()[i], actual[i], expected.error());
            }
            assertEquals(
                    "pooling: [MAX] of 21 elements; expected the 42 of the model's dense layer",
                    assertThrows(IllegalArgumentException.class, () -> encoder.withPooling(Pooling.MAX))
                            .getMessage());
        }
    }

    /** {@code [CLS]} is ignored together with the prompt, as in the reference. A weighted mean counts positions from the first token. */
    @ParameterizedTest
    @EnumSource(Pooling.class)
    void aPromptMayNotCount(Pooling pooling) throws IOException {
        write("{\"pooling_mode\": \"mean\", \"include_prompt\": false}");
        ReferenceEncoder reference = new ReferenceEncoder(TinyModel.weights(1));
        try (SentenceEncoder loaded = load()) {
            SentenceEncoder encoder = loaded.withPooling(pooling).withNormalization(false);
            SentenceEncoder prompted = encoder.withPrompt("query: ");
            for (String text : List.of("abc de", "x", "", "abc defghi jk lmnop")) {
                int[] ids = encoder.tokenizer().encodeWithSpecialTokens("query: " + text, 12);
                double[][] states = reference.states(ids, new int[ids.length]);
                double[] expected = ReferenceEncoder.pool(states, pooling, 3);
                double root = pooling == Pooling.MEAN_SQRT_LEN ? Math.sqrt(ids.length) : 1;
                float[] actual = prompted.embed(text);
                for (int i = 0; i < actual.length; i++) {
                    double bound = root * SentenceEncoderTest.TOLERANCE * Math.max(1, Math.abs(expected[i]));
                    assertEquals(expected[i], actual[i], bound, text);
                }
                // without a prompt all tokens count, and ids have no prompt
                int[] plain = encoder.tokenizer().encodeWithSpecialTokens(text, 12);
                assertArrayEquals(encoder.embed(text), prompted.embedTokens(List.of(plain))[0]);
            }
        }
    }

    /**
     * The last token of a text counts, even if the prompt has more tokens than a text may have. Parts after the first one have no prompt.
     */
    @Test
    void aPromptMayFillTheText() throws IOException {
        write("{\"pooling_mode\": \"mean\", \"include_prompt\": false}");
        try (SentenceEncoder encoder = load()) {
            SentenceEncoder small = encoder.withMaxTokens(4);
            assertArrayEquals(
                    small.withPrompt("").withPooling(Pooling.LAST).embed("abcdef"),
                    small.withPrompt("abcdef").embed("g"));
            SentenceEncoder split =
                    small.withLongTexts(LongTexts.SPLIT_AND_AVERAGE).withNormalization(false);
            float[] first = split.withPooling(Pooling.LAST).embed("a b");
            float[] second = split.embed("c d");
            float[] actual = split.withPrompt("a b ").embed("c d");
            for (int i = 0; i < actual.length; i++) {
                assertEquals((first[i] + second[i]) / 2, actual[i], 4 * 0x1p-24 * 3);
            }
            Path file = folder.resolve("packed");
            encoder.withPrompt("query: ").write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.withPrompt("query: ").embed("abc"), mapped.embed("abc"));
                assertTrue(!Arrays.equals(
                        mapped.embed("abc"), mapped.withPrompt("").embed("query: abc")));
            }
        }
    }
}
