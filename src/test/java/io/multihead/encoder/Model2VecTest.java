package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.TinyStatic.Raw;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.TokenBuffer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Loading of model2vec folders. */
class Model2VecTest {
    private static final Tensor ROWS = TinyStatic.rows(1, TinyStatic.ROWS);

    @TempDir
    Path folder;

    private static List<String> texts() {
        return StaticEncoderTest.texts();
    }

    private SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder);
    }

    private static void assertMean(Tensor rows, int[] ids, boolean normalized, float[] actual) {
        StaticEncoderTest.assertMean(rows, ids, normalized, actual);
    }

    /** Tokens may share rows and have factors, from which sentence-transformers computes one row per token. */
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

    /** {@code StaticModel.tokenize} removes unknown tokens before truncation, but the module of sentence-transformers counts them. */
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
        assertArrayEquals(known, tokenizer.encodeWithSpecialTokens(text));
        assertArrayEquals(
                Arrays.copyOf(known, 2),
                tokenizer.withSpecialTokensInText(false).encodeWithSpecialTokens(text, 2));
        assertEquals(known.length, tokenizer.count(text));
        TokenBuffer tokens = new TokenBuffer();
        tokenizer.append("abc", tokens);
        tokenizer.append(text, tokens);
        int first = TinyStatic.ids("abc").length;
        assertEquals(first + known.length, tokens.size());
        assertEquals(2, tokens.start(first), "the start of the first known token");
        assertEquals(text.length(), tokens.end(tokens.size() - 1));
        assertArrayEquals(new float[TinyStatic.DIM], encoder.embed("\u4e2d\u6587"));
        assertArrayEquals(encoder.embed(text), encoder.embedTokens(List.of(TinyStatic.ids(text)))[0]);
    }

    /**
     * model2vec takes the mean of the integers, because files do not contain their scale. Here the first column is negative, and the others
     * are not negative.
     */
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

    /** Rows in f64 exceed the range of f32, but their products with the factors do not. Products are computed before rounding to f32. */
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
}
