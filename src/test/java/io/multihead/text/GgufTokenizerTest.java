package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.format.Gguf;
import io.multihead.format.GgufFixture;
import io.multihead.internal.text.pairs.ByteAlphabet;
import io.multihead.text.SharedModels.Example;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tokenizers of GGUF files, and errors that name unexpected keys. */
class GgufTokenizerTest {
    private static final String PREFIX = "tokenizer.ggml.";

    /** The file is from a converter that writes no types, or the type of texts for byte tokens. */
    @Test
    void byteTokensOfGgufAreBytesWhateverTheirTypes() {
        List<String> tokens = new ArrayList<>(List.of("<unk>", "<s>", "</s>", "a"));
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
        }
        Map<String, Object> keys = new HashMap<>();
        keys.put("tokenizer.ggml.model", "llama");
        keys.put("tokenizer.ggml.tokens", tokens);
        keys.put("tokenizer.ggml.scores", new float[tokens.size()]);
        keys.put("tokenizer.ggml.add_space_prefix", false);
        long[] types = new long[tokens.size()];
        Arrays.fill(types, 1);
        types[0] = 2;
        types[1] = types[2] = 3;
        for (int run = 0; run < 2; run++) {
            Tokenizer tokenizer = Tokenizers.of(GgufFixture.of(keys));
            assertArrayEquals(new int[] {3, 4 + 10, 3}, tokenizer.encode("a\na"));
            assertEquals("a\na", tokenizer.decode(1, 3, 4 + 10, 3, 2, 0));
            assertEquals(Set.of(2), tokenizer.specialIds().stopTokens());
            keys.put("tokenizer.ggml.token_type", types);
        }
        keys.put("tokenizer.ggml.tokens", tokens.subList(0, 100));
        keys.put("tokenizer.ggml.scores", new float[100]);
        keys.remove("tokenizer.ggml.token_type");
        assertEquals("vocabulary: 96 byte tokens without that of 96; expected all 256 or none", decoders(keys));
    }

    /**
     * As in Gemma 4, pieces have U+2581 instead of spaces, and are joined in the order of merges. Other characters are
     * encoded as bytes.
     */
    @Test
    void piecesOfGemma4AreJoinedByRanks() {
        List<String> tokens = new ArrayList<>(List.of("<pad>", "<eos>", "<bos>", "<unk>"));
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
        }
        tokens.addAll(List.of("a", "b", "\u2581", "ab", "\u2581a", "\u2581ab", "\n", "\n\n", "<|x>"));
        long[] types = new long[tokens.size()];
        Arrays.fill(types, 1);
        Arrays.fill(types, 0, 3, 3);
        types[3] = 2;
        Arrays.fill(types, 4, 260, 6);
        types[268] = 4;
        Map<String, Object> keys = new HashMap<>();
        keys.put("tokenizer.ggml.model", "gemma4");
        keys.put("tokenizer.ggml.tokens", tokens);
        keys.put("tokenizer.ggml.token_type", types);
        keys.put("tokenizer.ggml.merges", List.of("\u2581 a", "a b", "\u2581a b", "\n \n"));
        keys.put("tokenizer.ggml.add_space_prefix", false);
        Tokenizer tokenizer = Tokenizers.of(GgufFixture.of(keys));
        assertArrayEquals(
                new int[] {263, 265, 267, 260, 262, 4 + 'c', 268, 261}, tokenizer.encode("ab ab\n\na c<|x>b"));
        assertEquals("ab ab\n\na c<|x>b", tokenizer.decode(tokenizer.encode("ab ab\n\na c<|x>b")));
        assertEquals(2, tokenizer.specialIds().begin());
        keys.put("tokenizer.ggml.merges", List.of("a a"));
        assertTrue(decoders(keys).contains("merges"), decoders(keys));
    }

    /** The ids are from llama.cpp with this vocabulary. */
    @Test
    void lineFeedsOfGemma4AreDividedFromOtherText() {
        List<String> tokens = List.of(
                "<pad>",
                "<eos>",
                "<bos>",
                "<unk>",
                "a",
                "b",
                "\u2581",
                "\n",
                "\n\n",
                "\n\n\n\n",
                "ab",
                "\u2581a",
                "\n\n\n",
                "b\n",
                "\na",
                "\u2581\n");
        Map<String, Object> keys = new HashMap<>();
        keys.put("tokenizer.ggml.model", "gemma4");
        keys.put("tokenizer.ggml.tokens", tokens);
        keys.put("tokenizer.ggml.token_type", new long[] {3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
        keys.put("tokenizer.ggml.merges", List.of("\u2581 a", "a b", "\n \n", "b \n", "\n a", "\u2581 \n"));
        Tokenizer tokenizer = Tokenizers.of(GgufFixture.of(keys));
        assertArrayEquals(new int[] {10, 9, 5, 6, 8, 4, 12, 5, 7}, tokenizer.encode("ab\n\n\n\nb \n\na\n\n\nb\n"));
        assertArrayEquals(new int[] {8, 8, 7, 4}, tokenizer.encode("\n\n\n\n\na"));
    }

    @Test
    void metadataThatAreMissingAreNamed() {
        Map<String, Object> keys = new HashMap<>();
        assertEquals(PREFIX + "model: not in the file; expected a value", decoders(keys));
        keys.put("tokenizer.ggml.model", "t5");
        assertEquals(PREFIX + "model: STRING \"t5\"; expected llama, gpt2 or gemma4", decoders(keys));
        keys.put("tokenizer.ggml.model", "llama");
        assertEquals(PREFIX + "tokens: not in the file; expected a value", decoders(keys));
        keys.put("tokenizer.ggml.tokens", List.of("<unk>", "<s>", "</s>"));
        assertEquals(PREFIX + "scores: not in the file; expected a value", decoders(keys));
        keys.put("tokenizer.ggml.scores", new float[] {0, 0, 0});
        assertEquals(3, Tokenizers.of(GgufFixture.of(keys)).vocabularySize());
        keys.put("tokenizer.ggml.token_type", new long[] {7, 3, 3});
        assertEquals(PREFIX + "token_type[0]: 7; expected 1 to 6", decoders(keys));
        keys.put("tokenizer.ggml.token_type", new long[] {2, 3, 3});
        keys.put("tokenizer.ggml.bos_token_id", 11L);
        assertEquals(PREFIX + "bos_token_id: 11; expected 0 to 2", decoders(keys));
    }

    private static String decoders(Map<String, Object> keys) {
        return message(keys, Tokenizers::of);
    }

    private static String encoders(Map<String, Object> keys) {
        return message(keys, Tokenizers::ofEncoder);
    }

    private static String message(Map<String, Object> keys, Function<Gguf, ?> reading) {
        Gguf file = GgufFixture.of(keys);
        return assertThrows(IllegalArgumentException.class, () -> reading.apply(file))
                .getMessage();
    }

    /** The ids are from llama.cpp for the texts in its tokenizer tests. */
    @Test
    void wordPieceHasLlamaCppsIds() {
        EncoderTokenizer tokenizer = Tokenizers.ofEncoder(SharedModels.gguf("vocab/ggml-vocab-bert-bge.gguf"));
        List<Example> examples = SharedModels.examples("bert-bge");
        assertEquals(46, examples.size());
        for (Example example : examples) {
            assertArrayEquals(example.ids(), inner(tokenizer.encodeWithSpecialTokens(example.text())), example.text());
        }
        assertEquals(101, tokenizer.firstToken());
        assertEquals(102, tokenizer.lastToken());
        assertEquals(30522, tokenizer.ownVocabularySize());
        assertArrayEquals(new int[] {101, 103, 102}, tokenizer.encodeWithSpecialTokens("[MASK]"));
        assertEquals("##s", tokenizer.token(2015));
        assertEquals("[unused0]", tokenizer.token(1));
    }

    private static int[] inner(int[] ids) {
        return Arrays.copyOfRange(ids, 1, ids.length - 1);
    }

    /**
     * Returns the keys for a {@code vocab.txt} as converters write them: tokens that begin a word have U+2581, and
     * tokens have no {@code ##}.
     */
    private static Map<String, Object> wordPiece(List<String> vocabulary) {
        Map<String, Object> keys = new TreeMap<>();
        keys.put(PREFIX + "model", "bert");
        List<String> special = List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]");
        keys.put(
                PREFIX + "tokens",
                vocabulary.stream()
                        .map(token -> special.contains(token)
                                ? token
                                : token.startsWith("##") ? token.substring(2) : "\u2581" + token)
                        .toList());
        keys.put(
                PREFIX + "token_type",
                vocabulary.stream()
                        .mapToLong(token -> special.contains(token) ? 3 : 1)
                        .toArray());
        keys.put(PREFIX + "cls_token_id", 2);
        keys.put(PREFIX + "seperator_token_id", 3);
        keys.put(PREFIX + "unknown_token_id", 1);
        keys.put(PREFIX + "padding_token_id", 0);
        return keys;
    }

    private static final List<String> WORDS = List.of(
            "[PAD]",
            "[UNK]",
            "[CLS]",
            "[SEP]",
            "the",
            "##y",
            "caf",
            "##e",
            "##\u00e9",
            "cat",
            "Cat",
            "##[",
            "##\u2581");

    @Test
    void aVocabularyIsThatOfTheTextFile() {
        Map<String, Object> keys = wordPiece(WORDS.subList(0, 10));
        EncoderTokenizer tokenizer = Tokenizers.ofEncoder(GgufFixture.of(keys));
        EncoderTokenizer expected = WordPiece.ofVocabulary(WORDS.subList(0, 10), TextNormalization.UNCASED);
        for (String text : List.of("", "They caf\u00e9", "Cat the thethe [SEP] x", "[PAD][CLS]")) {
            assertArrayEquals(expected.encodeWithSpecialTokens(text), tokenizer.encodeWithSpecialTokens(text), text);
        }
        IntStream.range(0, 10).forEach(id -> assertEquals(WORDS.get(id), tokenizer.token(id)));
        assertEquals(1, tokenizer.separators());
        assertEquals(1, tokenizer.secondType());
    }

    @Test
    void caseAndAccentsAreThoseOfTheFile() {
        Map<String, Object> keys = wordPiece(WORDS);
        assertEquals(
                PREFIX
                        + "normalizer.lowercase: not in the file; expected true or false, as \"Cat\" and others begin with"
                        + " a capital letter",
                encoders(keys));
        keys.put(PREFIX + "normalizer.lowercase", true);
        assertArrayEquals(new int[] {2, 9, 6, 7, 3}, encode(keys, "Cat Caf\u00e9"));
        keys.put(PREFIX + "normalizer.strip_accents", false);
        assertArrayEquals(new int[] {2, 9, 6, 8, 3}, encode(keys, "Cat Caf\u00e9"));
        keys.put(PREFIX + "normalizer.lowercase", false);
        keys.remove(PREFIX + "normalizer.strip_accents");
        assertArrayEquals(new int[] {2, 10, 6, 8, 3}, encode(keys, "Cat caf\u00e9"));
        keys.put(PREFIX + "normalizer.strip_accents", true);
        assertArrayEquals(new int[] {2, 10, 6, 7, 3}, encode(keys, "Cat caf\u00e9"));
    }

    private static int[] encode(Map<String, Object> keys, String text) {
        return Tokenizers.ofEncoder(GgufFixture.of(keys)).encodeWithSpecialTokens(text);
    }

    /** In files without types, the keys of ids determine special tokens. */
    @Test
    void typesMayBeMissing() {
        Map<String, Object> keys = wordPiece(WORDS.subList(0, 10));
        keys.remove(PREFIX + "token_type");
        assertArrayEquals(new int[] {2, 9, 3, 3}, encode(keys, "cat[SEP]"));
        keys.put(PREFIX + "bos_token_id", 2);
        keys.put(PREFIX + "eos_token_id", 3);
        keys.remove(PREFIX + "cls_token_id");
        keys.remove(PREFIX + "seperator_token_id");
        assertArrayEquals(new int[] {2, 9, 3, 3}, encode(keys, "cat[SEP]"), "older names");
        keys.remove(PREFIX + "bos_token_id");
        assertEquals(PREFIX + "bos_token_id: 101; expected 0 to 9", encoders(keys), "llama.cpp's own");
    }

    @Test
    void whatAnEncoderCannotHaveIsNamed() {
        Map<String, Object> keys = wordPiece(WORDS.subList(0, 10));
        keys.put(PREFIX + "add_sep_token", false);
        String ends = "BOOL false; expected true, as an encoder's texts stand between two tokens";
        assertEquals(PREFIX + "add_sep_token: " + ends, encoders(keys));
        keys.put(PREFIX + "add_bos_token", false);
        assertEquals(PREFIX + "add_bos_token: " + ends, encoders(keys));
        keys.put(PREFIX + "model", "llama");
        assertEquals(PREFIX + "model: STRING \"llama\"; expected bert, gpt2 or t5 for an encoder", encoders(keys));
        keys.put(PREFIX + "token_type", new long[3]);
        assertEquals(PREFIX + "token_type[0]: 0; expected 1 to 6", encoders(keys));
        Map<String, Object> repeated = wordPiece(List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "a"));
        assertEquals("vocabulary: token \"a\" has ids 4 and 5; expected unique tokens", encoders(repeated));
    }

    /** A file in the shape of XLM-R, as converters write it, is compared with its {@code tokenizer.json}. */
    @Test
    void unigramHasTheIdsOfTheFolder() {
        List<String> pieces = UnigramFixture.PIECES;
        double[] scores = UnigramFixture.scores(pieces.size());
        float[] rounded = new float[scores.length];
        long[] types = new long[scores.length];
        for (int id = 0; id < scores.length; id++) {
            rounded[id] = (float) scores[id];
            types[id] = id == 3 ? 2 : id < 4 ? 3 : 1;
        }
        Map<String, Object> keys = new HashMap<>();
        keys.put(PREFIX + "model", "t5");
        keys.put(PREFIX + "tokens", pieces);
        keys.put(PREFIX + "scores", rounded);
        keys.put(PREFIX + "token_type", types);
        keys.put(PREFIX + "precompiled_charsmap", UnigramFixture.map(UnigramFixture.CHARACTERS));
        keys.put(PREFIX + "remove_extra_whitespaces", true);
        keys.put(PREFIX + "bos_token_id", 0);
        keys.put(PREFIX + "eos_token_id", 2);
        keys.put(PREFIX + "unknown_token_id", 3);
        keys.put(PREFIX + "add_bos_token", true);
        keys.put(PREFIX + "add_eos_token", true);
        EncoderTokenizer tokenizer = Tokenizers.ofEncoder(GgufFixture.of(keys));
        EncoderTokenizer expected =
                Tokenizers.ofEncoderJson(UnigramFixture.xlmr().getBytes(StandardCharsets.UTF_8));
        SplittableRandom random = new SplittableRandom(3);
        List<String> parts = List.of(
                "a", "b", "ab", " ", "  ", "\n", "\u3000", "\u00e9", "\ufb01", "x", "\u5b57", "</s>", "\ud83d\ude00");
        for (int run = 0; run < 500; run++) {
            StringBuilder text = new StringBuilder();
            for (int count = random.nextInt(8); count > 0; count--) {
                text.append(parts.get(random.nextInt(parts.size())));
            }
            String word = text.toString();
            assertArrayEquals(expected.encodeWithSpecialTokens(word), tokenizer.encodeWithSpecialTokens(word), word);
        }
        assertEquals(expected.separators(), tokenizer.separators());
        assertEquals(expected.secondType(), tokenizer.secondType());
        keys.put(PREFIX + "remove_extra_whitespaces", false);
        assertArrayEquals(
                new int[] {0, 18, 5, 2}, encode(keys, " a"), "spaces stay where the file does not remove them");
        keys.put(PREFIX + "add_space_prefix", false);
        assertArrayEquals(new int[] {0, 5, 2}, encode(keys, "a"));
        keys.put(PREFIX + "precompiled_charsmap", new long[] {0, 256});
        assertEquals(PREFIX + "precompiled_charsmap: ARRAY of 2 I32; expected bytes", encoders(keys));
        keys.remove(PREFIX + "add_eos_token");
        assertEquals(
                PREFIX
                        + "add_eos_token: not in the file; expected true, as an encoder's texts stand between two tokens",
                encoders(keys));
    }

    /**
     * A file in the shape of ModernBERT is compared with its {@code tokenizer.json}. Other cases are RoBERTa's pairs,
     * and unknown words.
     */
    @Test
    void bytePairsHaveTheIdsOfTheFolder() {
        List<String> tokens = new ArrayList<>();
        for (int value = 0; value < 256; value++) {
            tokens.add(String.valueOf(ByteAlphabet.character(value)));
        }
        tokens.addAll(List.of("ab", "\u0120ab", "[CLS]", "[SEP]", "[MASK]"));
        Map<String, Object> keys = new HashMap<>();
        keys.put(PREFIX + "model", "gpt2");
        keys.put(PREFIX + "pre", "modern-bert");
        keys.put(PREFIX + "tokens", tokens);
        keys.put(
                PREFIX + "token_type",
                IntStream.range(0, tokens.size())
                        .mapToLong(id -> id < 258 ? 1 : 3)
                        .toArray());
        keys.put(PREFIX + "merges", List.of("a b", "\u0120 ab"));
        keys.put(PREFIX + "cls_token_id", BytePairFixture.CLS);
        keys.put(PREFIX + "seperator_token_id", BytePairFixture.SEP);
        keys.put(PREFIX + "add_bos_token", true);
        keys.put(PREFIX + "add_eos_token", true);
        EncoderTokenizer tokenizer = Tokenizers.ofEncoder(GgufFixture.of(keys));
        EncoderTokenizer expected =
                Tokenizers.ofEncoderJson(BytePairFixture.modernBert().getBytes(StandardCharsets.UTF_8));
        for (String text : List.of("", "ab ab", "e\u0301 [SEP]", "[MASK]a'll", "\ud83d\ude00\n\n x")) {
            assertArrayEquals(expected.encodeWithSpecialTokens(text), tokenizer.encodeWithSpecialTokens(text), text);
        }
        assertEquals(expected.separators(), tokenizer.separators());
        assertEquals(expected.secondType(), tokenizer.secondType());
        long[] unused = IntStream.range(0, tokens.size())
                .mapToLong(id -> id == ' ' ? 5 : id < 258 ? 1 : 3)
                .toArray();
        keys.put(PREFIX + "token_type", unused);
        TokenBuffer buffer = new TokenBuffer();
        Tokenizers.ofEncoder(GgufFixture.of(keys)).append("a b", buffer);
        assertArrayEquals(
                new int[] {'a', ' ', 'b'}, buffer.ids(), "a token of an unused type is one byte all the same");
        keys.put(PREFIX + "pre", "roberta-bpe");
        EncoderTokenizer roberta = Tokenizers.ofEncoder(GgufFixture.of(keys));
        assertEquals(2, roberta.separators());
        assertArrayEquals(
                new int[] {258, 'e', 0xcc, 0x81, 259}, roberta.encodeWithSpecialTokens("e\u0301"), "not composed");
        keys.put(PREFIX + "pre", "jina-v1-en");
        assertEquals(0, Tokenizers.ofEncoder(GgufFixture.of(keys)).separators(), "a template that GGUF cannot say");
        keys.remove(PREFIX + "merges");
        assertEquals(PREFIX + "merges: not in the file; expected a value", encoders(keys));
    }
}
