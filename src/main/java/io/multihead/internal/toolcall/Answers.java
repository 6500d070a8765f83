package io.multihead.internal.toolcall;

import java.util.List;

/** Readers of answers. */
public final class Answers {
    private Answers() {}

    /**
     * Returns a reader of one answer.
     *
     * @param thoughtEnd the mark that ends a thought that the prompt began; empty for none
     */
    public static AnswerReader reader(CallSyntax syntax, List<Tool> tools, String thoughtEnd, AnswerSink sink) {
        return syntax.hasChannels() ? new HarmonyAnswer(sink) : new MarkedAnswer(syntax, tools, thoughtEnd, sink);
    }
}
