package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.multihead.support.CpuTime;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * SentencePiece's byte-pair encoding returns the ids of llama.cpp and of a plain implementation, and decodes ids to the
 * text.
 */
class SentencePieceTokenizerTest {
    private static final String STORIES = "stories260K/stories260K.f32.gguf";
    private static final Vocabulary VOCABULARY = vocabulary();
    private static final SpecialIds IDS = new SpecialIds(1, 2, 0, SpecialIds.NONE, Set.of(2), AddedSpecialTokens.BEGIN);

    @Test
    void idsOfLlama2AreThoseOfLlamaCpp() {
        Tokenizer tokenizer = SharedModels.tokenizer("vocab/ggml-vocab-llama-spm.gguf");
        List<SharedModels.Example> examples = SharedModels.examples("llama-spm");
        assertTrue(examples.size() > 40);
        for (SharedModels.Example example : examples) {
            assertArrayEquals(example.ids(), tokenizer.encode(example.text()), example.text());
            assertEquals(example.text(), tokenizer.decode(example.ids()));
        }
    }

    @Test
    void idsOfStoriesAreThoseOfLlamaCpp() throws IOException {
        Tokenizer tokenizer = SharedModels.tokenizer(STORIES);
        JsonNode golden = new ObjectMapper()
                .readTree(SharedModels.file("stories260K/golden.json").toFile());
        assertTrue(golden.get("tokenizer").size() > 5);
        golden.get("tokenizer").properties().forEach(each -> {
            int[] ids = tokenizer.encode(PromptText.template(each.getKey()));
            int[] withBegin =
                    IntStream.concat(IntStream.of(1), IntStream.of(ids)).toArray();
            assertArrayEquals(ids(each.getValue()), withBegin, each.getKey());
        });
        for (JsonNode runs : golden.get("files")) {
            for (JsonNode run : runs) {
                int[] prompt = ids(run.get("prompt_ids"));
                assertArrayEquals(
                        prompt,
                        tokenizer.withSpecialTokens(
                                tokenizer.encode(run.get("prompt").asText())));
                TextStream stream = new TextStream(tokenizer);
                StringBuilder text = new StringBuilder(run.get("prompt").asText());
                for (int id : ids(run.get("double"))) {
                    text.append(stream.append(id));
                }
                assertEquals(run.get("text").asText(), text + stream.end());
            }
        }
    }

    private static int[] ids(JsonNode array) {
        int[] ids = new int[array.size()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = array.get(i).asInt();
        }
        return ids;
    }

    @Test
    void aTextOfAUserHasNoControlTokens() {
        Tokenizer tokenizer = small(SpacePrefix.NONE);
        assertArrayEquals(new int[] {5, 4, 0, 6, 5}, tokenizer.encode("a<s>ba"));
        assertArrayEquals(new int[] {5, 1, 6, 5}, tokenizer.encode(PromptText.template("a<s>ba")));
        assertEquals("a<ba", tokenizer.decode(5, 4, 0, 6, 5));
        assertEquals("aba", tokenizer.decode(5, 1, 6, 5));
        assertEquals("<s>", new String(tokenizer.pieceBytes(1), StandardCharsets.UTF_8));
        assertTrue(tokenizer.isControl(0) && tokenizer.isControl(1) && tokenizer.isStopToken(2));
        assertFalse(tokenizer.isControl(5) || tokenizer.isStopToken(1));
    }

    @Test
    void aSpaceStandsBeforeTextWhereItShould() {
        assertArrayEquals(new int[] {9, 1, 9, 3}, small(SpacePrefix.ALWAYS).encode(PromptText.template("a<s>a ")));
        assertArrayEquals(new int[] {9, 1, 5, 3}, small(SpacePrefix.FIRST).encode(PromptText.template("a<s>a ")));
        assertArrayEquals(new int[] {1, 5}, small(SpacePrefix.FIRST).encode(PromptText.template("<s>a")));
        assertArrayEquals(new int[] {5, 1, 5, 3}, small(SpacePrefix.NONE).encode(PromptText.template("a<s>a ")));
        assertEquals("a ", small(SpacePrefix.FIRST).decode(9, 3));
        assertEquals(" a ", small(SpacePrefix.NONE).decode(9, 3));
        assertArrayEquals(new int[0], small(SpacePrefix.ALWAYS).encode(""));
    }

    @Test
    void tokensAroundATextStandThereOnce() {
        Tokenizer tokenizer = small(SpacePrefix.NONE);
        assertArrayEquals(new int[] {1, 5}, tokenizer.withSpecialTokens(5));
        assertArrayEquals(new int[] {1, 5}, tokenizer.withSpecialTokens(1, 5));
        assertArrayEquals(new int[] {1}, tokenizer.withSpecialTokens());
    }

    /**
     * The test uses equal scores, letters without tokens, tokens across a space, and words that are longer than the
     * limit of the search without a heap.
     */
    @Test
    void idsAreThoseOfAPlainLoop() {
        Random random = new Random(42);
        for (int run = 0; run < 2000; run++) {
            SpacePrefix prefix = SpacePrefix.values()[run % 3];
            int length = random.nextInt(random.nextInt(20) == 0 ? 300 : 30);
            StringBuilder text = new StringBuilder();
            int letters = 1 + random.nextInt(7);
            while (text.length() < length) {
                text.append("aab q\ud83d\ude42\u00e9".charAt(random.nextInt(letters)));
            }
            String whole = text.toString().replaceAll("\ud83d(?!\ude42)|(?<!\ud83d)\ude42", "\ud83d\ude42");
            assertArrayEquals(
                    PlainSentencePiece.encode(VOCABULARY, whole, prefix),
                    small(prefix).encode(whole),
                    whole);
        }
    }

    @Test
    void timeGrowsHardlyMoreThanTheLength() throws Exception {
        Tokenizer tokenizer = small(SpacePrefix.ALWAYS);
        for (String part : List.of("a", " ", "\ud83d\ude42", "ab")) {
            String text = part.repeat(1_000_000 / part.length());
            int[] ids = CpuTime.within(60, () -> tokenizer.encode(text));
            assertTrue(ids.length > 0);
        }
    }

    @Test
    void vocabulariesThatAreNoneAreRefused() {
        Vocabulary plain = Vocabulary.of(List.of("a", "<0x41>"), List.of(TokenType.NORMAL, TokenType.BYTE));
        assertMessage("vocabulary: no scores; expected one per token", plain, SpecialIds.ABSENT);
        Vocabulary scored = plain.withScores(0, 0);
        assertMessage(
                "vocabulary: 1 byte tokens without that of 0; expected all 256 or none", scored, SpecialIds.ABSENT);
        Vocabulary letters = Vocabulary.of(List.of("a", "b"), List.of()).withScores(0, 0);
        assertMessage(
                "vocabulary: neither byte tokens nor an unknown token; expected one of both",
                letters,
                SpecialIds.ABSENT);
        assertMessage(
                "begin: 1000; expected 0 to 1",
                letters,
                new SpecialIds(1000, -1, 0, -1, Set.of(), AddedSpecialTokens.BEGIN));
    }

    private static void assertMessage(String message, Vocabulary vocabulary, SpecialIds special) {
        assertEquals(
                message,
                assertThrows(
                                IllegalArgumentException.class,
                                () -> SentencePieceTokenizer.of(vocabulary, special, SpacePrefix.NONE))
                        .getMessage());
    }

    /** Returns a tokenizer. Tokens 0 to 2 are special, and token 3 is the space. */
    private static Tokenizer small(SpacePrefix prefix) {
        return SentencePieceTokenizer.of(VOCABULARY, IDS, prefix);
    }

    private static Vocabulary vocabulary() {
        List<String> tokens = List.of(
                "<unk>",
                "<s>",
                "</s>",
                "\u2581",
                "<",
                "a",
                "b",
                "aa",
                "ab",
                "\u2581a",
                "aaa",
                "qa",
                "b\u2581a",
                "aq",
                "qab");
        List<TokenType> types = new ArrayList<>(List.of(TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL));
        while (types.size() < tokens.size()) {
            types.add(TokenType.NORMAL);
        }
        return Vocabulary.of(tokens, types).withScores(0, 0, 0, -9, -9, -9, -9, -1, -1, -2, -3, -0.0f, -1, 0, -1);
    }
}
