package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import io.multihead.text.TokenType;
import io.multihead.text.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * The tokens of a tokenizer by their bytes, for filters. A vocabulary is made once for a tokenizer. For 150,000 tokens, this takes a few
 * tenths of a second and about 12 MB. Immutable and thread-safe.
 */
public final class TokenVocabulary {
    /** The largest number of characters with a separate mask of tokens. */
    static final int MOST_COUNTED = 16;

    private static final int FIRST_PLAIN = ' ';

    private final Tokenizer tokenizer;
    private final byte[][] bytes;
    private final TokenTrie all;
    /** The tokens that are not plain text of at most {@link #MOST_COUNTED} characters. */
    private final TokenTrie others;
    /** The masks of the plain tokens with at most a number of characters, by this number. The last mask has plain tokens of any length. */
    private final TokenMask[] plain = new TokenMask[MOST_COUNTED + 2];

    /**
     * Reads the tokens.
     *
     * @param tokenizer the model's tokenizer
     */
    public TokenVocabulary(Tokenizer tokenizer) {
        this.tokenizer = Checks.notNull(tokenizer, "tokenizer");
        int size = tokenizer.vocabularySize();
        bytes = new byte[size][];
        boolean takesSpaces = takesSpaces(tokenizer);
        for (int id = 0; id < size; id++) {
            boolean left = tokenizer.isControl(id)
                    || tokenizer.isStopToken(id)
                    || takesSpaces && tokenizer.type(id) == TokenType.USER_DEFINED;
            bytes[id] = left ? new byte[0] : tokenizer.pieceBytes(id);
        }
        int[] order = IntStream.range(0, size)
                .filter(id -> bytes[id].length > 0)
                .boxed()
                .sorted((a, b) -> Arrays.compareUnsigned(bytes[a], bytes[b]))
                .mapToInt(id -> id)
                .toArray();
        int[] characters = new int[size];
        for (int id : order) {
            characters[id] = plainCharacters(bytes[id]);
        }
        all = new TokenTrie(bytes, order);
        others = new TokenTrie(
                bytes,
                Arrays.stream(order)
                        .filter(id -> characters[id] == 0 || characters[id] > MOST_COUNTED)
                        .toArray());
        for (int most = 0; most < plain.length; most++) {
            plain[most] = new TokenMask(size);
            plain[most].forbidAll();
            for (int id : order) {
                boolean fits = characters[id] <= most || most > MOST_COUNTED;
                if (characters[id] > 0 && fits) {
                    plain[most].allow(id);
                }
            }
        }
    }

    /** Returns whether decoding removes the space at the beginning of a token after a user-defined token. */
    private static boolean takesSpaces(Tokenizer tokenizer) {
        int user = -1;
        int spaced = -1;
        for (int id = 0; id < tokenizer.vocabularySize() && (user < 0 || spaced < 0); id++) {
            if (tokenizer.type(id) == TokenType.USER_DEFINED) {
                user = id;
            } else if (!tokenizer.isControl(id)) {
                byte[] piece = tokenizer.pieceBytes(id);
                spaced = piece.length > 1 && piece[0] == ' ' ? id : spaced;
            }
        }
        if (user < 0 || spaced < 0) {
            return false;
        }
        int apart = tokenizer.decode(user).length()
                + tokenizer.decode(user, user, spaced).length();
        int length = tokenizer.decode(user, user).length()
                + tokenizer.decode(user, spaced).length();
        int whole = tokenizer.decode(spaced, spaced).length()
                - tokenizer.decode(spaced).length();
        int added =
                tokenizer.decode(user, spaced).length() - tokenizer.decode(user).length();
        return apart != length || added != whole;
    }

    /**
     * Returns the number of characters of a token that is complete UTF-8 without quotes, backslashes and control characters; otherwise 0.
     */
    private static int plainCharacters(byte[] piece) {
        String text = new String(piece, StandardCharsets.UTF_8);
        boolean whole = Arrays.equals(text.getBytes(StandardCharsets.UTF_8), piece);
        boolean same = text.chars().allMatch(c -> c >= FIRST_PLAIN && c != '"' && c != '\\');
        return whole && same ? text.codePointCount(0, text.length()) : 0;
    }

    /** {@return the tokenizer of the tokens} */
    public Tokenizer tokenizer() {
        return tokenizer;
    }

    /** {@return the number of tokens; one more than the largest id} */
    public int size() {
        return bytes.length;
    }

    /** Returns the bytes that a token adds to a text; empty for a token that is not text. The caller must not change the array. */
    byte[] bytes(int id) {
        return bytes[id];
    }

    /**
     * Returns the id of the token with a name, if the token adds no bytes to a text and does not end the text; otherwise a number less than
     * 0.
     */
    int controlToken(String name) {
        int id = tokenizer.find(name);
        return id >= 0 && bytes[id].length == 0 && !tokenizer.isStopToken(id) ? id : -1;
    }

    TokenTrie all() {
        return all;
    }

    TokenTrie others() {
        return others;
    }

    /** Returns the plain tokens of at most {@code most} characters; with {@link Machine#ANY_LENGTH} all plain tokens. */
    TokenMask plain(int most) {
        return plain[most == Machine.ANY_LENGTH ? MOST_COUNTED + 1 : Math.min(most, MOST_COUNTED)];
    }
}
