package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.toolcall.AnswerReader;
import io.multihead.internal.toolcall.AnswerSink;
import io.multihead.internal.toolcall.Call;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntFunction;

/**
 * Divides an answer that arrives in pieces into thoughts, text, and tool calls. Only white space around text and thoughts is lost. The
 * result does not depend on the pieces. Text that may be the beginning of a mark, such as {@code <tool_call>}, waits for the next
 * characters.
 *
 * <p>{@link AnswerFormat#parser} creates a parser for one answer. Not thread-safe.
 */
public final class AnswerParser {
    private final AnswerListener listener;
    private final IntFunction<String> ids;
    private final AnswerReader reader;
    private final StringBuilder reasoning = new StringBuilder();
    private final StringBuilder content = new StringBuilder();
    private final List<ToolCall> calls = new ArrayList<>();
    private Optional<String> problem = Optional.empty();
    private boolean ended;

    /** Begins an answer. {@code ids} returns the id for the number of a call, or an empty string for the id in the answer. */
    AnswerParser(AnswerListener listener, IntFunction<String> ids, Function<AnswerSink, AnswerReader> reader) {
        this.listener = listener;
        this.ids = ids;
        this.reader = reader.apply(new Parts());
    }

    /** Calls the listener, and keeps the parts. */
    private final class Parts implements AnswerSink {
        @Override
        public void text(String part) {
            content.append(part);
            listener.onText(part);
        }

        @Override
        public void reasoning(String part) {
            reasoning.append(part);
            listener.onReasoning(part);
        }

        @Override
        public void callPart(int index, String name, String arguments) {
            listener.onCallPart(index, ids.apply(index), name, arguments);
        }

        @Override
        public void call(int index, Call call) {
            String id = ids.apply(index);
            ToolCall made = new ToolCall(id.isEmpty() ? call.id() : id, call.name(), call.arguments());
            calls.add(made);
            listener.onCall(index, made);
        }

        @Override
        public void broken(String text, String why) {
            content.append(text);
            problem = problem.or(() -> Optional.of(why));
            listener.onBrokenCall(text, why);
        }
    }

    /**
     * Takes the next piece of the answer, and reports to the listener the parts that the piece completes.
     *
     * @param piece any number of characters, such as {@link GeneratedToken#text()}
     * @throws IllegalStateException if the answer was ended
     */
    public void add(String piece) {
        Checks.notNull(piece, "piece");
        requireOpen();
        reader.add(piece);
    }

    /**
     * Ends the answer, and reports the waiting text to the listener.
     *
     * @return the parts of the answer; an invalid call is a part of its content
     * @throws IllegalStateException if the answer was ended
     */
    public ModelAnswer end() {
        requireOpen();
        ended = true;
        reader.end();
        return new ModelAnswer(reasoning.toString(), content.toString(), calls);
    }

    /** Returns the reason why a part of the answer that began like a call is not a call; empty if there is no such part. */
    Optional<String> problem() {
        return problem;
    }

    private void requireOpen() {
        if (ended) {
            throw new IllegalStateException("answer: ended; expected a parser for each answer");
        }
    }
}
