package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.layer.DenseFunction;
import io.multihead.internal.encoder.layer.DenseLayer;
import io.multihead.langchain4j.EncoderTokenCountEstimator;
import io.multihead.langchain4j.MultiheadEmbeddingModel;
import io.multihead.model.Pooling;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.SpecialIds;
import io.multihead.text.Tokenizers;
import io.multihead.text.UnigramFixture;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Static embeddings of the module StaticEmbedding of sentence-transformers. {@link Model2VecTest} tests folders of model2vec. */
@Tag("lanes")
class StaticEncoderTest {
    private static final Tensor ROWS = TinyStatic.rows(1, TinyStatic.ROWS);

    /** A vector is rounded once. The error of the sum in double is less than an ulp for each of 3000 tokens. */
    private static final double RELATIVE = 0x1p-24 + 3000 * 0x1p-52;

    /** A text of more tokens than a batch, whose words have several tokens. */
    private static final String LONG = "abc de fghij ".repeat(300);

    @TempDir
    Path folder;

    static List<String> texts() {
        List<String> texts = new ArrayList<>(TinyReranker.texts(new SplittableRandom(1), 80, 12));
        texts.addAll(List.of("", "abc", " \n", LONG, "abc", "[CLS] a[SEP]", "\u4e2d\u6587 x", "a ".repeat(700), ""));
        return texts;
    }

    private SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder);
    }

    static void assertMean(Tensor rows, int[] ids, boolean normalized, float[] actual) {
        double[] mean = TinyStatic.mean(rows, ids);
        double[] expected = normalized ? TinyStatic.unit(mean) : mean;
        assertEquals(expected.length, actual.length);
        for (int i = 0; i < actual.length; i++) {
            assertEquals(expected[i], actual[i], RELATIVE * Math.abs(expected[i]) + Double.MIN_VALUE, "element " + i);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F32", "F16", "BF16", "F64"})
    void vectorsAreMeansOfRows(DType dtype) throws IOException {
        Tensor rows = TinyStatic.as(dtype, ROWS);
        for (boolean normalized : new boolean[] {false, true}) {
            TinyStatic.write(folder, rows, normalized);
            try (SentenceEncoder encoder = load()) {
                assertEquals(TinyStatic.DIM, encoder.dimension());
                assertEquals(Integer.MAX_VALUE, encoder.maxTokens());
                List<String> texts = texts();
                float[][] actual = encoder.embed(texts);
                for (int i = 0; i < actual.length; i++) {
                    assertMean(rows, TinyStatic.ids(texts.get(i)), normalized, actual[i]);
                }
            }
        }
    }

    /** The vector is zero as in PyTorch's EmbeddingBag, even if a Normalize module divides by the length. */
    @Test
    void theVectorOfNoTokensIsZero() throws IOException {
        for (boolean normalized : new boolean[] {false, true}) {
            TinyStatic.write(folder, ROWS, normalized);
            try (SentenceEncoder encoder = load()) {
                for (String text : List.of("", " ", "\u200b")) {
                    float[][] both = encoder.embed(List.of("abc", text));
                    assertArrayEquals(new float[TinyStatic.DIM], both[1]);
                }
                TextEmbedding empty = encoder.embed(List.of("").iterator()).next();
                assertEquals(0, empty.tokens());
                assertArrayEquals(new float[600][TinyStatic.DIM], encoder.embed(Collections.nCopies(600, "")));
            }
        }
    }

    @Test
    void bitsDoNotDependOnBatchOrThreads() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        List<String> texts = texts();
        try (Compute threads = Compute.threads(3);
                SentenceEncoder threaded = SentenceEncoder.load(threads, folder);
                SentenceEncoder encoder = load()) {
            for (LongTexts way : new LongTexts[] {LongTexts.TRUNCATE, LongTexts.SPLIT_AND_AVERAGE}) {
                SentenceEncoder view = encoder.withLongTexts(way).withMaxTokens(600);
                float[][] all = view.embed(texts);
                assertArrayEquals(
                        all, threaded.withLongTexts(way).withMaxTokens(600).embed(texts));
                List<float[]> iterated = new ArrayList<>();
                view.embed(texts.iterator()).forEachRemaining(one -> iterated.add(one.vector()));
                assertArrayEquals(all, iterated.toArray(float[][]::new));
                for (int i = 0; i < all.length; i++) {
                    assertArrayEquals(all[i], view.embed(texts.get(i)));
                }
            }
        }
    }

    /** The rows are f16, which kernels widen. The hash changes if sums have another order. */
    @Test
    void everyLaneWidthGivesTheSameBits() throws IOException {
        TinyStatic.write(folder, TinyStatic.as(DType.F16, ROWS), true);
        try (SentenceEncoder encoder = load()) {
            assertEquals(-1322793917, Arrays.deepHashCode(encoder.embed(texts())));
        }
    }

    /** The template of the file is ignored, and so are the tokens that it names. */
    @Test
    void nothingIsPutAroundTexts() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        try (SentenceEncoder encoder = load()) {
            assertEquals(0, encoder.tokenizer().specialTokenCount());
            assertEquals(SpecialIds.NONE, encoder.tokenizer().firstToken());
            assertEquals(SpecialIds.NONE, encoder.tokenizer().lastToken());
            List<int[]> ids = new ArrayList<>();
            for (String text : texts()) {
                int[] expected = TinyStatic.ids(text);
                assertArrayEquals(expected, encoder.tokenizer().encodeWithSpecialTokens(text));
                assertEquals(expected.length, encoder.tokenizer().count(text));
                ids.add(expected);
            }
            int[] abc = TinyStatic.ids("abc");
            assertArrayEquals(Arrays.copyOf(abc, 2), encoder.tokenizer().encodeWithSpecialTokens("abc", 2));
            assertEquals(3, new EncoderTokenCountEstimator(encoder.tokenizer()).estimateTokenCountInText("abc"));
            float[][] expected = encoder.embed(texts());
            assertArrayEquals(expected, encoder.embedTokens(ids));
            String message = assertThrows(
                            IllegalArgumentException.class, () -> encoder.embedTokens(List.of(new int[] {3, 59})))
                    .getMessage();
            assertTrue(message.startsWith("text 0: ids[1]: 59; expected 0 to 58"), message);
            Files.writeString(folder.resolve("0_StaticEmbedding/tokenizer.json"), TinyStatic.tokenizerWithoutEnds());
            try (SentenceEncoder without = load()) {
                assertArrayEquals(expected, without.embed(texts()));
            }
        }
    }

    @Test
    void theSettingsOfTheFolderCount() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        Files.writeString(
                folder.resolve("config_sentence_transformers.json"),
                "{\"prompts\": {\"query\": \"query: \", \"document\": \"\"}, \"truncate_dim\": 8}");
        // version 5.4 and later versions have other packages
        Files.writeString(
                folder.resolve("modules.json"),
                TinyStatic.MODULES.replace(
                        "models.StaticEmbedding", "sentence_transformer.modules.static_embedding.StaticEmbedding"));
        try (SentenceEncoder encoder = load()) {
            assertEquals(8, encoder.dimension());
            double[] unit = TinyStatic.unit(TinyStatic.mean(ROWS, TinyStatic.ids("query: abc")));
            float[] actual = encoder.forQueries().embed("abc");
            for (int i = 0; i < 8; i++) {
                assertEquals(unit[i], actual[i], RELATIVE * unit[i]);
            }
            assertArrayEquals(encoder.embed("abc"), encoder.forDocuments().embed("abc"));
            assertMean(
                    ROWS,
                    TinyStatic.ids("abc"),
                    true,
                    encoder.withDimension(TinyStatic.DIM).embed("abc"));
        }
    }

    /**
     * The tokenizer truncates if its file requires truncation, as in the tokenizers crate. {@code max_length} does not count tokens around
     * a text.
     */
    @Test
    void aTokenizerMayTruncate() throws IOException {
        TinyStatic.write(folder, ROWS, false);
        Files.writeString(
                folder.resolve("0_StaticEmbedding/tokenizer.json"),
                TinyStatic.truncating(4)
                        .replace(
                                "\"padding\":null",
                                "\"padding\":{\"strategy\":\"BatchLongest\",\"direction\":\"Left\"}"));
        try (SentenceEncoder encoder = load()) {
            assertEquals(4, encoder.maxTokens());
            int[] ids = TinyStatic.ids("abc de f");
            TextEmbedding cut = encoder.embed(List.of("abc de f").iterator()).next();
            assertEquals(6, cut.tokens());
            assertEquals(2, cut.ignoredTokens());
            assertMean(ROWS, Arrays.copyOf(ids, 4), false, cut.vector());
            assertMean(
                    ROWS,
                    ids,
                    false,
                    encoder.withLongTexts(LongTexts.SPLIT_AND_AVERAGE).embed("abc de f"));
            assertMean(ROWS, ids, false, encoder.withMaxTokens(6).embed("abc de f"));
            int[] many = TinyStatic.ids(LONG);
            assertMean(
                    ROWS,
                    Arrays.copyOf(many, 1200),
                    false,
                    encoder.withMaxTokens(1200).embed(LONG));
            SentenceEncoder strict = encoder.withLongTexts(LongTexts.FAIL);
            assertEquals(
                    "text 0: 6 tokens; expected at most 4, or another treatment of long texts",
                    assertThrows(IllegalArgumentException.class, () -> strict.embed("abc de f"))
                            .getMessage());
        }
    }

    /** No tokens are added around a text, so the maximum may be one token. */
    @Test
    void aTextMayHaveOneToken() throws IOException {
        TinyStatic.write(folder, ROWS, false);
        Files.writeString(folder.resolve("0_StaticEmbedding/tokenizer.json"), TinyStatic.truncating(1));
        int[] first = Arrays.copyOf(TinyStatic.ids("abc de f"), 1);
        try (SentenceEncoder encoder = load()) {
            assertEquals(1, encoder.maxTokens());
            assertMean(ROWS, first, false, encoder.embed("abc de f"));
            Path file = folder.resolveSibling("packed");
            encoder.write(file);
            try (SentenceEncoder packed = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed("abc de f"), packed.embed("abc de f"));
            }
            assertThrows(IllegalArgumentException.class, () -> encoder.withMaxTokens(0));
        }
    }

    @Test
    void denseLayersMayFollow() throws IOException {
        TinyStatic.write(folder, ROWS, false);
        TinyDense dense =
                TinyDense.of(2, "1_Dense", new DenseLayer.Config(TinyStatic.DIM, 10, true, DenseFunction.TANH, false));
        dense.write(folder, DType.F32);
        Files.writeString(
                folder.resolve("modules.json"),
                TinyStatic.MODULES.replace("1_Normalize", "1_Dense").replace("Normalize\"", "Dense\""));
        try (SentenceEncoder encoder = load()) {
            assertEquals(10, encoder.dimension());
            List<String> texts = texts();
            float[][] actual = encoder.embed(texts);
            for (int i = 0; i < actual.length; i++) {
                double[] mean = TinyStatic.mean(ROWS, TinyStatic.ids(texts.get(i)));
                TinyDense.Bounded expected = dense.forward(new TinyDense.Bounded(mean, RELATIVE * 1.5));
                for (int j = 0; j < 10; j++) {
                    assertEquals(expected.vector()[j], actual[i][j], expected.error(), texts.get(i));
                }
            }
        }
    }

    @Test
    void aPackedFileHasAllOfIt() throws IOException {
        TinyStatic.write(folder, TinyStatic.as(DType.BF16, ROWS), true);
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load()) {
            SentenceEncoder view = encoder.withPrompt("a ").withDimension(7).withMaxTokens(40);
            view.write(file);
            byte[] written = Files.readAllBytes(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertEquals(40, mapped.maxTokens());
                assertEquals(0, mapped.ownBytes());
                assertArrayEquals(view.embed(texts()), mapped.embed(texts()));
                mapped.write(file);
            }
            assertArrayEquals(written, Files.readAllBytes(file));
        }
    }

    /** A packed file contains the tokenizer file of Unigram unchanged. */
    @Test
    void theTokenizerMayBeUnigram() throws IOException {
        List<String> pieces = List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581", "a", "\u2581a", "b", "\u2581ab");
        Tensor rows = TinyStatic.rows(3, pieces.size() + 1);
        TinyStatic.write(folder, rows, true);
        Files.writeString(
                folder.resolve("0_StaticEmbedding/tokenizer.json"),
                UnigramFixture.json(
                        "null", UnigramFixture.metaspace(""), pieces, UnigramFixture.scores(pieces.size()), false));
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load()) {
            int[] ids = encoder.tokenizer().encodeWithSpecialTokens("ab b x<mask>");
            assertArrayEquals(new int[] {8, 4, 7, 4, 3, 9}, ids);
            assertMean(rows, ids, true, encoder.embed("ab b x<mask>"));
            encoder.write(file);
            byte[] written = Files.readAllBytes(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed("ab b x"), mapped.embed("ab b x"));
                mapped.write(file);
            }
            assertArrayEquals(written, Files.readAllBytes(file));
        }
    }

    /** The tokenizer may be one that model2vec makes from a BERT or Unigram tokenizer. */
    @Test
    void theTokenizerMayBeModel2Vecs() throws IOException {
        List<String> pieces =
                List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581a", "b", "\u2581,", "\u2581", "\u2581a\u2581b");
        Tensor rows = TinyStatic.rows(3, pieces.size() + 1);
        TinyStatic.write(folder, rows, true);
        String metaspace = UnigramFixture.metaspace(", \"split\": false, \"prepend_scheme\": \"always\"");
        double[] scores = new double[pieces.size()];
        Arrays.fill(scores, -1); // equal scores prefer the fewest pieces
        for (String first : List.of(UnigramFixture.bert(), "{\"type\": \"Strip\"}")) {
            String json = UnigramFixture.json(UnigramFixture.model2vec(first), metaspace, pieces, scores, false);
            Files.writeString(folder.resolve("0_StaticEmbedding/tokenizer.json"), json);
            EncoderTokenizer model2Vec = Tokenizers.ofStaticJson(json.getBytes(StandardCharsets.UTF_8), true);
            assertArrayEquals(
                    new int[] {4, 4, 5, 7, 3},
                    model2Vec.encodeWithSpecialTokens(" a ab z"),
                    "model2vec has no id for unknown tokens");
            try (SentenceEncoder encoder = load()) {
                String text = first.contains("Bert") ? "\u00c1B,\ta b " : " ab,\ta b ";
                int[] ids = encoder.tokenizer().encodeWithSpecialTokens(text);
                assertArrayEquals(new int[] {4, 5, 6, 8}, ids);
                assertMean(rows, ids, true, encoder.embed(text));
            }
        }
    }

    @Test
    void langchain4jTakesIt() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        try (SentenceEncoder encoder = load();
                MultiheadEmbeddingModel model =
                        MultiheadEmbeddingModel.builder().directory(folder).build()) {
            assertEquals(TinyStatic.DIM, model.dimension());
            assertArrayEquals(encoder.embed("abc"), model.embed("abc").content().vector());
        }
    }

    /** A warm call allocates the vectors, their list, and less than one other object per text. */
    @Test
    void warmCallsAllocateTheirResults() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        List<String> texts = Collections.nCopies(100, "a bcd e f g h ij");
        long results = 100 * (16 + 4L * TinyStatic.DIM + 8) + 16 + 8 * 100;
        try (SentenceEncoder encoder = load()) {
            long allocated = WarmCalls.allocatedBytes(results + 16 * 100, () -> encoder.embed(texts));
            assertTrue(allocated <= results + 16 * 100, allocated + " bytes for results of " + results);
        }
    }

    @Test
    void whatATableCannotDoIsNamed() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        try (SentenceEncoder encoder = load()) {
            String pooling = assertThrows(IllegalArgumentException.class, () -> encoder.withPooling(Pooling.MAX))
                    .getMessage();
            assertTrue(pooling.startsWith("pooling: "), pooling);
            assertTrue(pooling.endsWith("expected the mean of all tokens for static embeddings"), pooling);
            assertArrayEquals(
                    encoder.embed("abc"), encoder.withPooling(Pooling.MEAN).embed("abc"));
            assertEquals(
                    "encoder: static embeddings; expected a model with heads",
                    assertThrows(IllegalStateException.class, () -> encoder.attention("abc"))
                            .getMessage());
            assertEquals(0, encoder.transformer().blocks().size());
            assertThrows(IllegalArgumentException.class, () -> encoder.withMaxTokens(0));
        }
    }
}
