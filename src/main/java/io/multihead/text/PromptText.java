package io.multihead.text;

import io.multihead.internal.base.Checks;
import java.util.BitSet;
import java.util.Objects;

/**
 * A text whose characters are marked as template or content. Template is text of the program, such as {@code <|im_start|>user}. Content is text of
 * users, tools and models. {@link Tokenizer#encode(PromptText)} makes control tokens only from template characters.
 *
 * <pre>{@code
 * PromptText prompt = PromptText.template("<|im_start|>user\n")
 *         .plus(PromptText.content(question))
 *         .plus(PromptText.template("<|im_end|>\n<|im_start|>assistant\n"));
 * }</pre>
 *
 * <p>Indices count {@code char}s. Two objects are equal if their characters and the marks of the characters are equal.
 * Immutable and thread-safe.
 */
public final class PromptText {
    private static final PromptText EMPTY = new PromptText("", new BitSet());

    private final String text;
    /** By index: whether the character is content. */
    private final BitSet content;

    private PromptText(String text, BitSet content) {
        this.text = text;
        this.content = content;
    }

    /**
     * {@return a text of a template, in which control tokens are found}
     *
     * @param text any text of the program
     */
    public static PromptText template(String text) {
        return Checks.notNull(text, "text").isEmpty() ? EMPTY : new PromptText(text, new BitSet());
    }

    /**
     * {@return a text of a user, a tool or a model, in which nothing is a control token}
     *
     * @param text any text
     */
    public static PromptText content(String text) {
        if (Checks.notNull(text, "text").isEmpty()) {
            return EMPTY;
        }
        BitSet all = new BitSet(text.length());
        all.set(0, text.length());
        return new PromptText(text, all);
    }

    /**
     * {@return this text and another one after it}
     *
     * @param more the text to append
     */
    public PromptText plus(PromptText more) {
        return Checks.notNull(more, "more").text.isEmpty()
                ? this
                : new Builder().append(this).append(more).build();
    }

    /**
     * {@return a part of this text}
     *
     * @param from index of its first character
     * @param to index after its last character
     */
    public PromptText substring(int from, int to) {
        Objects.checkFromToIndex(from, to, text.length());
        if (from == 0 && to == text.length()) {
            return this;
        }
        return from == to ? EMPTY : new PromptText(text.substring(from, to), content.get(from, to));
    }

    /** {@return the number of characters} */
    public int length() {
        return text.length();
    }

    /**
     * {@return whether a character is content}
     *
     * @param index from 0 to {@code length() - 1}
     */
    public boolean isContent(int index) {
        return content.get(Objects.checkIndex(index, text.length()));
    }

    /** Returns the first index from {@code from} on whose character is content, or the length. */
    int nextContent(int from) {
        int next = content.nextSetBit(from);
        return next < 0 ? text.length() : next;
    }

    /** {@return the characters} */
    @Override
    public String toString() {
        return text;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PromptText prompt && prompt.text.equals(text) && prompt.content.equals(content);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** Concatenates texts. Not thread-safe. */
    public static final class Builder {
        private final StringBuilder text = new StringBuilder();
        private final BitSet content = new BitSet();

        /** Begins an empty text. */
        public Builder() {}

        /**
         * {@return this builder, after adding a text}
         *
         * @param more the text
         */
        public Builder append(PromptText more) {
            int at = text.length();
            text.append(Checks.notNull(more, "more").text);
            for (int from = more.content.nextSetBit(0); from >= 0; ) {
                int to = more.content.nextClearBit(from);
                content.set(at + from, at + to);
                from = more.content.nextSetBit(to);
            }
            return this;
        }

        /**
         * {@return this builder, after adding a text}
         *
         * @param more the text
         * @param isContent whether it is content; otherwise it is template
         */
        public Builder append(String more, boolean isContent) {
            int at = text.length();
            text.append(Checks.notNull(more, "more"));
            content.set(at, text.length(), isContent);
            return this;
        }

        /** {@return the number of characters so far} */
        public int length() {
            return text.length();
        }

        /** {@return the text; the builder may be used further} */
        public PromptText build() {
            return text.isEmpty() ? EMPTY : new PromptText(text.toString(), (BitSet) content.clone());
        }
    }
}
