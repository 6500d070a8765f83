package io.multihead.text;

import io.multihead.internal.text.unicode.CharacterTable;
import io.multihead.internal.text.wordpiece.PieceTrie;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Tokens that are found in a text before the rest of the text is divided. The search goes from left to right, and takes the longest
 * token at each place. Immutable and thread-safe.
 */
final class AddedTokens {
    /**
     * A token and the conditions on its place, from {@code tokenizer.json}.
     *
     * @param text the text to find
     * @param id the token's id
     * @param singleWord whether the token is found only if neither a letter, a digit nor an underscore is adjacent
     * @param stripsLeft whether it includes the white space before it
     * @param stripsRight whether it includes the white space after it
     */
    record Token(String text, int id, boolean singleWord, boolean stripsLeft, boolean stripsRight) {}

    /** The forms of marks. In some files, marks of a chat such as Qwen's {@code <think>} have the type of ordinary text. */
    private static final Pattern MARK = Pattern.compile(
            "<[|\uff5c].*[|\uff5c]>|</?(think|tool_call|tool_response|tools|mask|unused\\d+|start_of_turn|end_of_turn)>|\\[/?INST\\]",
            Pattern.DOTALL);

    private static final int ZERO_WIDTH_NON_JOINER = 0x200c;
    private static final int ZERO_WIDTH_JOINER = 0x200d;

    private final List<Token> tokens = new ArrayList<>();
    private final PieceTrie trie = new PieceTrie();
    private final BitSet firstChars = new BitSet();
    /** By a token's number: whether any text may contain the token. Only a template may contain the other tokens. */
    private final BitSet inContent = new BitSet();

    AddedTokens(List<Token> all) {
        for (Token token : all) {
            if (!token.text.isEmpty()) {
                trie.add(PieceTrie.FIRST, token.text, tokens.size());
                tokens.add(token);
                firstChars.set(token.text.charAt(0));
            }
        }
    }

    /** Tokens that any text may contain: the user-defined ones, except tokens that look like marks. */
    static AddedTokens inText(Vocabulary vocabulary) {
        return new AddedTokens(plain(
                vocabulary, id -> vocabulary.type(id) == TokenType.USER_DEFINED && !isMark(vocabulary.token(id))));
    }

    /** Returns the tokens that any text may contain, marks of any type, control tokens and the unknown token. */
    static AddedTokens inSpecialText(Vocabulary vocabulary) {
        return new AddedTokens(plain(vocabulary, id -> switch (vocabulary.type(id)) {
            case USER_DEFINED, CONTROL, UNKNOWN -> true;
            case NORMAL, UNUSED -> isMark(vocabulary.token(id));
            case BYTE -> false;
        }));
    }

    private static List<Token> plain(Vocabulary vocabulary, IntPredicate which) {
        return IntStream.range(0, vocabulary.size())
                .filter(which)
                .mapToObj(id -> new Token(vocabulary.token(id), id, false, false, false))
                .toList();
    }

    /** Returns whether a token looks like a mark of a chat. */
    static boolean isMark(String token) {
        return (token.startsWith("<") || token.startsWith("["))
                && MARK.matcher(token).matches();
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

    /** Returns the end of the longest token that begins here, or {@code at}; the buffer has its number. */
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
            if (trie.id(node) >= 0 && mayBe(buffer, trie.id(node), at, i)) {
                buffer.match = trie.id(node);
                longest = i;
            }
        }
        return longest;
    }

    /** Returns whether a token may be at a place: in a prompt's content, only tokens that any text may contain. */
    private boolean mayBe(EncodeBuffer buffer, int number, int from, int end) {
        return buffer.prompt == null
                || inContent.get(number)
                || buffer.prompt.nextContent(from - EncodeBuffer.START) >= end - EncodeBuffer.START;
    }

    /** Returns these tokens, of which any text may contain the tokens that are also in {@code anyText}. */
    AddedTokens alsoIn(AddedTokens anyText) {
        AddedTokens all = new AddedTokens(tokens);
        BitSet ids = new BitSet();
        anyText.tokens.forEach(token -> ids.set(token.id));
        for (int number = 0; number < tokens.size(); number++) {
            all.inContent.set(number, ids.get(tokens.get(number).id));
        }
        return all;
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

    /** Returns whether a code point is in {@code \w} of Unicode Technical Standard 18, annex C, as in the crate. */
    static boolean isWord(int codePoint) {
        return Character.isAlphabetic(codePoint)
                || codePoint == ZERO_WIDTH_JOINER
                || codePoint == ZERO_WIDTH_NON_JOINER
                || switch (Character.getType(codePoint)) {
                    case Character.DECIMAL_DIGIT_NUMBER,
                            Character.CONNECTOR_PUNCTUATION,
                            Character.NON_SPACING_MARK,
                            Character.ENCLOSING_MARK,
                            Character.COMBINING_SPACING_MARK -> true;
                    default -> false;
                };
    }

    private static boolean isSpace(char c) {
        return CharacterTable.isSpace(c);
    }
}
