package io.multihead.text;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The text of ids that arrive one by one, with a vocabulary of bytes only. */
class TextStreamTest {
    private static final Tokenizer BYTES = bytes();

    @Test
    void aCodePointComesWithItsLastByte() {
        TextStream stream = new TextStream(BYTES);
        List<String> parts = new ArrayList<>();
        for (int id : BYTES.encode("a\u00e9\ud83d\ude42b")) {
            parts.add(stream.append(id));
        }
        assertEquals(List.of("a", "", "\u00e9", "", "", "", "\ud83d\ude42", "b"), parts);
        assertEquals("", stream.end());
    }

    @Test
    void bytesThatAreNoTextBecomeReplacements() {
        TextStream stream = new TextStream(BYTES);
        assertEquals("", stream.append(0xe2));
        assertEquals("\ufffda", stream.append('a'));
        assertEquals("\ufffd", stream.append(0xff));
        assertEquals("", stream.append(0xf0) + stream.append(0x9f) + stream.append(256));
        assertEquals("\ufffd", stream.end());
        assertEquals("b", stream.append('b'), "of the next text");
        assertThrows(IllegalArgumentException.class, () -> stream.append(257));
    }

    @Test
    void allPartsTogetherAreTheDecodedText() {
        Random random = new Random(7);
        int[] likely = {'a', 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x99, 0x82, 0xed, 0xa0, 0x80, 0xc0, 0xff, 256};
        for (int run = 0; run < 5000; run++) {
            int[] ids = random.ints(random.nextInt(12), 0, likely.length)
                    .map(i -> likely[i])
                    .toArray();
            TextStream stream = new TextStream(BYTES);
            StringBuilder text = new StringBuilder();
            for (int id : ids) {
                text.append(stream.append(id));
            }
            assertEquals(BYTES.decode(ids), text + stream.end());
        }
    }

    /** Returns a tokenizer in which the id of a byte is its value, and 256 is a control token. */
    private static Tokenizer bytes() {
        List<String> tokens = new ArrayList<>();
        List<TokenType> types = new ArrayList<>();
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
            types.add(TokenType.BYTE);
        }
        tokens.add("<s>");
        types.add(TokenType.CONTROL);
        Vocabulary vocabulary = Vocabulary.of(tokens, types).withScores(new float[257]);
        return SentencePieceTokenizer.of(vocabulary, SpecialIds.ABSENT, SpacePrefix.NONE);
    }
}
