package io.multihead.internal.toolcall;

import java.util.List;

/** Marks around a model's reasoning before its answer. */
public final class Thoughts {
    /** Marks with which thoughts begin and end. */
    record Marks(String begin, String end) {}

    static final List<Marks> ALL = List.of(
            new Marks("<think>", "</think>"),
            new Marks("[THINK]", "[/THINK]"),
            new Marks("<|channel>thought", "<channel|>"),
            new Marks("<|START_THINKING|>", "<|END_THINKING|>"));

    private Thoughts() {}

    /** Returns the mark that ends the thought that the end of a prompt begins; empty if the prompt begins no thought. */
    public static String end(String prompt) {
        return ALL.stream()
                .filter(marks -> prompt.stripTrailing().endsWith(marks.begin()))
                .map(Marks::end)
                .findFirst()
                .orElse("");
    }

    /** Returns the mark that ends a thought which a whole answer contains but does not begin; empty if there is none. */
    public static String missingBegin(String answer) {
        return ALL.stream()
                .filter(marks -> answer.contains(marks.end()) && !answer.strip().startsWith(marks.begin()))
                .map(Marks::end)
                .findFirst()
                .orElse("");
    }
}
