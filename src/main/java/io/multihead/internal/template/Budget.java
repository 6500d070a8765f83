package io.multihead.internal.template;

import io.multihead.text.PromptText;

/** The limits of one rendering. */
final class Budget {
    private static final int MOST_STEPS = 10_000_000;
    private static final int DEEPEST = 500;
    private static final int CHARACTERS_PER_STEP = 16;
    private static final int LONGEST = 1 << 24;

    private long steps;
    private int depth;

    /** Counts steps, before their results are made. */
    void take(long count) {
        steps = Math.addExact(steps, count);
        if (steps > MOST_STEPS) {
            throw new Fault("more than " + MOST_STEPS + " steps; expected a template that ends sooner");
        }
    }

    /** Counts a text that was made from other texts. */
    PromptText made(PromptText text) {
        takeCharacters(text.length());
        return text;
    }

    /** Counts characters, before they are made. */
    void takeCharacters(long characters) {
        requireLength(characters);
        take(1 + characters / CHARACTERS_PER_STEP);
    }

    /** Fails if a text would be too long. */
    void requireLength(long characters) {
        if (characters > LONGEST) {
            throw new Fault("a text of more than " + LONGEST + " characters");
        }
    }

    void enter() {
        take(1);
        if (++depth > DEEPEST) {
            throw new Fault("nested deeper than " + DEEPEST + "; expected a template without endless recursion");
        }
    }

    void leave() {
        depth--;
    }
}
