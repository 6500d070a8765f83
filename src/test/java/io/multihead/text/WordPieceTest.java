package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.wordpiece.PairTemplate;
import io.multihead.internal.text.wordpiece.WordPieceJson;
import io.multihead.internal.text.wordpiece.WordPieceModel;
import io.multihead.support.WarmCalls;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The tokenizer's interface: files, offsets, special tokens, truncation and errors. {@link WordPieceGoldenTest} checks
 * its tokens.
 */
class WordPieceTest {
    private static final List<String> VOCABULARY = List.of(
            "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able", "##aff", "cafe", "!", "[", "]", "mask");
    private static final WordPiece SMALL = WordPiece.ofVocabulary(VOCABULARY, TextNormalization.UNCASED);
    private static final WordPiece MINILM = Models.tokenizer();
    private static final String JSON = """
            {"added_tokens": [{"id": 1, "content": "[UNK]", "normalized": false}],
             "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
             "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100,
                       "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "un": 4}}}
            """;

    @TempDir
    Path folder;

    @Test
    void wordsBecomeTheLongestPieces() {
        assertArrayEquals(new int[] {2, 5, 7, 6, 9, 3}, SMALL.encodeWithSpecialTokens("Unaffable!"));
        assertArrayEquals(new int[] {2, 1, 3}, SMALL.encodeWithSpecialTokens("unknown"));
        assertArrayEquals(new int[] {2, 3}, SMALL.encodeWithSpecialTokens(" \t\n"));
        assertEquals("##aff", SMALL.token(7));
        assertEquals(13, SMALL.vocabularySize());
    }

    @Test
    void offsetsAreThoseOfTheGivenText() {
        TokenBuffer buffer = new TokenBuffer();
        SMALL.append("\ud83d\ude00 Cafe\u0301 [MASK]!", buffer);
        assertArrayEquals(new int[] {1, 8, 4, 9}, buffer.ids());
        assertArrayEquals(new int[] {0, 3, 9, 15}, all(buffer, true));
        assertArrayEquals(new int[] {2, 7, 15, 16}, all(buffer, false));
    }

    @Test
    void aContinuedWordIsMarked() {
        TokenBuffer buffer = new TokenBuffer();
        SMALL.append("un unable unx", buffer);
        assertArrayEquals(new int[] {5, 5, 6, 1}, buffer.ids());
        assertTrue(buffer.continuesWord(2));
        assertEquals(1, IntStream.range(0, 4).filter(buffer::continuesWord).count());
        assertThrows(IllegalArgumentException.class, () -> buffer.id(4));
        buffer.clear();
        assertThrows(IllegalArgumentException.class, () -> buffer.id(0));
    }

    @Test
    void specialTokensMayBePlainText() {
        assertArrayEquals(new int[] {2, 4, 3}, SMALL.encodeWithSpecialTokens("[MASK]"));
        WordPiece plain = SMALL.withSpecialTokensInText(false);
        assertArrayEquals(new int[] {2, 10, 12, 11, 3}, plain.encodeWithSpecialTokens("[MASK]"));
        assertArrayEquals(
                new int[] {2, 4, 3}, plain.withSpecialTokensInText(true).encodeWithSpecialTokens("[MASK]"));
    }

    @Test
    void textIsTruncatedOnRequestOnly() {
        String text = "un ".repeat(300);
        assertEquals(302, MINILM.encodeWithSpecialTokens(text).length);
        assertEquals(300, MINILM.count(text));
        assertEquals(300, MINILM.encode(text).length);
        assertEquals(MINILM.encodeWithSpecialTokens(text).length, MINILM.count(text) + MINILM.specialTokenCount());
        assertEquals(OptionalInt.of(128), MINILM.truncation());
        int[] cut = MINILM.encodeWithSpecialTokens(text, 128);
        assertEquals(128, cut.length);
        assertEquals(MINILM.firstToken(), cut[0]);
        assertEquals(MINILM.lastToken(), cut[127]);
        assertArrayEquals(new int[] {2, 3}, SMALL.encodeWithSpecialTokens("un un", 2));
        assertThrows(IllegalArgumentException.class, () -> SMALL.encodeWithSpecialTokens("un", 1));
    }

    /**
     * Written tokenizers have tokens that JSON must escape and every combination of steps. One is the tokenizer of the
     * trained model.
     */
    @Test
    void aWrittenTokenizerIsReadAgain() throws IOException {
        assertReadAgain(WordPieceJson.parse(Models.open(Models.MINILM_TOKENIZER).readAllBytes()));
        List<String> odd =
                List.of("[UNK]", "\"", "\\", "\n", "##\u0001", "[CLS]", "\ud83d\ude00", "", "[SEP]", "\u2028");
        for (int steps = 0; steps < 16; steps++) {
            TextNormalization normalization =
                    new TextNormalization((steps & 1) != 0, (steps & 2) != 0, (steps & 4) != 0, (steps & 8) != 0);
            assertReadAgain(WordPieceModel.of(odd, normalization.steps()));
            Map<String, Integer> special = Map.of("\"", 1, "", 7);
            assertReadAgain(new WordPieceModel(
                    odd, special, Set.of(), normalization.steps(), "#", 1, 2, 3, OptionalInt.of(7), PairTemplate.BERT));
        }
        WordPiece unpaired =
                WordPiece.ofVocabulary(List.of("[UNK]", "[CLS]", "[SEP]", "\ud83d"), TextNormalization.CASED);
        assertThrows(IllegalArgumentException.class, unpaired::toTokenizerJson);
    }

    @Test
    void aTokenizerWithoutTokensAroundTextsIsReadAgain() {
        WordPieceModel plain =
                WordPieceModel.of(List.of("[UNK]", "[CLS]", "[SEP]", "a"), TextNormalization.CASED.steps());
        WordPieceModel endless = new WordPieceModel(
                plain.vocabulary(),
                plain.special(),
                plain.added(),
                plain.normalization(),
                plain.prefix(),
                plain.unknown(),
                SpecialIds.NONE,
                SpecialIds.NONE,
                OptionalInt.of(5),
                PairTemplate.OTHER);
        byte[] written = new WordPiece(endless).toTokenizerJson();
        assertEquals(
                endless,
                WordPieceJson.parseWithoutEnds(new JsonObject("tokenizer", Json.object("tokenizer", written))));
        assertThrows(IllegalArgumentException.class, () -> WordPieceJson.parse(written));
    }

    private static void assertReadAgain(WordPieceModel model) {
        assertEquals(model, WordPieceJson.parse(new WordPiece(model).toTokenizerJson()));
    }

    /**
     * For any text, offsets increase and are within the text, and tokens do not depend on the text on the other side of
     * white space.
     */
    @Property(tries = 300)
    void tokensOfPartsAreThoseOfTheWhole(@ForAll String left, @ForAll String right) {
        int[] first = MINILM.encodeWithSpecialTokens(left);
        int[] second = MINILM.encodeWithSpecialTokens(right);
        int[] joined = Arrays.copyOf(first, first.length + second.length - 2);
        System.arraycopy(second, 1, joined, first.length - 1, second.length - 1);
        String whole = left + " " + right;
        assertArrayEquals(joined, MINILM.encodeWithSpecialTokens(whole));
        TokenBuffer buffer = new TokenBuffer();
        MINILM.append(whole, buffer);
        for (int i = 0; i < buffer.size(); i++) {
            assertTrue(buffer.start(i) < buffer.end(i) && buffer.end(i) <= whole.length());
            assertTrue(i == 0 || buffer.start(i) >= buffer.start(i - 1));
        }
    }

    @Test
    void unpairedSurrogatesAreIgnored() {
        assertArrayEquals(SMALL.encodeWithSpecialTokens("cafe"), SMALL.encodeWithSpecialTokens("ca\ud83dfe\udc00"));
        WordPiece unchanged = WordPiece.ofVocabulary(VOCABULARY, new TextNormalization(false, false, false, false));
        assertArrayEquals(
                unchanged.encodeWithSpecialTokens("cafe"), unchanged.encodeWithSpecialTokens("ca\ud83dfe\udc00"));
    }

    /** A special token that is also a word of the vocabulary must not be found in plain text. */
    @Test
    void plainTextReachesNoSpecialToken() {
        String added = "{\"id\": 4, \"content\": \"un\"}, {\"id\": 1";
        WordPiece tokenizer = (WordPiece) Tokenizers.ofEncoderJson(JSON.replace("{\"id\": 1", added)
                .replace("\"un\": 4", "\"un\": 4, \"u\": 5, \"##n\": 6")
                .getBytes(StandardCharsets.UTF_8));
        assertArrayEquals(new int[] {2, 4, 3}, tokenizer.encodeWithSpecialTokens("un"));
        assertArrayEquals(
                new int[] {2, 5, 6, 3}, tokenizer.withSpecialTokensInText(false).encodeWithSpecialTokens("un"));
    }

    /** A piece that equals the prefix does not continue a word, and must be found. */
    @Test
    void aPieceMayBeThePrefix() {
        WordPiece tokenizer = (WordPiece) Tokenizers.ofEncoderJson(JSON.replace("\"##\"", "\"#\"")
                .replace("\"un\": 4", "\"un\": 4, \"#\": 5, \"#a\": 6")
                .getBytes(StandardCharsets.UTF_8));
        assertArrayEquals(new int[] {2, 5, 4, 5, 4, 6, 3}, tokenizer.encodeWithSpecialTokens("# un#una"));
        TokenBuffer buffer = new TokenBuffer();
        tokenizer.append(new int[] {2, 4, 5, 4, 6, 3}, buffer);
        assertEquals(
                List.of(3),
                IntStream.range(0, 4).filter(buffer::continuesWord).boxed().toList());
    }

    /** An added token that begins with the prefix does not continue a word, even if ids are given. */
    @Test
    void anAddedTokenContinuesNoWord() {
        WordPiece tokenizer = (WordPiece)
                Tokenizers.ofEncoderJson(JSON.replace("{\"id\": 1", "{\"id\": 5, \"content\": \"##!\"}, {\"id\": 1")
                        .getBytes(StandardCharsets.UTF_8));
        TokenBuffer buffer = new TokenBuffer();
        tokenizer.append(tokenizer.encodeWithSpecialTokens("un##!"), buffer);
        assertArrayEquals(new int[] {4, 5}, buffer.ids());
        assertTrue(!buffer.continuesWord(1));
    }

    /** A token outside the model's vocabulary is found only in text before normalization. */
    @Test
    void anAddedTokenIsNoPieceOfAWord() {
        String added = "{\"id\": 5, \"content\": \"unun\", \"normalized\": false}, {\"id\": 1";
        WordPiece tokenizer = (WordPiece) Tokenizers.ofEncoderJson(JSON.replace("{\"id\": 1", added)
                .replace("\"un\": 4", "\"un\": 4, \"##un\": 6")
                .getBytes(StandardCharsets.UTF_8));
        WordPiece again = (WordPiece) Tokenizers.ofEncoderJson(tokenizer.toTokenizerJson());
        for (WordPiece one : List.of(tokenizer, again)) {
            assertArrayEquals(new int[] {2, 5, 3}, one.encodeWithSpecialTokens("unun"));
            assertArrayEquals(new int[] {2, 4, 6, 3}, one.encodeWithSpecialTokens("UNun"));
            assertArrayEquals(
                    new int[] {2, 4, 6, 3}, one.withSpecialTokensInText(false).encodeWithSpecialTokens("unun"));
        }
    }

    @Test
    void aBufferOfManyTokensIsUsedAgain() {
        TokenBuffer buffer = new TokenBuffer();
        for (int tokens : new int[] {100_000, 3, 70_000, 0, 65_536, 100}) {
            buffer.clear();
            SMALL.append("un ".repeat(tokens), buffer);
            assertEquals(tokens, buffer.size());
            assertEquals(
                    tokens, Arrays.stream(buffer.ids()).filter(id -> id == 5).count());
        }
    }

    @Test
    void aFolderMayHaveAVocabularyAlone() throws Exception {
        Files.writeString(folder.resolve("vocab.txt"), String.join("\r\n", VOCABULARY) + "\r\n");
        assertArrayEquals(
                SMALL.encodeWithSpecialTokens("CAFE\u0301!"),
                Tokenizers.loadEncoder(folder).encodeWithSpecialTokens("CAFE\u0301!"));
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"do_lower_case\": false}");
        assertArrayEquals(new int[] {2, 1, 8, 3}, Tokenizers.loadEncoder(folder).encodeWithSpecialTokens("Cafe cafe"));
        Files.delete(folder.resolve("tokenizer_config.json"));
        Files.writeString(folder.resolve("tokenizer.json"), JSON);
        assertEquals(6, Tokenizers.loadEncoder(folder).vocabularySize()); // with [MASK], as transformers adds it
        assertEquals(5, Tokenizers.loadEncoder(folder).ownVocabularySize());
        Files.writeString(folder.resolve("tokenizer.json"), "{}");
        IllegalArgumentException wrong =
                assertThrows(IllegalArgumentException.class, () -> Tokenizers.loadEncoder(folder));
        assertTrue(wrong.getMessage().startsWith(folder.resolve("tokenizer.json") + ": "), wrong.getMessage());
        assertThrows(NoSuchFileException.class, () -> Tokenizers.loadEncoder(folder.resolve("none")));
    }

    /** A row has a part of the file, its replacement, and the message. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"BertNormalizer\" | \"NFC\" | tokenizer.normalizer.type: NFC; expected BertNormalizer",
                "\"BertPreTokenizer\" | \"Whitespace\" | tokenizer.pre_tokenizer.type: Whitespace; expected BertPreTokenizer",
                "\"WordPiece\" | \"WordLevel\" | tokenizer.model.type: WordLevel; expected BPE or Unigram",
                "\"BertProcessing\" | \"RobertaProcessing\" | tokenizer.post_processor.type: RobertaProcessing",
                "\"un\": 4 | \"un\": 3 | expected each id from 0 to 4 once",
                "\"un\": 4 | \"un\": 5 | token \"un\" has id 5; expected each id from 0 to 4 once",
                "\"un\": 4 | \"un\": \"4\" | tokenizer.model.vocab.un: 4; expected an integer",
                "\"id\": 1 | \"id\": 2 | added token \"[UNK]\": id 2; expected 1, as in the vocabulary",
                "[{\"id\": 1 | [{\"id\": 0, \"content\": \"[UNK]\"}, {\"id\": 1 | added token \"[UNK]\": ids 0 and 1; expected one id",
                "\"normalized\": false | \"normalized\": true | tokenizer.added_tokens.normalized: true; expected false",
                "\"normalized\": false | \"lstrip\": true | tokenizer.added_tokens.lstrip: true; expected false",
                "[\"[CLS]\", 2] | [\"<s>\", 2] | vocabulary: no token \"<s>\"; expected one",
                "[\"[CLS]\", 2] | [\"[CLS]\", 3] | tokenizer.post_processor.cls: [[CLS], 3]; expected the token and the vocabulary's id 2",
                "[\"[SEP]\", 3] | [\"[SEP]\"] | tokenizer.post_processor.sep: [[SEP]]; expected the token and the vocabulary's id 3",
                "\"normalizer\" | \"truncation\": {\"direction\": \"Left\", \"max_length\": 5}, \"normalizer\" | tokenizer.truncation.direction: Left; expected Right",
                "\"normalizer\" | \"padding\": {\"direction\": \"Left\"}, \"normalizer\" | tokenizer.padding.direction: Left; expected Right",
                "\"##\" | \"@@\" | tokenizer.model.continuing_subword_prefix: @@; expected ##",
                "100 | 200 | tokenizer.model.max_input_chars_per_word: 200; expected 100",
                "\"normalizer\" | \"other\" | tokenizer.normalizer: null; expected an object",
            })
    void anotherTokenizerIsNamed(String part, String instead, String message) {
        assertEquals(
                5,
                Tokenizers.ofEncoderJson(JSON.getBytes(StandardCharsets.UTF_8)).vocabularySize());
        String json = JSON.replace(part, instead);
        IllegalArgumentException wrong = assertThrows(
                IllegalArgumentException.class, () -> Tokenizers.ofEncoderJson(json.getBytes(StandardCharsets.UTF_8)));
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
    }

    /** A row has a template with the ids and types of its parts, or with the message. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "\"ids\": [2] | \"ids\": [3] | special_tokens.[CLS].ids: [3]; expected [2], the vocabulary's id",
                "\"ids\": [3] | \"ids\": [3, 3] | special_tokens.[SEP].ids: [3, 3]; expected [3], the vocabulary's id",
                "\"A\", \"type_id\": 0 | \"A\", \"type_id\": 1 | tokenizer.post_processor.single.Sequence.type_id: 1; expected 0",
                "\"SpecialToken\": {\"id\": \"[SEP]\" | \"SpecialToken\": {\"type_id\": 1, \"id\": \"[SEP]\" | type_id: 1; expected 0",
            })
    void aTemplateHasTheVocabularysIdsAndType0(String part, String instead, String message) {
        String template = """
                {"type": "TemplateProcessing",
                 "single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]"}}],
                 "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2]}, "[SEP]": {"id": "[SEP]", "ids": [3]}}}
                """;
        String json = JSON.replaceFirst(
                "\\{\"type\": \"BertProcessing.*\\}", java.util.regex.Matcher.quoteReplacement(template));
        assertArrayEquals(
                new int[] {2, 4, 3},
                Tokenizers.ofEncoderJson(json.getBytes(StandardCharsets.UTF_8)).encodeWithSpecialTokens("un"));
        byte[] changed = json.replace(part, instead).getBytes(StandardCharsets.UTF_8);
        IllegalArgumentException wrong =
                assertThrows(IllegalArgumentException.class, () -> Tokenizers.ofEncoderJson(changed));
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"[UNK]", "[CLS]", "[SEP]"})
    void aVocabularyNeedsItsSpecialTokens(String token) {
        List<String> others = VOCABULARY.stream().filter(t -> !t.equals(token)).toList();
        IllegalArgumentException wrong = assertThrows(
                IllegalArgumentException.class, () -> WordPiece.ofVocabulary(others, TextNormalization.UNCASED));
        assertEquals("vocabulary: no token \"" + token + "\"; expected one", wrong.getMessage());
    }

    @Test
    void aRepeatedTokenIsNamed() {
        IllegalArgumentException wrong = assertThrows(
                IllegalArgumentException.class,
                () -> WordPiece.ofVocabulary(List.of("a", "b", "a"), TextNormalization.UNCASED));
        assertEquals("vocabulary: token \"a\" has ids 0 and 2; expected unique tokens", wrong.getMessage());
    }

    @Test
    void warmCallsAllocateNothing() {
        String text = Models.paragraph();
        TokenBuffer buffer = new TokenBuffer();
        assertEquals(0, WarmCalls.allocatedBytes(() -> {
            buffer.clear();
            MINILM.append(text, buffer);
        }));
    }

    private static int[] all(TokenBuffer buffer, boolean starts) {
        return IntStream.range(0, buffer.size())
                .map(i -> starts ? buffer.start(i) : buffer.end(i))
                .toArray();
    }
}
