package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairFixture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests tokens in {@code added_tokens} beyond the vocabulary, for which a model has no row. The tokenizer is read, as in transformers, and
 * a text with such a token is refused. All tokens of the vocabulary and the tokens around each text need rows.
 */
class AddedTokensTest {
    @TempDir
    Path folder;

    /** A tokenizer, the number of rows that it needs, and {@code [NEW]}, whose id is the number of rows or larger. */
    private enum Kind {
        WORD_PIECE(59, 59) {
            @Override
            String json() {
                return TinyStatic.tokenizer().replace("\"added_tokens\":[", ADDED + token(59) + ", ");
            }
        },
        UNIGRAM(57, 58) {
            @Override
            String json() {
                String mask = "\"<mask>\", \"special\": true, \"lstrip\": true, \"normalized\": false}";
                return TinyXlmR.tokenizer().replace(mask, mask + ", " + token(58));
            }
        },
        BYTE_PAIRS(BytePairFixture.SEP + 1, BytePairFixture.SIZE) {
            @Override
            String json() {
                return BytePairFixture.modernBert().replace(ADDED, ADDED + token(BytePairFixture.SIZE) + ", ");
            }
        };

        private static final String ADDED = "\"added_tokens\": [";

        /** The number of rows for the vocabulary and the tokens around every text. */
        final int rows;

        final int added;

        Kind(int rows, int added) {
            this.rows = rows;
            this.added = added;
        }

        abstract String json();

        private static String token(int id) {
            return "{\"id\": " + id
                    + ", \"content\": \"[NEW]\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false,"
                    + " \"normalized\": false, \"special\": true}";
        }
    }

    private SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder);
    }

    private void write(Kind kind, int rows) throws IOException {
        Map<String, Tensor> weights = TinyModel.weights(1);
        weights.put("embeddings.word_embeddings.weight", TinyStatic.rows(2, rows));
        TinyModel.write(folder, weights);
        Files.delete(folder.resolve("vocab.txt"));
        Files.writeString(
                folder.resolve("config.json"),
                TinyModel.CONFIG.replace("\"vocab_size\": 60", "\"vocab_size\": " + rows));
        Files.writeString(folder.resolve("tokenizer.json"), kind.json());
    }

    private void writeStatic(Kind kind, int rows) throws IOException {
        TinyStatic.write(folder, TinyStatic.rows(2, rows), true);
        Files.writeString(folder.resolve("0_StaticEmbedding/tokenizer.json"), kind.json());
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anAddedTokenMayHaveNoRow(Kind kind) throws IOException {
        write(kind, kind.added);
        requireRefusedInTexts(kind, 2);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anAddedTokenMayHaveNoRowInAStaticTable(Kind kind) throws IOException {
        writeStatic(kind, kind.added);
        requireRefusedInTexts(kind, 1);
    }

    private void requireRefusedInTexts(Kind kind, int token) throws IOException {
        try (SentenceEncoder encoder = load()) {
            assertEquals(kind.added + 1, encoder.tokenizer().vocabularySize());
            int[] ids = encoder.tokenizer().encodeWithSpecialTokens("a[NEW]");
            assertEquals(kind.added, ids[token]);
            float[] expected = encoder.embed("a");
            String message = "token " + token + ": " + kind.added + "; expected 0 to " + (kind.added - 1);
            assertEquals(message, refusal(() -> encoder.embed("a[NEW]")));
            assertEquals(message, refusal(() -> encoder.embedTokens(List.of(ids))));
            assertArrayEquals(expected, encoder.embed("a"));
            Path packed = folder.resolve("packed");
            encoder.write(packed);
            try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), packed)) {
                assertArrayEquals(expected, mapped.embed("a"));
                assertEquals(message, refusal(() -> mapped.embed("a[NEW]")));
            }
        }
    }

    /** If the model has one row less, a token of the vocabulary or a token around every text has no row. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void whatTextsNeedMustHaveRows(Kind kind) throws IOException {
        write(kind, kind.rows);
        try (SentenceEncoder encoder = load()) {
            assertEquals(TinyModel.DIM, encoder.embed("a").length);
        }
        write(kind, kind.rows - 1);
        String message =
                switch (kind) {
                    case WORD_PIECE -> "tokenizer: 59 tokens; expected at most the 58 of the model's word embeddings";
                    case UNIGRAM -> "tokenizer: 57 tokens; expected at most the 56 of the model's word embeddings";
                    case BYTE_PAIRS ->
                        "tokenizer: \"[SEP]\" with id 259 around every text; expected an id below the 259 of the model's word"
                                + " embeddings";
                };
        assertTrue(refusal(this::load).endsWith(message), refusal(this::load));
    }

    /** A static model adds no tokens around texts, so it only needs rows for the 258 tokens of the vocabulary. */
    @Test
    void aStaticTableNeedsTheVocabularyAlone() throws IOException {
        writeStatic(Kind.BYTE_PAIRS, BytePairFixture.CLS);
        try (SentenceEncoder encoder = load()) {
            assertEquals(TinyStatic.DIM, encoder.embed("a").length);
        }
        writeStatic(Kind.BYTE_PAIRS, BytePairFixture.CLS - 1);
        String message = refusal(this::load);
        assertTrue(
                message.endsWith("tokenizer: 258 tokens; expected at most the 257 of the model's word embeddings"),
                message);
    }

    private static String refusal(Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }
}
