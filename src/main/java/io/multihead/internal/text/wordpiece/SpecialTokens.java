package io.multihead.internal.text.wordpiece;

import io.multihead.internal.base.Checks;
import java.util.BitSet;
import java.util.Map;

/** Tokens such as {@code [MASK]}, found in the unchanged text. Immutable and thread-safe. */
public final class SpecialTokens {
    /** The texts of the tokens, the longest first, so that the first match is the correct one. */
    private final String[] texts;

    private final int[] ids;
    private final BitSet firstChars = new BitSet();
    private final BitSet all = new BitSet();

    public SpecialTokens(Map<String, Integer> tokens) {
        texts = tokens.keySet().stream()
                .filter(text -> !text.isEmpty())
                .sorted((a, b) -> b.length() - a.length())
                .toArray(String[]::new);
        ids = new int[texts.length];
        for (int i = 0; i < texts.length; i++) {
            ids[i] = Checks.notNull(tokens.get(texts[i]), "id");
            all.set(ids[i]);
            firstChars.set(texts[i].charAt(0));
        }
    }

    /** Returns the token that begins at a {@code char} of the text, or -1. */
    public int match(String text, int at) {
        if (firstChars.get(text.charAt(at))) {
            for (int i = 0; i < texts.length; i++) {
                if (text.startsWith(texts[i], at)) {
                    return i;
                }
            }
        }
        return -1;
    }

    public int id(int token) {
        return ids[token];
    }

    /** Returns whether an id belongs to one of these tokens. */
    public boolean has(int id) {
        return all.get(id);
    }

    public int length(int token) {
        return texts[token].length();
    }
}
