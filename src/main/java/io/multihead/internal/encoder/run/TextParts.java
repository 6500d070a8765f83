package io.multihead.internal.encoder.run;

import java.util.ArrayList;
import java.util.List;

/** The sequences of a batch as parts of texts. Reused from batch to batch; for one caller at a time. */
public final class TextParts {
    private final List<Part> parts = new ArrayList<>();

    /** A part of a text. */
    public static final class Part {
        /** Its own tokens. */
        public int tokens;
        /** The first of them that pooling ignores, those of the prompt and the one before them. */
        public int prompt;
        /** Whether it is the last part of its text. */
        public boolean isLast;

        public int textTokens;
        /** The tokens of its text that no part has, as the text is truncated. */
        public int ignored;
    }

    /** Returns the part that a sequence of the batch is, or is to become. */
    public Part get(int sequence) {
        while (sequence >= parts.size()) {
            parts.add(new Part());
        }
        return parts.get(sequence);
    }
}
