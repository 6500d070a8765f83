package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.BitSet;
import java.util.List;

/** The type of a token, with its number in SentencePiece and GGUF. */
public enum TokenType {
    /** A part of a text. */
    NORMAL,
    /** Stands for text without a token. */
    UNKNOWN,
    /** A mark such as the end of a text. Text becomes such a token only if the caller allows it. */
    CONTROL,
    /** A part of a text that is found before the rest of the text is divided. */
    USER_DEFINED,
    /** A token that was never trained. */
    UNUSED,
    /** One byte of UTF-8, written {@code <0x41>}. */
    BYTE;

    /** Shared, because {@code values()} would copy the array for each token of a vocabulary. */
    private static final List<TokenType> ALL = List.of(values());

    /** Returns whether pieces of this type are never parts of a user's text. */
    boolean isReserved() {
        return this == CONTROL || this == UNKNOWN || this == BYTE;
    }

    /** Returns the ids whose types are reserved. */
    static BitSet reserved(List<TokenType> types) {
        BitSet reserved = new BitSet(types.size());
        for (int id = 0; id < types.size(); id++) {
            reserved.set(id, types.get(id).isReserved());
        }
        return reserved;
    }

    /**
     * {@return the type that has a number in files}
     *
     * @param number 1 to 6
     * @throws IllegalArgumentException if there is no such type
     */
    public static TokenType of(int number) {
        if (number < 1 || number > ALL.size()) {
            throw Checks.fail("number", Integer.toString(number), "expected 1 to " + ALL.size());
        }
        return ALL.get(number - 1);
    }
}
