package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.format.Gguf;
import io.multihead.format.GgufWriter;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pieces are learned from text and written to files. */
class BytePairsTest {
    @TempDir
    private Path folder;

    @Test
    void theMostFrequentPairIsMergedFirst() {
        // "ab" occurs 4 times, "abc" then 3 times, and " abc" twice; pairs are within a word
        BytePairs pairs = BytePairs.learn("abc abc abc abd", 1000);
        assertEquals(List.of("ab", "abc", "\u0120abc"), pairs.learned());
        assertEquals(260, pairs.vocabulary());
        assertArrayEquals(
                new int[] {258, 259, 259, 32, 257, 'd'}, pairs.tokenizer().encode("abc abc abc abd"));
    }

    @Test
    void aPairIsMergedFromTheLeftWhereverItIs() {
        BytePairs pairs = BytePairs.learn("aaaaa", 258);
        assertEquals(List.of("aa"), pairs.learned());
        assertArrayEquals(new int[] {257, 257, 'a'}, pairs.tokenizer().encode("aaaaa"));
    }

    @Test
    void learningStopsAtTheNumberOfTokens() {
        String text = "The Lion and the Fox. The Fox and the Lion's cubs, and 12 crows!\n\nThe end.";
        BytePairs pairs = BytePairs.learn(text, 270);
        assertEquals(270, pairs.vocabulary());
        Tokenizer tokenizer = pairs.tokenizer();
        int[] ids = tokenizer.encode(text);
        assertTrue(ids.length < text.length() * 3 / 4, ids.length + " tokens");
        assertEquals(text, tokenizer.decode(ids));
        String other = "Füchse \u4e16\u754c \ud83e\udd8a <|endoftext|>";
        assertEquals(other, tokenizer.decode(tokenizer.encode(other)));
        assertTrue(tokenizer.isStopToken(256));
    }

    /** Members have a fixed order, which does not depend on the hash codes of a JVM. */
    @Test
    void filesHaveTheSameBytesInEveryJvm() throws IOException {
        BytePairs.learn("aaaaa", 258).writeTo(folder);
        String json = Files.readString(folder.resolve("tokenizer.json"));
        String bytes = "{\"add_prefix_space\":false,\"type\":\"ByteLevel\",\"use_regex\":true}";
        assertTrue(
                json.startsWith("{\"version\":\"1.0\",\"added_tokens\":[{\"content\":\"<|endoftext|>\",\"id\":256,"
                        + "\"normalized\":false,\"special\":true}],\"pre_tokenizer\":" + bytes + ",\"decoder\":" + bytes
                        + ",\"model\":{\"merges\":[\"a a\"],\"type\":\"BPE\",\"vocab\":{"),
                json);
        assertEquals(
                "{\"eos_token\":\"<|endoftext|>\",\"tokenizer_class\":\"PreTrainedTokenizerFast\"}",
                Files.readString(folder.resolve("tokenizer_config.json")));
    }

    @Test
    void aFolderAndAFileHaveTheSameTokens() throws IOException {
        String text = "The Lion and the Fox. The Fox and the Lion's cubs, and 12 crows!\n\nThe end.";
        BytePairs pairs = BytePairs.learn(text, 270);
        pairs.writeTo(folder.resolve("new"));
        Tokenizer ofFolder = Tokenizers.load(folder.resolve("new"));
        Path file = folder.resolve("tokenizer.gguf");
        pairs.putTo(new GgufWriter()).write(file);
        try (Arena arena = Arena.ofConfined()) {
            Tokenizer ofFile = Tokenizers.of(Gguf.map(arena, file));
            for (String some : List.of(text, "F\u00fcchse \ud83e\udd8a  3 Lions' ", "", "a\n\n\tb<|endoftext|>")) {
                int[] ids = pairs.tokenizer().encode(some);
                assertArrayEquals(ids, ofFolder.encode(some), some);
                assertArrayEquals(ids, ofFile.encode(some), some);
                assertEquals(some, ofFolder.decode(ids));
            }
            assertTrue(ofFolder.isStopToken(256) && ofFile.isStopToken(256));
            assertEquals(256, ofFolder.specialIds().end());
        }
        assertEquals(
                "vocabulary: 256; expected at least 257",
                assertThrows(IllegalArgumentException.class, () -> BytePairs.learn(text, 256))
                        .getMessage());
    }

    @Test
    void bytesAreWrittenAsVocabulariesDo() {
        assertEquals("!", BytePairs.character('!'));
        assertEquals("\u0120", BytePairs.character(' '));
        assertEquals("\u010a", BytePairs.character('\n'));
        assertEquals("\u0100", BytePairs.character(0));
        assertEquals("\u0143", BytePairs.character(0xad));
        assertEquals("\u00ff", BytePairs.character(0xff));
    }
}
