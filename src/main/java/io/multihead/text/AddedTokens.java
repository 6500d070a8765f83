package io.multihead.text;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Tokens that are found in a text before the rest of it is divided: at each place the longest one, from left to right. Immutable and
 * thread-safe.
 */
final class AddedTokens {
    /**
     * A token and where it counts, as {@code tokenizer.json} says.
     *
     * @param text what is found
     * @param id the token's id
     * @param singleWord only where neither a letter, a digit nor an underscore touches it
     * @param stripsLeft with the white space before it
     * @param stripsRight with the white space after it
     */
    record Token(String text, int id, boolean singleWord, boolean stripsLeft, boolean stripsRight) {
        static Token plain(String text, int id) {
            return new Token(text, id, false, false, false);
        }
    }

    private final List<Token> tokens = new ArrayList<>();
    private final PieceTrie trie = new PieceTrie();
    private final BitSet firstChars = new BitSet();

    AddedTokens(List<Token> all) {
        for (Token token : all) {
            if (!token.text.isEmpty()) {
                trie.add(PieceTrie.FIRST, token.text, tokens.size());
                tokens.add(token);
                firstChars.set(token.text.charAt(0));
            }
        }
    }

    /** Finds the first token from a place on, and returns whether there is one; the buffer then has its id and place. */
    boolean find(EncodeBuffer buffer, int from) {
        if (tokens.isEmpty()) {
            return false;
        }
        for (int at = from; at < buffer.end; ) {
            int end = firstChars.get(buffer.text[at]) ? match(buffer, at) : at;
            if (end > at && isFound(buffer, from, at, end)) {
                return true;
            }
            at = Math.max(end, at + 1);
        }
        return false;
    }

    /** Returns where the longest token that begins here ends, or {@code at}; the buffer has its number. */
    private int match(EncodeBuffer buffer, int at) {
        int longest = at;
        int node = PieceTrie.FIRST;
        for (int i = at; i < buffer.end; ) {
            int codePoint = Character.codePointAt(buffer.text, i, buffer.end);
            node = trie.child(node, codePoint);
            if (node < 0) {
                break;
            }
            i += Character.charCount(codePoint);
            if (trie.id(node) >= 0) {
                buffer.match = trie.id(node);
                longest = i;
            }
        }
        return longest;
    }

    private boolean isFound(EncodeBuffer buffer, int from, int start, int end) {
        Token token = tokens.get(buffer.match);
        char[] text = buffer.text;
        if (token.singleWord
                && (start > EncodeBuffer.START && isWord(Character.codePointBefore(text, start, EncodeBuffer.START))
                        || end < buffer.end && isWord(Character.codePointAt(text, end, buffer.end)))) {
            return false;
        }
        buffer.match = token.id;
        buffer.matchStart = start;
        while (token.stripsLeft && buffer.matchStart > from && isSpace(text[buffer.matchStart - 1])) {
            buffer.matchStart--;
        }
        buffer.matchEnd = end;
        while (token.stripsRight && buffer.matchEnd < buffer.end && isSpace(text[buffer.matchEnd])) {
            buffer.matchEnd++;
        }
        return true;
    }

    private static boolean isWord(int codePoint) {
        return Character.isLetterOrDigit(codePoint)
                || Character.getType(codePoint) == Character.CONNECTOR_PUNCTUATION
                || Character.getType(codePoint) == Character.NON_SPACING_MARK
                || Character.getType(codePoint) == Character.ENCLOSING_MARK
                || Character.getType(codePoint) == Character.COMBINING_SPACING_MARK;
    }

    private static boolean isSpace(char c) {
        return CharacterTable.isSpace(c);
    }
}
