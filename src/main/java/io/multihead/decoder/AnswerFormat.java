package io.multihead.decoder;

import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import io.multihead.internal.base.Checks;
import io.multihead.internal.toolcall.AnswerReader;
import io.multihead.internal.toolcall.AnswerSink;
import io.multihead.internal.toolcall.Answers;
import io.multihead.internal.toolcall.MarkedAnswer;
import io.multihead.internal.toolcall.Thoughts;
import java.util.List;
import java.util.Optional;

/**
 * The format of a model's answer to one prompt: thoughts, text, and tool calls. {@link Session#answerFormat} returns the format after the
 * prompt was appended. Immutable and thread-safe.
 *
 * <pre>{@code
 * session.appendChat(ChatPrompt.of(messages).withTools(tools));
 * AnswerFormat format = session.answerFormat(tools);
 * ModelAnswer answer = format.parse(session.generate(format.options(options)).text());
 * }</pre>
 */
public final class AnswerFormat {
    private static final int ID_DIGITS = 5;
    private static final long IDS = 36L * 36 * 36 * 36 * 36;
    private static final int CALLS_OF_AN_ANSWER = 32;

    private final CallGrammars grammars;
    private final Optional<ToolCallFormat> calls;
    private final List<ToolDefinition> tools;
    private final String thoughtEnd;
    private final int promptTokens;

    private AnswerFormat(
            CallGrammars grammars,
            Optional<ToolCallFormat> calls,
            List<ToolDefinition> tools,
            String thoughtEnd,
            int promptTokens) {
        this.grammars = grammars;
        this.calls = calls;
        this.tools = tools;
        this.thoughtEnd = thoughtEnd;
        this.promptTokens = promptTokens;
    }

    /** Returns the format of answers to a prompt that ends with {@code promptEnd}. */
    static AnswerFormat of(CallGrammars grammars, List<ToolDefinition> tools, String promptEnd, int promptTokens) {
        List<ToolDefinition> all = Checks.noNulls(tools, "tools");
        Optional<ToolCallFormat> calls = grammars.format();
        if (!all.isEmpty() && calls.isEmpty()) {
            throw Checks.fail(
                    "chat_template",
                    "no known format of tool calls",
                    "expected no tools, or a template that writes calls as one of " + List.of(ToolCallFormat.values()));
        }
        return new AnswerFormat(grammars, calls, all, Thoughts.end(promptEnd), promptTokens);
    }

    /** {@return the format of calls; empty if there are no tools and the format of calls in the model's template is
     * unknown} */
    public Optional<ToolCallFormat> calls() {
        return calls;
    }

    /**
     * {@return options whose texts keep the marks that {@link #parse} needs}
     *
     * @param options any options
     */
    public GenerationOptions options(GenerationOptions options) {
        return Checks.notNull(options, "options").withControlTokens(true);
    }

    /**
     * {@return options with which the answer consists of one or more calls}. Each call names one of the tools and is valid against its
     * schema. An answer that {@link GenerationOptions#maxTokens()} truncates is incomplete. The answer has no thought before its calls,
     * unless the prompt began a thought.
     *
     * @param options any options; their constraint applies, too
     * @throws IllegalArgumentException if there are no tools, or a schema has a keyword that grammars do not support; the message names the
     *     place of the keyword
     */
    public GenerationOptions requiring(GenerationOptions options) {
        requireTools();
        return constrained(options, "", false);
    }

    /**
     * {@return options with which the answer may be any text up to the mark of a call}. After this mark, the answer consists of one or more
     * calls. Each call names one of the tools and is valid against its schema. Thoughts are not restricted.
     *
     * @param options any options; their constraint applies, too
     * @throws IllegalArgumentException if there are no tools, a schema has a keyword that grammars do not support, or calls have no mark,
     *     as in {@link ToolCallFormat#LLAMA_3} and {@link ToolCallFormat#HARMONY}
     */
    public GenerationOptions strict(GenerationOptions options) {
        requireTools();
        return constrained(options, "", true);
    }

    /**
     * {@return options with which the answer is JSON that conforms to a schema, or calls if there are tools}. A thought that the prompt
     * began comes first.
     *
     * @param options any options; their constraint applies, too
     * @param schema a JSON schema, as {@link Grammar#ofJsonSchema} takes it
     * @throws IllegalArgumentException if a schema has a keyword that grammars do not support; the message names the place of the keyword
     */
    public GenerationOptions json(GenerationOptions options, String schema) {
        return constrained(options, Checks.notNull(schema, "schema"), false);
    }

    private void requireTools() {
        if (tools.isEmpty()) {
            throw Checks.fail("tools", "none", "expected at least one tool to call");
        }
    }

    private GenerationOptions constrained(GenerationOptions options, String schema, boolean text) {
        GenerationOptions all = options(options);
        Grammar grammar = grammars.of(new CallGrammars.Key(calls, tools, thoughtEnd, schema, text));
        boolean free = all.constraint() == TokenConstraint.NONE;
        return all.withConstraint(free ? grammar : all.constraint().and(grammar));
    }

    /**
     * {@return a parser of one answer}
     *
     * @param listener receives the parts of the answer
     */
    public AnswerParser parser(AnswerListener listener) {
        return new AnswerParser(Checks.notNull(listener, "listener"), this::id, this::reader);
    }

    /**
     * Reads a whole answer.
     *
     * @param text the text of a generation with {@link #options} or {@link #requiring}
     * @return the parts of the answer; a malformed call is a part of the content
     */
    public ModelAnswer parse(String text) {
        AnswerParser parser = parser(AnswerListener.NONE);
        parser.add(text);
        return parser.end();
    }

    private AnswerReader reader(AnswerSink sink) {
        boolean hasCalls =
                calls.isPresent() && (!tools.isEmpty() || calls.get().syntax().hasMessages());
        return hasCalls
                ? Answers.reader(calls.get().syntax(), ToolCallFormat.tools(tools), thoughtEnd, sink)
                : new MarkedAnswer(null, List.of(), thoughtEnd, sink);
    }

    /**
     * Returns an id that is unique within a chat, because the prompts of a chat grow. The id has nine letters and digits, as Mistral's
     * templates require.
     */
    private String id(int index) {
        long number = ((long) promptTokens * CALLS_OF_AN_ANSWER + index) % IDS;
        String digits = Long.toString(number, Character.MAX_RADIX);
        return "call" + "0".repeat(ID_DIGITS - digits.length()) + digits;
    }
}
