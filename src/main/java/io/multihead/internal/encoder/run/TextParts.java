package io.multihead.internal.encoder.run;

import java.util.ArrayList;
import java.util.List;

/** The sequences of a batch as parts of texts. An object is reused from batch to batch. Not thread-safe. */
public final class TextParts {
    private final List<Part> parts = new ArrayList<>();

    /** A part of a text. */
    public static final class Part {
        /** The number of tokens of the part itself. */
        public int tokens;
        /** The number of its first tokens that pooling ignores: the prompt and the token before it. */
        public int prompt;
        /** Whether it is the last part of its text. */
        public boolean isLast;

        public int textTokens;
        /** The number of its text's tokens that no part has, because the text is truncated. */
        public int ignored;
    }

    /** Returns the part for a sequence of the batch. */
    public Part get(int sequence) {
        while (sequence >= parts.size()) {
            parts.add(new Part());
        }
        return parts.get(sequence);
    }
}
