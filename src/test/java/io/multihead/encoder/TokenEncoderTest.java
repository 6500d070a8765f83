package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Vectors of tokens with a tiny model: their values, the tokens that have vectors, batches and folders. */
@Tag("lanes")
class TokenEncoderTest {
    private static final TinyTokenModel MODEL = new TinyTokenModel(1);
    private static final int CLS = 2;
    private static final int SEP = 3;
    private static final int MASK = 4;
    private static final int QUERY = 5;
    private static final int DOCUMENT = TinyModel.VOCABULARY.indexOf("z");

    @TempDir
    Path folder;

    private TokenEncoder encoder;

    @BeforeEach
    void load() throws IOException {
        encoder = TokenEncoder.load(Compute.serial(), MODEL.writePyLate(folder.resolve("pylate")));
    }

    @Test
    void aFolderSaysHow() {
        assertEquals(TinyTokenModel.DIMENSION, encoder.dimension());
        assertEquals(TinyTokenModel.QUERY_TOKENS, encoder.queryTokens());
        assertEquals(TinyTokenModel.DOCUMENT_TOKENS, encoder.documentTokens());
    }

    /**
     * Queries are filled with mask tokens, which see only the text, are not seen by any token, and have vectors. A query that is too long
     * has no mask tokens.
     */
    @Test
    void queriesAreFilledWithMasks() {
        List<String> texts = new ArrayList<>(TinyReranker.texts(new SplittableRandom(1), 30, 5));
        texts.add("");
        TokenVectors vectors = encoder.embedQueries(texts);
        assertEquals(texts.size(), vectors.texts());
        for (int i = 0; i < texts.size(); i++) {
            int[] text = text(texts.get(i));
            int kept = Math.min(text.length, TinyTokenModel.QUERY_TOKENS - 3);
            int[] ids = new int[TinyTokenModel.QUERY_TOKENS];
            Arrays.fill(ids, MASK);
            around(ids, QUERY, text, kept);
            TinyTokenModel.Expected expected = MODEL.expected(ids, kept + 3);
            assertNear(expected, IntStream.range(0, ids.length).toArray(), vectors.vectors(i), texts.get(i));
        }
    }

    @Test
    void skippedTokensOfDocumentsHaveNoVectors() {
        List<String> texts = new ArrayList<>(TinyReranker.texts(new SplittableRandom(2), 60, 8));
        texts.addAll(List.of("", "a b a", "abab", "a"));
        TokenVectors vectors = encoder.embedDocuments(texts);
        boolean isCut = false;
        for (int i = 0; i < texts.size(); i++) {
            int[] text = text(texts.get(i));
            int kept = Math.min(text.length, TinyTokenModel.DOCUMENT_TOKENS - 3);
            isCut |= kept < text.length;
            int[] ids = new int[kept + 3];
            around(ids, DOCUMENT, text, kept);
            int[] rows = IntStream.range(0, ids.length)
                    .filter(token ->
                            !List.of("a", "b").contains(encoder.tokenizer().token(ids[token])))
                    .toArray();
            assertNear(MODEL.expected(ids, ids.length), rows, vectors.vectors(i), texts.get(i));
        }
        assertTrue(isCut, "a text of too many tokens");
        assertEquals(3, vectors.vectors(texts.size() - 1).length, "[CLS], the prefix and [SEP]");
    }

    /**
     * PyLate compares all tokens with the skip list, including the tokens around a text. ColBERT's authors do the same, and their list is
     * punctuation.
     */
    @Test
    void skippedTokensAroundADocumentHaveNoVectors() throws IOException {
        float[][] all = encoder.embedDocuments(List.of("cd e")).vectors(0);
        assertEquals(6, all.length, "[CLS], the prefix, three tokens and [SEP]");
        assertSkips(new float[][] {all[1], all[2], all[3], all[4], all[5]}, "[CLS]");
        assertSkips(new float[][] {all[0], all[1], all[2], all[3], all[4]}, "[SEP]");
        assertSkips(new float[][] {all[0], all[2], all[3], all[4], all[5]}, "z");
        assertSkips(new float[][] {all[1], all[3], all[4]}, "[CLS]", "c", "[SEP]");
        // queries keep the vectors of all tokens
        float[][] query = encoder.embedQueries(List.of("cd e")).vectors(0);
        skip("[CLS]", "query", "[MASK]");
        try (TokenEncoder skipping = TokenEncoder.load(Compute.serial(), folder.resolve("pylate"))) {
            assertArrayEquals(query, skipping.embedQueries(List.of("cd e")).vectors(0));
        }
        skip("[SEP]", "z", "[CLS]");
        assertFails(
                folder.resolve("pylate"),
                ": skiplist_words: all tokens around a text; expected one that is not skipped");
        Path authors = MODEL.writeAuthors(folder.resolve("colon"));
        Path metadata = authors.resolve("artifact.metadata");
        Files.writeString(metadata, Files.readString(metadata).replace("\"z\"", "\":\""));
        try (TokenEncoder colon = TokenEncoder.load(Compute.serial(), authors)) {
            assertEquals(5, colon.embedDocuments(List.of("cd e")).vectors(0).length);
        }
    }

    private void skip(String... words) throws IOException {
        Files.writeString(
                folder.resolve("pylate/config_sentence_transformers.json"),
                TinyTokenModel.SETTINGS.replace("\"a\", \"b\"", "\"" + String.join("\", \"", words) + "\""));
    }

    private void assertSkips(float[][] expected, String... words) throws IOException {
        skip(words);
        try (TokenEncoder skipping = TokenEncoder.load(Compute.serial(), folder.resolve("pylate"))) {
            assertArrayEquals(expected, skipping.embedDocuments(List.of("cd e")).vectors(0));
        }
    }

    private static void around(int[] ids, int prefix, int[] text, int kept) {
        ids[0] = CLS;
        ids[1] = prefix;
        System.arraycopy(text, 0, ids, 2, kept);
        ids[kept + 2] = SEP;
    }

    private int[] text(String text) {
        int[] ids = encoder.tokenizer().encodeWithSpecialTokens(text);
        return Arrays.copyOfRange(ids, 1, ids.length - 1);
    }

    private static void assertNear(TinyTokenModel.Expected expected, int[] rows, float[][] actual, String text) {
        assertEquals(rows.length, actual.length, text);
        for (int i = 0; i < rows.length; i++) {
            double[] row = expected.vectors()[rows[i]];
            for (int k = 0; k < row.length; k++) {
                assertEquals(row[k], actual[i][k], expected.bounds()[rows[i]], "\"" + text + "\", vector " + i);
            }
        }
    }

    @Test
    void bitsDoNotDependOnBatchOrThreads() throws IOException {
        List<String> texts = TinyReranker.texts(new SplittableRandom(3), 100, 8);
        TokenVectors documents = encoder.embedDocuments(texts);
        TokenVectors queries = encoder.embedQueries(texts);
        try (Compute threads = Compute.threads(3);
                TokenEncoder threaded = TokenEncoder.load(threads, folder.resolve("pylate"))) {
            assertArrayEquals(
                    documents.tensor().toArray(),
                    threaded.embedDocuments(texts).tensor().toArray());
            assertArrayEquals(
                    queries.tensor().toArray(),
                    threaded.embedQueries(texts).tensor().toArray());
        }
        for (int i = 0; i < texts.size(); i++) {
            List<String> one = List.of(texts.get(i));
            assertArrayEquals(documents.vectors(i), encoder.embedDocuments(one).vectors(0));
            assertArrayEquals(queries.vectors(i), encoder.embedQueries(one).vectors(0));
        }
    }

    @Test
    void scoresAreSumsOfLargestProducts() {
        List<String> texts = TinyReranker.texts(new SplittableRandom(4), 20, 8);
        TokenVectors documents = encoder.embedDocuments(texts);
        float[][] query = encoder.embedQueries(List.of("cd e")).vectors(0);
        float[] scores = encoder.score("cd e", documents);
        for (int i = 0; i < texts.size(); i++) {
            double sum = 0;
            for (float[] token : query) {
                double best = Double.NEGATIVE_INFINITY;
                for (float[] other : documents.vectors(i)) {
                    double product = 0;
                    for (int k = 0; k < token.length; k++) {
                        product += (double) token[k] * other[k];
                    }
                    best = Math.max(best, product);
                }
                sum += best;
            }
            // the score sums 14 products of vectors of length 1, each with 10 roundings
            assertEquals(sum, scores[i], 14 * 12 * 0x1p-24);
        }
        assertEquals(0, encoder.score("cd e", encoder.embedDocuments(List.of())).length);
    }

    /** Punctuation is not in the tiny vocabulary and becomes the unknown token, which has no vector, as in PyLate. */
    @Test
    void foldersOfTheAuthorsHaveTheSameVectors() throws IOException {
        Path authors = MODEL.writeAuthors(folder.resolve("authors"));
        try (TokenEncoder other = TokenEncoder.load(Compute.serial(), authors)) {
            assertEquals(TinyTokenModel.DIMENSION, other.dimension());
            assertArrayEquals(
                    encoder.embedQueries(List.of("cd e")).vectors(0),
                    other.embedQueries(List.of("cd e")).vectors(0));
            assertArrayEquals(
                    encoder.embedDocuments(List.of("cd e")).vectors(0),
                    other.embedDocuments(List.of("cd e")).vectors(0));
            assertEquals(5, other.embedDocuments(List.of("c ? e %")).vectors(0).length);
            assertEquals(7, encoder.embedDocuments(List.of("c ? e %")).vectors(0).length);
        }
        Path metadata = authors.resolve("artifact.metadata");
        String settings = Files.readString(metadata);
        Files.writeString(
                metadata, settings.replaceFirst("\\{", "{\"mask_punctuation\": false, \"similarity\": \"cosine\","));
        try (TokenEncoder all = TokenEncoder.load(Compute.serial(), authors)) {
            assertEquals(7, all.embedDocuments(List.of("c ? e %")).vectors(0).length);
        }
        Files.writeString(metadata, settings.replaceFirst("\\{", "{\"similarity\": \"l2\","));
        assertFails(authors, "/artifact.metadata: artifact.metadata.similarity: l2; expected cosine");
        Files.delete(metadata);
        assertFails(authors, ": length of queries: 32; expected 4 to the model's 24");
    }

    @Test
    void masksMayBeSeenOrLeftOut() throws IOException {
        Path settings = folder.resolve("pylate/config_sentence_transformers.json");
        float[][] unseen = encoder.embedQueries(List.of("cd e")).vectors(0);
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("tokens\": false", "tokens\": true"));
        int[] ids = new int[TinyTokenModel.QUERY_TOKENS];
        Arrays.fill(ids, MASK);
        around(ids, QUERY, text("cd e"), 3);
        try (TokenEncoder seen = TokenEncoder.load(Compute.serial(), folder.resolve("pylate"))) {
            float[][] vectors = seen.embedQueries(List.of("cd e")).vectors(0);
            assertNear(
                    MODEL.expected(ids, ids.length),
                    IntStream.range(0, ids.length).toArray(),
                    vectors,
                    "seen");
            assertTrue(Math.abs(vectors[0][0] - unseen[0][0]) > 1e-3);
        }
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("expansion\": true", "expansion\": false"));
        try (TokenEncoder plain = TokenEncoder.load(Compute.serial(), folder.resolve("pylate"))) {
            assertArrayEquals(
                    Arrays.copyOf(unseen, 6),
                    plain.embedQueries(List.of("cd e")).vectors(0));
        }
    }

    @Test
    void whatDoesNotFitIsNamed() throws IOException {
        Path pylate = folder.resolve("pylate");
        Path settings = pylate.resolve("config_sentence_transformers.json");
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("\"query\"", "\"[Q] \""));
        assertFails(pylate, ": query_prefix: \"[Q] \"; expected a token of the vocabulary");
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("14", "3"));
        assertFails(pylate, ": length of queries: 3; expected 4 to the model's 24");
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("20", "25"));
        assertFails(pylate, ": length of documents: 25; expected 4 to the model's 24");
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("MaxSim", "cosine"));
        assertFails(
                pylate,
                "/config_sentence_transformers.json: config_sentence_transformers.similarity_fn_name: cosine; expected MaxSim");
        Files.writeString(settings, TinyTokenModel.SETTINGS);
        Files.writeString(pylate.resolve("1_Dense/config.json"), TinyTokenModel.DENSE.replace("Identity", "Tanh"));
        assertFails(pylate, "/1_Dense/config.json: config.activation_function: torch.nn.modules.linear.Tanh; expected");
        Files.writeString(pylate.resolve("1_Dense/config.json"), TinyTokenModel.DENSE.replace("10", "11"));
        assertFails(pylate, "/1_Dense/model.safetensors: tensor \"linear.weight\": ");
        Files.writeString(pylate.resolve("1_Dense/config.json"), TinyTokenModel.DENSE);
        Files.writeString(pylate.resolve("modules.json"), TinyModel.MODULES);
        assertFails(pylate, "/modules.json: modules: 3 modules; expected a Transformer and a Dense module");
        Files.delete(pylate.resolve("modules.json"));
        assertFails(pylate, "/config.json: config.architectures: null; expected [HF_ColBERT], or a modules.json");
        Path authors = MODEL.writeAuthors(folder.resolve("authors"));
        Safetensors.write(authors.resolve("model.safetensors"), TinyModel.weights(1), Map.of("format", "pt"));
        assertThrows(IllegalArgumentException.class, () -> TokenEncoder.load(Compute.serial(), authors));
        assertThrows(NoSuchFileException.class, () -> TokenEncoder.load(Compute.serial(), folder.resolve("none")));
    }

    /** Mask tokens fill each query, and a vocabulary without {@code [MASK]} gets it as the last token, which then needs a row. */
    @Test
    void whatSequencesHaveMustHaveARow() throws IOException {
        Path pylate = folder.resolve("pylate");
        Path file = pylate.resolve("vocab.txt");
        Files.writeString(file, Files.readString(file).replace("[MASK]", "other") + "\nmore");
        assertFails(
                pylate,
                ": mask_token: \"[MASK]\" with id 60; expected an id below the 60 of the model's word embeddings");
        Path settings = pylate.resolve("config_sentence_transformers.json");
        Files.writeString(settings, TinyTokenModel.SETTINGS.replace("expansion\": true", "expansion\": false"));
        TokenEncoder.load(Compute.serial(), pylate).close();
    }

    private static void assertFails(Path folder, String message) {
        IllegalArgumentException wrong =
                assertThrows(IllegalArgumentException.class, () -> TokenEncoder.load(Compute.serial(), folder));
        assertTrue(wrong.getMessage().startsWith(folder + message), wrong.getMessage());
    }

    @Test
    void argumentsAreNamed() {
        assertEquals(
                "text 1: null; expected a text",
                assertThrows(NullPointerException.class, () -> encoder.embedDocuments(Arrays.asList("a", null)))
                        .getMessage());
        TokenVectors documents = encoder.embedDocuments(List.of("a"));
        assertThrows(IllegalArgumentException.class, () -> documents.vectors(1));
        assertThrows(NullPointerException.class, () -> encoder.score(null, documents));
        encoder.close();
        encoder.close();
        assertThrows(IllegalStateException.class, () -> encoder.embedQueries(List.of()));
        assertThrows(IllegalStateException.class, () -> encoder.score("a", documents));
    }
}
