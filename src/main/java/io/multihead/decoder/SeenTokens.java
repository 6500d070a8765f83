package io.multihead.decoder;

import java.util.BitSet;

/** The tokens of a text as penalties count them: the tokens that occur, and the tokens generated since the last prompt. */
final class SeenTokens {
    final TokenList tokens;
    /** The ids of the tokens in the text. */
    final BitSet all = new BitSet();

    int promptEnd;

    /** Creates counts for a list that has no tokens yet. */
    SeenTokens(TokenList tokens) {
        this.tokens = tokens;
    }

    void add(int id) {
        tokens.add(id);
        all.set(id);
    }

    /** Marks all tokens as a prompt. */
    void endPrompt() {
        promptEnd = tokens.size();
    }

    void truncate(int length) {
        tokens.truncate(length);
        promptEnd = Math.min(promptEnd, length);
        all.clear();
        for (int i = 0; i < length; i++) {
            all.set(tokens.get(i));
        }
    }
}
