package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.model.Pooling;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lists of any kind, texts longer than a batch, and folders with missing or repeated parts or with parts in another order. */
class EncoderEdgeTest extends TinyModelFolder {
    private SentenceEncoder encoder;

    @BeforeEach
    void loadModel() throws IOException {
        encoder = load();
    }

    @Test
    void listsWithoutAnIndexAreEmbedded() {
        List<String> texts = List.of("abc", "", "de f", "query");
        assertArrayEquals(encoder.embed(texts), encoder.embed(new LinkedList<>(texts)));
    }

    /** A list that reports one number of texts first, and another number later. */
    private static final class Changing extends AbstractList<String> implements RandomAccess {
        private final int later;
        private int first;

        Changing(int first, int later) {
            this.first = first;
            this.later = later;
        }

        @Override
        public int size() {
            int size = first < 0 ? later : first;
            first = -1;
            return size;
        }

        @Override
        public String get(int index) {
            return "abcdefgh".substring(index);
        }
    }

    @Test
    void listsMayGrowOrShrinkMeanwhile() {
        float[][] expected = encoder.embed(List.of("abcdefgh", "bcdefgh", "cdefgh", "defgh"));
        assertArrayEquals(expected, encoder.embed(new Changing(1, 4)));
        assertArrayEquals(expected, encoder.embed(new Changing(0, 4)));
        assertArrayEquals(expected, encoder.embed(new Changing(8, 4)));
    }

    @Test
    void aTextMayBeLongerThanABatch() throws Exception {
        int positions = BertConfig.BATCH_TOKENS + 188;
        Map<String, Tensor> weights = writeWithPositions(positions);
        String text = "a bcd ef ".repeat(130);
        try (SentenceEncoder longer = load()) {
            assertEquals(positions, longer.maxTokens());
            int[] ids = longer.tokenizer().encodeWithSpecialTokens(text, positions);
            assertEquals(positions, ids.length);
            double[] expected = new ReferenceEncoder(weights).embed(ids, Pooling.MEAN, true);
            float[][] actual = longer.embed(List.of("a", text, "b"));
            for (int i = 0; i < expected.length; i++) {
                // each layer has two sums of 700 numbers in f32, whose means are about 0.2
                assertEquals(expected[i], actual[1][i], 4 * 700 * 0x1p-24, "element " + i);
            }
            assertArrayEquals(longer.embed("b"), actual[2]);
            assertArrayEquals(longer.embed("a"), actual[0]);
        }
    }

    /** A view reuses the buffers of a view with longer texts, but its batches are not longer. */
    @Test
    void batchesAreAsLongWhateverOtherViewsEmbedded() throws Exception {
        writeWithPositions(BertConfig.BATCH_TOKENS + 188);
        List<String> texts = Collections.nCopies(200, "a b c d e f");
        try (SentenceEncoder longer = SentenceEncoder.load(Compute.serial(), folder)) {
            List<Integer> done = new ArrayList<>();
            longer.embed(texts, done::add);
            // 87 texts of 8 tokens are 696 of at most 700 tokens
            assertEquals(List.of(87, 174, 200), done);
            done.clear();
            longer.withMaxTokens(8).embed(texts, done::add);
            // 64 texts of 8 tokens are 512 tokens
            assertEquals(List.of(64, 128, 192, 200), done);
        }
    }

    private Map<String, Tensor> writeWithPositions(int positions) throws IOException {
        Map<String, Tensor> weights = TinyModel.weights(1);
        weights.put(
                "embeddings.position_embeddings.weight",
                Numbers.gaussian(
                        Tensor.of(new float[positions * TinyModel.DIM], positions, TinyModel.DIM),
                        new SplittableRandom(7),
                        0,
                        0.5));
        TinyModel.write(folder, weights);
        Files.delete(folder.resolve("sentence_bert_config.json"));
        replace("config.json", "\"max_position_embeddings\": 24", "\"max_position_embeddings\": " + positions);
        return weights;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "Transformer Transformer Pooling | Transformer; expected",
                "Pooling Transformer | Pooling; expected",
                "Transformer Pooling Pooling | Pooling; expected",
                "Transformer Normalize Pooling | Normalize; expected",
                "Transformer Pooling Normalize Normalize | Normalize; expected",
            })
    void modulesInAnotherOrderAreNamed(String modules, String message) throws Exception {
        writeModules(modules.split(" "));
        assertFails("modules.type: sentence_transformers.models." + message);
    }

    @Test
    void everyFolderHasATransformerAndAPooling() throws Exception {
        writeModules();
        assertFails("modules: 0 modules; expected a Transformer and a Pooling module");
        writeModules("Transformer");
        assertFails("modules: 1 modules; expected a Transformer and a Pooling module");
        float[] normalized = encoder.embed("abc");
        writeModules("Transformer", "Pooling");
        try (SentenceEncoder plain = load()) {
            assertArrayEquals(encoder.withNormalization(false).embed("abc"), plain.embed("abc"));
            assertTrue(!Arrays.equals(normalized, plain.embed("abc")));
        }
    }

    private void writeModules(String... types) throws IOException {
        String[] modules = new String[types.length];
        for (int i = 0; i < types.length; i++) {
            String path = types[i].equals("Pooling") ? "1_Pooling" : "";
            modules[i] = "{\"path\": \"" + path + "\", \"type\": \"sentence_transformers.models." + types[i] + "\"}";
        }
        Files.writeString(folder.resolve("modules.json"), Arrays.toString(modules));
    }

    @Test
    void withoutALengthTextsMayFillAllPositions() throws Exception {
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{}");
        try (SentenceEncoder loaded = load()) {
            assertEquals(TinyModel.POSITIONS, loaded.maxTokens());
        }
        Files.writeString(folder.resolve("sentence_bert_config.json"), "{\"max_seq_length\": 3}");
        try (SentenceEncoder loaded = load()) {
            assertEquals(3, loaded.maxTokens());
        }
    }

    @Test
    void theDefaultPromptIsOneOfThePrompts() throws Exception {
        Path prompts = folder.resolve("config_sentence_transformers.json");
        Files.writeString(prompts, "{\"default_prompt_name\": \"query\"}");
        assertFails("default_prompt_name: query; expected one of []");
        Files.writeString(prompts, "{\"prompts\": {\"a\": \"b \"}, \"default_prompt_name\": \"b\"}");
        assertFails("default_prompt_name: b; expected one of [a]");
        Files.writeString(prompts, "{\"prompts\": {\"a\": \"b \"}, \"default_prompt_name\": null}");
        try (SentenceEncoder loaded = load()) {
            assertEquals(Map.of("a", "b "), loaded.prompts());
            assertArrayEquals(encoder.embed("abc"), loaded.embed("abc"));
        }
    }

    /** The prompt of documents does not apply to queries, even if the model has no prompt for queries. */
    @Test
    void aPromptOfDocumentsIsNotThatOfQueries() throws Exception {
        Path prompts = folder.resolve("config_sentence_transformers.json");
        Files.writeString(prompts, "{\"prompts\": {\"document\": \"d \"}}");
        try (SentenceEncoder loaded = load()) {
            assertArrayEquals(encoder.embed("d abc"), loaded.forDocuments().embed("abc"));
            assertArrayEquals(
                    encoder.embed("abc"), loaded.forDocuments().forQueries().embed("abc"));
        }
    }

    /** Texts of a failed batch are lost, and no part of them may affect a later vector. */
    @Test
    void anIteratorThatFailedStaysFailed() {
        String tooLong = "abc de ".repeat(40);
        for (LongTexts way : LongTexts.values()) {
            Iterator<String> source = List.of(tooLong, "b", "c", "d").iterator();
            Iterator<TextEmbedding> embeddings = encoder.withLongTexts(way).embed(new Iterator<String>() {
                private int calls;

                @Override
                public boolean hasNext() {
                    return source.hasNext();
                }

                @Override
                public String next() {
                    if (calls++ == 2) {
                        throw new IllegalCallerException("once");
                    }
                    return source.next();
                }
            });
            assertThrows(RuntimeException.class, embeddings::hasNext);
            assertEquals(
                    "embeddings: ended by an error; expected a new iterator",
                    assertThrows(IllegalStateException.class, embeddings::hasNext)
                            .getMessage());
            assertThrows(IllegalStateException.class, embeddings::next);
        }
    }

    @Test
    void weightsOfIntegersAreNamed() throws Exception {
        Map<String, Tensor> weights = TinyModel.weights(1);
        weights.put(
                "embeddings.LayerNorm.bias",
                Tensor.view(MemorySegment.ofArray(new byte[TinyModel.DIM]), DType.I8, Shape.of(TinyModel.DIM)));
        TinyModel.write(folder, weights);
        assertFails("tensor \"embeddings.LayerNorm.bias\": I8 [21]; expected floating numbers of shape [21]");
    }

    @Test
    void weightsOfATextHaveARowAndAColumnForEachToken() {
        List<String> tokens = Collections.nCopies(2, "a");
        assertEquals(
                2,
                new TextAttention(tokens, Tensor.of(new float[4], 1, 1, 2, 2))
                        .tokens()
                        .size());
        for (long[] dims : new long[][] {{1, 1, 2, 3}, {1, 1, 3, 2}, {2, 2}, {1, 1, 1, 2, 2}}) {
            Tensor weights = Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
            assertEquals(
                    "weights: shape " + weights.shape() + "; expected [layers, heads, 2, 2] for as many tokens",
                    assertThrows(IllegalArgumentException.class, () -> new TextAttention(tokens, weights))
                            .getMessage());
        }
    }

    private void replace(String file, String part, String instead) throws IOException {
        String before = Files.readString(folder.resolve(file));
        assertTrue(before.contains(part));
        Files.writeString(folder.resolve(file), before.replace(part, instead));
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
    }
}
