package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.TinyStatic.Raw;
import io.multihead.langchain4j.EncoderTokenCountEstimator;
import io.multihead.langchain4j.MultiheadEmbeddingModel;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.SpecialIds;
import io.multihead.text.TokenBuffer;
import io.multihead.text.Tokenizers;
import io.multihead.text.UnigramFixture;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Static embeddings: sentence-transformers' StaticEmbedding module, and model2vec's folders. */
@Tag("lanes")
class StaticEncoderTest {
    private static final Tensor ROWS = TinyStatic.rows(1, TinyStatic.ROWS);

    /** A vector is rounded once; the doubles before that are off by less than an ulp for each of 3000 tokens. */
    private static final double RELATIVE = 0x1p-24 + 3000 * 0x1p-52;

    /** Of more tokens than a batch has, in words of several; and as many of one each. */
    private static final String LONG = "abc de fghij ".repeat(300);

    @TempDir
    Path folder;

    private static List<String> texts() {
        List<String> texts = new ArrayList<>(TinyReranker.texts(new SplittableRandom(1), 80, 12));
        texts.addAll(List.of("", "abc", " \n", LONG, "abc", "[CLS] a[SEP]", "\u4e2d\u6587 x", "a ".repeat(700), ""));
        return texts;
    }

    private SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder);
    }

    private static void assertMean(Tensor rows, int[] ids, boolean normalized, float[] actual) {
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

    /** As of PyTorch's EmbeddingBag, also where a Normalize module divides by the length. */
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

    /** Of f16, which kernels widen; the hash changes with the order of sums. */
    @Test
    void everyLaneWidthGivesTheSameBits() throws IOException {
        TinyStatic.write(folder, TinyStatic.as(DType.F16, ROWS), true);
        try (SentenceEncoder encoder = load()) {
            assertEquals(-1322793917, Arrays.deepHashCode(encoder.embed(texts())));
        }
    }

    /** The template of the file does not count, and so neither do the tokens that it names. */
    @Test
    void nothingIsPutAroundTexts() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        try (SentenceEncoder encoder = load()) {
            assertEquals(0, encoder.tokenizer().around());
            assertEquals(SpecialIds.NONE, encoder.tokenizer().firstToken());
            assertEquals(SpecialIds.NONE, encoder.tokenizer().lastToken());
            List<int[]> ids = new ArrayList<>();
            for (String text : texts()) {
                int[] expected = TinyStatic.ids(text);
                assertArrayEquals(expected, encoder.tokenizer().encode(text));
                assertEquals(expected.length, encoder.tokenizer().count(text));
                ids.add(expected);
            }
            int[] abc = TinyStatic.ids("abc");
            assertArrayEquals(Arrays.copyOf(abc, 2), encoder.tokenizer().encode("abc", 2));
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
        // versions from 5.4 on have other packages
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

    /** The tokenizers crate truncates where its file says so; {@code max_length} counts nothing around a text then. */
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
                    "text 0: 6 tokens; expected at most 4, or another way with long texts",
                    assertThrows(IllegalArgumentException.class, () -> strict.embed("abc de f"))
                            .getMessage());
        }
    }

    /** Nothing is put around a text, so that one token is enough. */
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

    /** Shared rows and factors, as sentence-transformers folds them into one row per token. */
    @Test
    void model2VecFoldersAreRead() throws IOException {
        TinyStatic.writeModel2Vec(folder, Map.of("embeddings", Raw.of(ROWS)));
        float[] plain;
        try (SentenceEncoder encoder = load()) {
            plain = encoder.embed("abc de");
            assertMean(ROWS, TinyStatic.ids("abc de"), true, plain);
            assertTrue(encoder.mappedBytes() > 0);
        }
        Tensor few = TinyStatic.rows(2, 7);
        int[] mapping = IntStream.range(0, TinyStatic.ROWS).map(i -> i * 5 % 7).toArray();
        double[] factors = IntStream.range(0, TinyStatic.ROWS)
                .mapToDouble(i -> 0.5 + i * 0.01)
                .toArray();
        Map<String, Raw> tensors = new LinkedHashMap<>(Map.of("embeddings", Raw.of(few)));
        for (Raw each : List.of(
                Raw.ints(mapping),
                Raw.longs(Arrays.stream(mapping).asLongStream().toArray()))) {
            tensors.put("mapping", each);
            tensors.remove("weights");
            requireFolded(tensors, few, mapping, null);
            tensors.put("weights", Raw.doubles(factors));
            requireFolded(tensors, few, mapping, factors);
        }
        requireFolded(Map.of("embeddings", Raw.of(ROWS), "weights", Raw.doubles(factors)), ROWS, null, factors);
    }

    /** {@code StaticModel.tokenize} removes unknown tokens before it truncates; sentence-transformers' own module counts them. */
    @Test
    void unknownTokensOfModel2VecDoNotCount() throws IOException {
        String text = "\u4e2d abc \u6587 de";
        int[] known = TinyStatic.known(text);
        assertEquals(TinyStatic.ids(text).length - 2, known.length);
        TinyStatic.writeModel2Vec(folder, Map.of("embeddings", Raw.of(ROWS)));
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load()) {
            requireKnown(encoder, text, known);
            encoder.write(file);
        }
        try (SentenceEncoder packed = SentenceEncoder.map(Compute.serial(), file)) {
            requireKnown(packed, text, known);
        }
        TinyStatic.write(folder, ROWS, true);
        try (SentenceEncoder encoder = load()) {
            assertMean(ROWS, TinyStatic.ids(text), true, encoder.embed(text));
        }
    }

    private static void requireKnown(SentenceEncoder encoder, String text, int[] known) {
        assertMean(ROWS, known, true, encoder.embed(text));
        EncoderTokenizer tokenizer = encoder.tokenizer();
        assertArrayEquals(known, tokenizer.encode(text));
        assertArrayEquals(
                Arrays.copyOf(known, 2),
                tokenizer.withSpecialTokensInText(false).encode(text, 2));
        assertEquals(known.length, tokenizer.count(text));
        TokenBuffer tokens = new TokenBuffer();
        tokenizer.append("abc", tokens);
        tokenizer.append(text, tokens);
        int first = TinyStatic.ids("abc").length;
        assertEquals(first + known.length, tokens.size());
        assertEquals(2, tokens.start(first), "where the text's first known token is");
        assertEquals(text.length(), tokens.end(tokens.size() - 1));
        assertArrayEquals(new float[TinyStatic.DIM], encoder.embed("\u4e2d\u6587"));
        assertArrayEquals(encoder.embed(text), encoder.embedTokens(List.of(TinyStatic.ids(text)))[0]);
    }

    /** model2vec takes the mean of the integers, without the scale that is in no file; of one sign in a column, negative in the first. */
    @Test
    void rowsInInt8AreTheirIntegers() throws IOException {
        byte[] bytes = new byte[TinyStatic.ROWS * TinyStatic.DIM];
        float[] values = new float[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i % TinyStatic.DIM == 0 ? -1 - i % 127 : i * 31 % 128);
            values[i] = bytes[i];
        }
        Raw int8 = new Raw("I8", "[" + TinyStatic.ROWS + ", " + TinyStatic.DIM + "]", bytes);
        Tensor rows = Tensor.of(values, TinyStatic.ROWS, TinyStatic.DIM);
        TinyStatic.writeModel2Vec(folder, Map.of("embeddings", int8));
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load()) {
            for (String text : texts()) {
                assertMean(rows, TinyStatic.known(text), true, encoder.embed(text));
                assertMean(
                        rows,
                        TinyStatic.known(text),
                        false,
                        encoder.withNormalization(false).embed(text));
            }
            assertEquals(0, encoder.ownBytes());
            assertEquals(bytes.length, encoder.mappedBytes());
            encoder.write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed(texts()), mapped.embed(texts()));
                assertEquals(bytes.length, mapped.mappedBytes());
            }
        }
        double[] factors = IntStream.range(0, TinyStatic.ROWS)
                .mapToDouble(i -> 0.5 + i * 0.01)
                .toArray();
        requireFolded(Map.of("embeddings", int8, "weights", Raw.doubles(factors)), rows, null, factors);
    }

    /** Rows in f64 that f32 does not hold have factors that bring them back: products come before the rounding. */
    @Test
    void factorsAreAppliedBeforeRowsAreRounded() throws IOException {
        double[] values = new double[TinyStatic.ROWS * TinyStatic.DIM];
        float[] folded = new float[values.length];
        double[] factors = new double[TinyStatic.ROWS];
        Arrays.fill(factors, 1e-300);
        for (int i = 0; i < values.length; i++) {
            values[i] = (1 + i % 5) * 1e300;
            folded[i] = (float) (values[i] * 1e-300);
        }
        Raw rows = new Raw(
                "F64",
                "[" + TinyStatic.ROWS + ", " + TinyStatic.DIM + "]",
                Raw.doubles(values).bytes());
        TinyStatic.writeModel2Vec(folder, Map.of("embeddings", rows, "weights", Raw.doubles(factors)));
        Tensor perToken = Tensor.of(folded, TinyStatic.ROWS, TinyStatic.DIM);
        try (SentenceEncoder encoder = load()) {
            assertMean(perToken, TinyStatic.ids("abc de"), true, encoder.embed("abc de"));
        }
    }

    private void requireFolded(Map<String, Raw> tensors, Tensor rows, int[] mapping, double[] factors)
            throws IOException {
        float[] folded = new float[TinyStatic.ROWS * TinyStatic.DIM];
        for (int token = 0; token < TinyStatic.ROWS; token++) {
            for (int i = 0; i < TinyStatic.DIM; i++) {
                double x = rows.get(mapping == null ? token : mapping[token], i);
                folded[token * TinyStatic.DIM + i] = (float) (factors == null ? x : x * factors[token]);
            }
        }
        TinyStatic.writeModel2Vec(folder, tensors);
        Tensor perToken = Tensor.of(folded, TinyStatic.ROWS, TinyStatic.DIM);
        try (SentenceEncoder encoder = load()) {
            for (String text : List.of("abc de", "zyx", "query: \u4e2d")) {
                assertMean(perToken, TinyStatic.known(text), true, encoder.embed(text));
            }
            assertEquals(folded.length * 4L, encoder.ownBytes());
            Path file = folder.resolve("packed");
            encoder.write(file);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                assertArrayEquals(encoder.embed(texts()), mapped.embed(texts()));
                assertEquals(folded.length * 4L, mapped.mappedBytes());
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

    /** Unigram's files are kept as they are. */
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
            int[] ids = encoder.tokenizer().encode("ab b x<mask>");
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

    /** What model2vec makes of BERT's tokenizer, and of Unigram's. */
    @Test
    void theTokenizerMayBeModel2Vecs() throws IOException {
        List<String> pieces =
                List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581a", "b", "\u2581,", "\u2581", "\u2581a\u2581b");
        Tensor rows = TinyStatic.rows(3, pieces.size() + 1);
        TinyStatic.write(folder, rows, true);
        String metaspace = UnigramFixture.metaspace(", \"split\": false, \"prepend_scheme\": \"always\"");
        double[] scores = new double[pieces.size()];
        Arrays.fill(scores, -1); // the fewest pieces
        for (String first : List.of(UnigramFixture.bert(), "{\"type\": \"Strip\"}")) {
            String json = UnigramFixture.json(UnigramFixture.model2vec(first), metaspace, pieces, scores, false);
            Files.writeString(folder.resolve("0_StaticEmbedding/tokenizer.json"), json);
            EncoderTokenizer model2Vec = Tokenizers.ofModel2VecJson(json.getBytes(StandardCharsets.UTF_8));
            assertArrayEquals(
                    new int[] {4, 4, 5, 7, 3}, model2Vec.encode(" a ab z"), "model2vec knows no id of unknown ones");
            try (SentenceEncoder encoder = load()) {
                String text = first.contains("Bert") ? "\u00c1B,\ta b " : " ab,\ta b ";
                int[] ids = encoder.tokenizer().encode(text);
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

    /** The vectors, their list, and less than an object for each text. */
    @Test
    void warmCallsAllocateTheirResults() throws IOException {
        TinyStatic.write(folder, ROWS, true);
        List<String> texts = Collections.nCopies(100, "a bcd e f g h ij");
        long results = 100 * (16 + 4L * TinyStatic.DIM + 8) + 16 + 8 * 100;
        try (SentenceEncoder encoder = load()) {
            long allocated = Long.MAX_VALUE;
            for (int call = 0; call < 5000 && allocated > results + 16 * 100; call++) {
                allocated = WarmCalls.allocatedOnce(() -> encoder.embed(texts));
            }
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
