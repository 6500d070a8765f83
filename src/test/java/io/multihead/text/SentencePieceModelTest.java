package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.text.SpecialIds.AddedEnds;
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

/** SentencePiece's own files, written here as protocol buffers. */
class SentencePieceModelTest {
    private static final byte[] BPE = message(2, integer(3, 2));
    private static final byte[] PLAIN = message(3, integer(4, 0));

    @TempDir
    Path folder;

    @Test
    void aVocabularyOfLlama2HasTheIdsOfLlamaCpp() {
        GgufMetadata metadata = GgufMetadata.read(SharedModels.file("vocab/ggml-vocab-llama-spm.gguf"));
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
        assertEquals(new SpecialIds(2, 1, 0, SpecialIds.NONE, Set.of(1), AddedEnds.NEITHER), tokenizer.specialIds());
        assertArrayEquals(new int[] {5, 3, 4}, tokenizer.encode("a\n\na"));
        assertArrayEquals(new int[] {4}, without(integer(3, 0)).encode("a"));
        Files.write(folder.resolve("tokenizer.model"), join(pieces(), trainer, PLAIN));
        assertArrayEquals(new int[] {2, 5}, Tokenizers.load(folder).withEnds(5));
        Files.writeString(folder.resolve("tokenizer_config.json"), "{\"add_bos_token\": false}");
        assertArrayEquals(new int[] {5}, Tokenizers.load(folder).withEnds(5));
    }

    @Test
    void endsOfAFolderStandBesideThoseOfTheModel() throws IOException {
        Files.write(folder.resolve("tokenizer.model"), join(pieces(), BPE, PLAIN));
        Set<Integer> own = Tokenizers.load(folder).specialIds().stops();
        assertTrue(!own.contains(4) && !own.contains(5), own + " end texts");
        Files.writeString(folder.resolve("config.json"), "{\"eos_token_id\": 5}");
        assertStops(own, 5);
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": null}");
        assertStops(own, 5);
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": [4]}");
        assertStops(own, 4);
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": [4, \"5\"]}");
        assertLoadFails("generation_config.json.eos_token_id: [4, 5]; expected ids");
        Files.writeString(folder.resolve("generation_config.json"), "{\"eos_token_id\": 90}");
        assertLoadFails("stops (eos_token_id): 90; expected 0 to 5");
    }

    private void assertStops(Set<Integer> own, int more) throws IOException {
        Set<Integer> expected = new HashSet<>(own);
        expected.add(more);
        assertEquals(expected, Tokenizers.load(folder).specialIds().stops());
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
        assertMessage("tokenizer.model.model_type" + value + "BPE (2)", join(pieces(), PLAIN));
        assertMessage("tokenizer.model.remove_extra_whitespaces" + value + "false", join(pieces(), BPE));
        assertMessage(
                "tokenizer.model.precompiled_charsmap" + value + "none",
                join(pieces(), BPE, message(3, bytes(2, new byte[] {1}))));
        assertMessage(
                "tokenizer.model: unused piece \"u\"; expected none", join(pieces(), piece("u", 0, 5), BPE, PLAIN));
        assertMessage(
                "tokenizer.model: user-defined \"  \"; expected none with a space",
                join(pieces(), piece("\u2581\u2581", 0, 4), BPE, PLAIN));
        assertMessage(
                "tokenizer.model.eos_id: 9; expected 0 to 5",
                join(pieces(), message(2, join(integer(3, 2), integer(42, 9))), PLAIN));
        byte[] whole = join(pieces(), BPE, PLAIN);
        for (int length = 1; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.ofSentencePieceModel(cut))
                    .getMessage();
            assertTrue(message.contains("; expected "), message);
        }
    }

    @Test
    void theModelOfAnotherKindIsNamed() throws IOException {
        byte[] file = Files.readAllBytes(SharedModels.file("sentencepiece/test_model.model"));
        String message = assertThrows(IllegalArgumentException.class, () -> Tokenizers.ofSentencePieceModel(file))
                .getMessage();
        assertEquals("tokenizer.model.model_type: another value; expected BPE (2)", message);
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
