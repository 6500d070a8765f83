package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.format.Gguf;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** SentencePiece's files, which this test writes as protocol buffers. */
class SentencePieceModelTest {
    private static final byte[] BPE = message(2, integer(3, 2));
    private static final byte[] PLAIN = message(3, integer(4, 0));

    @TempDir
    Path folder;

    @Test
    void aVocabularyOfLlama2HasTheIdsOfLlamaCpp() {
        Gguf metadata = SharedModels.gguf("vocab/ggml-vocab-llama-spm.gguf");
        List<String> tokens = metadata.strings("tokenizer.ggml.tokens");
        float[] scores = metadata.floats("tokenizer.ggml.scores");
        long[] types = metadata.integers("tokenizer.ggml.token_type");
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        for (int id = 0; id < scores.length; id++) {
            file.writeBytes(piece(tokens.get(id), scores[id], (int) types[id]));
        }
        Tokenizer tokenizer = Tokenizers.ofSentencePieceModel(join(file.toByteArray(), BPE, PLAIN));
        for (SharedModels.Example example : SharedModels.examples("llama-spm")) {
            assertArrayEquals(example.ids(), tokenizer.encode(example.text()), example.text());
        }
    }

    @Test
    void aFileSaysWhichTokensAreSpecial() throws IOException {
        byte[] trainer = message(2, join(integer(3, 2), integer(41, 2), integer(42, 1), integer(43, -1)));
        Tokenizer tokenizer = Tokenizers.ofSentencePieceModel(join(pieces(), trainer, PLAIN));
        assertEquals(
                new SpecialIds(2, 1, 0, SpecialIds.NONE, Set.of(1), AddedSpecialTokens.NEITHER),
                tokenizer.specialIds());
        assertArrayEquals(new int[] {5, 3, 4}, tokenizer.encode("a\n\na"));
        assertArrayEquals(new int[] {4}, without(integer(3, 0)).encode("a"));
        Files.write(folder.resolve("tokenizer.model"), join(pieces(), trainer, PLAIN));
        assertArrayEquals(new int[] {2, 5}, Tokenizers.load(folder).withSpecialTokens(5));
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"add_bos_token\": false}");
        assertArrayEquals(new int[] {5}, Tokenizers.load(folder).withSpecialTokens(5));
        Path config = Files.writeString(folder.resolve("tokenizer_config.json"), "{\"add_bos_token\": 1}");
        assertLoadFails(config + ": tokenizer_config.add_bos_token: 1; expected true or false");
    }

    @Test
    void endsOfAFolderStandBesideThoseOfTheModel() throws IOException {
        Files.write(folder.resolve("tokenizer.model"), join(pieces(), BPE, PLAIN));
        Set<Integer> own = Tokenizers.load(folder).specialIds().stopTokens();
        assertTrue(!own.contains(4) && !own.contains(5), own + " end texts");
        Files.writeString(folder.resolve("config.json"), "{\"eos_token_id\": 5}");
        assertStops(own, 5);
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": null}");
        assertStops(own, 5);
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": [4]}");
        assertStops(own, 4);
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": [4, \"5\"]}");
        assertLoadFails("generation_config.json: generation_config.eos_token_id: [4, 5]; expected ids");
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": 90}");
        assertLoadFails("stopTokens (eos_token_id): 90; expected 0 to 5");
    }

    private void assertStops(Set<Integer> own, int more) throws IOException {
        Set<Integer> expected = new HashSet<>(own);
        expected.add(more);
        assertEquals(expected, Tokenizers.load(folder).specialIds().stopTokens());
    }

    private void assertLoadFails(String end) {
        String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.load(folder))
                .getMessage();
        assertTrue(message.startsWith(folder.toString()) && message.endsWith(end), message);
    }

    private static Tokenizer without(byte[] normalizer) {
        return Tokenizers.ofSentencePieceModel(join(pieces(), BPE, message(3, join(integer(4, 0), normalizer))));
    }

    @Test
    void otherModelsAreNamed() {
        String value = ": another value; expected ";
        assertMessage(
                "tokenizer.model.model_type" + value + "UNIGRAM (1) or BPE (2)",
                join(pieces(), message(2, integer(3, 4)), PLAIN));
        assertMessage("tokenizer.model.remove_extra_whitespaces" + value + "false with BPE", join(pieces(), BPE));
        assertMessage(
                "tokenizer.model.precompiled_charsmap" + value + "none with BPE",
                join(pieces(), BPE, message(3, bytes(2, new byte[] {1}))));
        assertMessage(
                "tokenizer.model: unused piece \"u\"; expected none", join(pieces(), piece("u", 0, 5), BPE, PLAIN));
        assertMessage(
                "tokenizer.model: user-defined \"  \"; expected none with a space",
                join(pieces(), piece("\u2581\u2581", 0, 4), BPE, PLAIN));
        assertMessage(
                "tokenizer.model.eos_id: 9; expected 0 to 5",
                join(pieces(), message(2, join(integer(3, 2), integer(42, 9))), PLAIN));
        byte[] whole = join(BPE, pieces(), PLAIN);
        for (int length = 1; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.ofSentencePieceModel(cut))
                    .getMessage();
            assertTrue(message.contains("; expected "), message);
        }
    }

    /** The ids are from SentencePiece (the WebAssembly build in the npm package @agnai/sentencepiece-js 1.1.1). */
    @Test
    void aUnigramModelHasTheIdsOfSentencePiece() throws IOException {
        byte[] file = Files.readAllBytes(SharedModels.file("sentencepiece/test_model.model"));
        Tokenizer tokenizer = Tokenizers.ofSentencePieceModel(file);
        assertArrayEquals(
                new int[] {151, 88, 21, 887, 6, 74, 21, 21, 4, 357, 80, 48},
                tokenizer.encode("Hello world.  \uff46\uff4f\uff4f\u3000\u2460 bar "));
        assertArrayEquals(
                new int[] {9, 459, 11, 939, 44, 11, 4, 142, 82, 8, 28, 21, 132, 6},
                tokenizer.encode("I saw a girl with a telescope."));
        assertArrayEquals(
                new int[] {4, 0, 4, 0, 4, 0, 4, 0, 4, 357, 0, 596}, tokenizer.encode("\ufdfa\u0301e\u0301 \u00bd"));
        assertArrayEquals(new int[] {4, 4, 4, 11}, tokenizer.encode("\u2581 \u2581a\u2581"));
        assertArrayEquals(new int[] {4, 0, 4, 0, 4, 297}, tokenizer.encode("\u4f60\u597d \ud83d\ude42\ud83d\ude42 x"));
        assertArrayEquals(
                new int[] {20, 190, 24, 149, 73, 25, 997, 149, 3, 0, 14, 4, 0},
                tokenizer.encode("internationalization\r\n of \uff76\uff9e\u1100\u1161"));
        assertArrayEquals(new int[] {}, tokenizer.encode(""));
    }

    @Test
    void userDefinedPiecesOfAUnigramModelWin() {
        byte[] trainer = message(2, integer(35, 0));
        byte[] file = join(pieces(), piece("aa", -9, 4), piece("b", -3, 1), trainer);
        Tokenizer tokenizer = Tokenizers.ofSentencePieceModel(file);
        assertArrayEquals(new int[] {5, 7}, tokenizer.encode("  ab "));
        assertArrayEquals(new int[] {5, 6}, tokenizer.encode("aaa"), "the mark and a, then what is not normalized");
        assertArrayEquals(new int[] {5, 0, 4}, tokenizer.encode("aX\u4e2da"), "one unknown token");
        assertArrayEquals(new int[] {5, 0, 4}, tokenizer.encode("a<s>a"));
        assertArrayEquals(new int[] {5, 1, 5}, tokenizer.encode(PromptText.template("a<s> a")));
        assertArrayEquals(new int[] {}, tokenizer.encode(" \u2581 "));
    }

    @Test
    void unknownCodePointsOfAUnigramModelBecomeBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int b = 0; b < 256; b++) {
            bytes.writeBytes(piece(String.format("<0x%02X>", b), 0, 6));
        }
        byte[] file = join(pieces(), bytes.toByteArray(), message(2, integer(35, 1)));
        Tokenizer tokenizer = Tokenizers.ofSentencePieceModel(file);
        assertArrayEquals(new int[] {5, 6 + 0xc3, 6 + 0xa9, 6 + 'x'}, tokenizer.encode("a\u00e9x"));
        assertEquals("a\u00e9x", tokenizer.decode(tokenizer.encode("a\u00e9x")));
    }

    @Test
    void xlmRHasTheIdsOfFairseq() throws IOException {
        byte[] pieces = join(
                piece("<unk>", 0, 2),
                piece("<s>", 0, 3),
                piece("</s>", 0, 3),
                piece("\u2581a", -1, 1),
                piece("b", -2, 1));
        Files.write(folder.resolve("sentencepiece.bpe.model"), pieces);
        EncoderTokenizer tokenizer = Tokenizers.loadEncoder(folder);
        assertEquals(7, tokenizer.vocabularySize());
        assertEquals(6, tokenizer.ownVocabularySize()); // without <mask>, which transformers adds
        assertArrayEquals(new int[] {0, 4, 5, 3, 2}, tokenizer.encodeWithSpecialTokens("abx"));
        assertArrayEquals(new int[] {0, 4, 6, 4, 2}, tokenizer.encodeWithSpecialTokens("a <mask> a"));
        assertArrayEquals(new int[] {0, 1, 2, 2}, tokenizer.encodeWithSpecialTokens("<pad></s>"));
        assertEquals(2, tokenizer.separators());
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"tokenizer_class\": \"CamembertTokenizer\"}");
        String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.loadEncoder(folder))
                .getMessage();
        assertEquals(
                folder.resolve("tokenizer_config.json")
                        + ": tokenizer_config.tokenizer_class: CamembertTokenizer; expected XLMRobertaTokenizer with"
                        + " sentencepiece.bpe.model",
                message);
        Files.delete(folder.resolve("tokenizer_config.json"));
        Files.write(folder.resolve("sentencepiece.bpe.model"), join(pieces(), BPE));
        message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.loadEncoder(folder))
                .getMessage();
        assertTrue(message.endsWith("model_type: another value; expected UNIGRAM (1)"), message);
        Files.write(folder.resolve("sentencepiece.bpe.model"), piece("<s>", 0, 3));
        message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.loadEncoder(folder))
                .getMessage();
        assertTrue(message.endsWith("pieces [<s>]; expected [<unk>, <s>, </s>] first"), message);
    }

    private static void assertMessage(String message, byte[] file) {
        assertEquals(
                message,
                assertThrows(IllegalArgumentException.class, () -> Tokenizers.ofSentencePieceModel(file))
                        .getMessage());
    }

    private static byte[] pieces() {
        return join(
                piece("<unk>", 0, 2),
                piece("<s>", 0, 3),
                piece("</s>", 0, 3),
                piece("\n\n", 0, 4),
                piece("a", -1, 1),
                piece("\u2581a", -2, 1));
    }

    private static byte[] piece(String text, float score, int type) {
        int bits = Float.floatToIntBits(score);
        byte[] real = {0x15, (byte) bits, (byte) (bits >> 8), (byte) (bits >> 16), (byte) (bits >> 24)};
        return message(1, join(bytes(1, text.getBytes(StandardCharsets.UTF_8)), real, integer(3, type)));
    }

    private static byte[] message(int field, byte[] content) {
        return bytes(field, content);
    }

    private static byte[] bytes(int field, byte[] content) {
        return join(varint(8L * field + 2), varint(content.length), content);
    }

    private static byte[] integer(int field, long value) {
        return join(varint(8L * field), varint(value));
    }

    private static byte[] varint(long value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        long rest = value;
        for (; (rest & ~0x7f) != 0; rest >>>= 7) {
            out.write((int) rest | 0x80);
        }
        out.write((int) rest);
        return out.toByteArray();
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }
}
