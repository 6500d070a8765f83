package io.multihead.internal.text.unicode;

import java.text.Normalizer;

/** The composed form (NFC) of a part of a text, and the source of each of its characters in the text. */
public final class ComposedText {
    private static final int FIRST_VOWEL = 0x1160;
    private static final int LAST_TRAILING = 0x11ff;

    public final char[] text;
    /** For each character of the composed text: the beginning and the end of the characters that were composed together. */
    private final int[] starts;

    private final int[] ends;

    private ComposedText(char[] text) {
        this.text = text;
        starts = new int[text.length];
        ends = new int[text.length];
    }

    public static ComposedText of(char[] text, int from, int end) {
        String part = new String(text, from, end - from);
        String whole = Normalizer.normalize(part, Normalizer.Form.NFC);
        ComposedText composed = new ComposedText(whole.toCharArray());
        if (!composed.place(part, from)) {
            composed.set(0, composed.text.length, from, end);
        }
        return composed;
    }

    /**
     * Assigns each character of the composed text to a unit of the source: a character, with the marks and Hangul's vowels and trailing
     * consonants after it. Returns whether separate composition of the units gives the same text. Unicode has rare characters of other kinds
     * that compose.
     */
    private boolean place(String part, int from) {
        int size = 0;
        for (int at = 0; at < part.length(); ) {
            int next = at + Character.charCount(part.codePointAt(at));
            while (next < part.length() && follows(part.codePointAt(next))) {
                next += Character.charCount(part.codePointAt(next));
            }
            String each = Normalizer.normalize(part.substring(at, next), Normalizer.Form.NFC);
            for (int i = 0; i < each.length(); i++) {
                if (size + i >= text.length || text[size + i] != each.charAt(i)) {
                    return false;
                }
            }
            set(size, size + each.length(), from + at, from + next);
            size += each.length();
            at = next;
        }
        return size == text.length;
    }

    private static boolean follows(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.NON_SPACING_MARK, Character.ENCLOSING_MARK, Character.COMBINING_SPACING_MARK -> true;
            default -> codePoint >= FIRST_VOWEL && codePoint <= LAST_TRAILING;
        };
    }

    private void set(int first, int last, int start, int end) {
        for (int i = first; i < last; i++) {
            starts[i] = start;
            ends[i] = end;
        }
    }

    /** Returns the beginning of the source of a character. */
    public int start(int index) {
        return starts[index];
    }

    /** Returns the end of the source of a character. */
    public int end(int index) {
        return ends[index];
    }
}
