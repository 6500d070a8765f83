package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.text.SentencePieceTokenizer;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import io.multihead.text.TokenType;
import io.multihead.text.Tokenizer;
import io.multihead.text.Vocabulary;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A token belongs to the chunk that has its last byte. */
class ChunkBordersTest {
    /** Returns a tokenizer with tokens for two letters, alone, together and after a space. Other characters are tokenized as bytes. */
    private static Tokenizer tokenizer(SpacePrefix prefix) {
        List<String> tokens = new ArrayList<>(List.of("\u2581", "a", "b", "\u2581a", "ab", "\u2581ab"));
        List<TokenType> types = new ArrayList<>();
        tokens.forEach(token -> types.add(TokenType.NORMAL));
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
            types.add(TokenType.BYTE);
        }
        int none = SpecialIds.NONE;
        return SentencePieceTokenizer.of(
                Vocabulary.of(tokens, types).withScores(new float[tokens.size()]),
                new SpecialIds(none, none, none, none, Set.of(), AddedSpecialTokens.NEITHER),
                prefix);
    }

    private static int[] borders(SpacePrefix prefix, String prompt, String... chunks) {
        return new ChunkBorders(tokenizer(prefix), prompt, List.of(chunks)).find();
    }

    @Test
    void spacesBelongToTheWordsBehindThem() {
        assertArrayEquals(new int[] {0, 1, 2}, borders(SpacePrefix.ALWAYS, "", "ab", " ab"));
        assertArrayEquals(new int[] {0, 1, 2}, borders(SpacePrefix.ALWAYS, "", "ab ", "ab"));
        assertArrayEquals(new int[] {0, 1, 2}, borders(SpacePrefix.NONE, "", "ab ", "ab"));
        assertArrayEquals(new int[] {0, 2, 3}, borders(SpacePrefix.ALWAYS, "", " ab", " a"));
        assertArrayEquals(new int[] {1, 2, 3}, borders(SpacePrefix.ALWAYS, "ab", " ab", " a"));
        // the first character has three bytes, the second has two
        assertArrayEquals(new int[] {0, 3, 5}, borders(SpacePrefix.NONE, "", "\u20ac", "\u00e4"));
    }

    @Test
    void aPartWithoutATokenOfItsOwnIsNamed() {
        for (String[] chunks : List.of(new String[] {"b", "", "b"}, new String[] {"b", "a", "b"})) {
            String message = assertThrows(IllegalArgumentException.class, () -> borders(SpacePrefix.NONE, "", chunks))
                    .getMessage();
            assertEquals("chunks[1]: no token; expected at least one token for each chunk", message);
        }
    }

    @Test
    void aPartThatEndsWithinACharacterIsNamed() {
        String both = "\ud83d\ude00";
        assertArrayEquals(new int[] {0, 5, 6}, borders(SpacePrefix.NONE, "", "a" + both, "b"));
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> borders(SpacePrefix.NONE, "", "a" + both.charAt(0), both.charAt(1) + "b", "ab"))
                .getMessage();
        assertEquals("chunks[0]: the first half of a character; expected whole ones", message);
    }

    /** The text between two borders ends at the end of its chunk, or within the token that crosses this end. */
    @Test
    void randomTextsAreDividedByTheirLastBytes() {
        Random random = new Random(5);
        for (int i = 0; i < 300; i++) {
            Tokenizer tokenizer = tokenizer(random.nextBoolean() ? SpacePrefix.ALWAYS : SpacePrefix.NONE);
            List<String> chunks = new ArrayList<>();
            for (int chunk = 0; chunk < 1 + random.nextInt(4); chunk++) {
                StringBuilder text = new StringBuilder();
                for (int letter = 0; letter < 3 + random.nextInt(5); letter++) {
                    text.append("ab  \u00e4\u20acx".charAt(random.nextInt(7)));
                }
                chunks.add(text.toString());
            }
            ChunkBorders found = new ChunkBorders(tokenizer, "", chunks);
            int[] borders = found.find();
            assertEquals(0, borders[0]);
            assertEquals(found.ids.length, borders[chunks.size()]);
            String text = String.join("", chunks);
            int bytes = 0;
            int all = text.getBytes(StandardCharsets.UTF_8).length;
            int added = -all;
            for (int id : found.ids) {
                added += tokenizer.pieceBytes(id).length;
            }
            int token = 0;
            int end = added;
            for (int chunk = 0; chunk < chunks.size(); chunk++) {
                end += chunks.get(chunk).getBytes(StandardCharsets.UTF_8).length;
                while (token < found.ids.length && bytes + tokenizer.pieceBytes(found.ids[token]).length <= end) {
                    bytes += tokenizer.pieceBytes(found.ids[token]).length;
                    token++;
                }
                assertEquals(token, borders[chunk + 1]);
            }
        }
    }
}
