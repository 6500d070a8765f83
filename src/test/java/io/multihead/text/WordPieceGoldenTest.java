package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Tokens and offsets equal the output of HuggingFace's crate, which {@code src/it/golden} wrote. */
@Execution(ExecutionMode.CONCURRENT)
class WordPieceGoldenTest {
    private static final JsonNode GOLDEN = golden();
    private static final WordPiece TOKENIZER = Models.tokenizer();

    private final GoldenTexts texts = new GoldenTexts();
    private final TokenBuffer buffer = new TokenBuffer();

    private static JsonNode golden() {
        try (InputStream in = Models.open("/golden/text/wordpiece.json")) {
            return new ObjectMapper().readTree(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void textsHaveTheReferencesTokens() {
        for (JsonNode expected : GOLDEN.get("texts")) {
            String text = expected.get("text").asText();
            int[][] tokens = tokens(text);
            assertArrayEquals(numbers(expected.get("ids")), tokens[0], text);
            assertArrayEquals(numbers(expected.get("starts")), tokens[1], text);
            assertArrayEquals(numbers(expected.get("ends")), tokens[2], text);
            assertArrayEquals(tokens[0], TOKENIZER.encodeWithSpecialTokens(text), text);
        }
    }

    @Test
    void randomStringsHaveTheReferencesTokens() {
        List<Integer> wrong = new ArrayList<>();
        for (int block = 0; block < GoldenTexts.RANDOM / GoldenTexts.RANDOM_BLOCK; block++) {
            CRC32 sum = new CRC32();
            for (String text : texts.random(block)) {
                update(sum, text);
            }
            if (sum.getValue() != GOLDEN.get("random").get(block).asLong()) {
                wrong.add(block);
            }
        }
        assertEquals(List.of(), wrong, "blocks of random strings that differ");
    }

    @Test
    void everyCodePointHasTheReferencesTokens() {
        List<String> wrong = new ArrayList<>();
        for (int first = 0; first <= Character.MAX_CODE_POINT; first += GoldenTexts.CODE_POINT_BLOCK) {
            CRC32 sum = new CRC32();
            for (int codePoint = first; codePoint < first + GoldenTexts.CODE_POINT_BLOCK; codePoint++) {
                if (texts.isCompared(codePoint)) {
                    update(sum, GoldenTexts.around(codePoint));
                }
            }
            if (sum.getValue()
                    != GOLDEN.get("codePoints")
                            .get(first / GoldenTexts.CODE_POINT_BLOCK)
                            .asLong()) {
                wrong.add(Integer.toHexString(first));
            }
        }
        assertEquals(List.of(), wrong, "blocks of code points that differ");
    }

    /** A longer pinned list could hide differences. */
    @Test
    void thePinnedListIsShort() {
        assertEquals(618, texts.pinned().cardinality());
    }

    private void update(CRC32 sum, String text) {
        GoldenTexts.update(sum, text, tokens(text));
    }

    /** Returns ids, starts and ends, including the special tokens around a text. */
    private int[][] tokens(String text) {
        buffer.clear();
        TOKENIZER.append(text, buffer);
        int size = buffer.size();
        int[][] result = new int[3][size + 2];
        result[0][0] = TOKENIZER.firstToken();
        result[0][size + 1] = TOKENIZER.lastToken();
        for (int i = 0; i < size; i++) {
            result[0][i + 1] = buffer.id(i);
            result[1][i + 1] = buffer.start(i);
            result[2][i + 1] = buffer.end(i);
        }
        return result;
    }

    private static int[] numbers(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false)
                .mapToInt(JsonNode::asInt)
                .toArray();
    }
}
