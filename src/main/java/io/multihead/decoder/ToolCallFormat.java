package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.toolcall.Answers;
import io.multihead.internal.toolcall.CallSyntax;
import io.multihead.internal.toolcall.GemmaCalls;
import io.multihead.internal.toolcall.HarmonyCalls;
import io.multihead.internal.toolcall.HermesCalls;
import io.multihead.internal.toolcall.ListCalls;
import io.multihead.internal.toolcall.LlamaCalls;
import io.multihead.internal.toolcall.MarkedAnswer;
import io.multihead.internal.toolcall.NamedCalls;
import io.multihead.internal.toolcall.Tool;
import io.multihead.internal.toolcall.XmlCalls;
import io.multihead.text.PromptText;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** How a family of models writes calls of tools in an answer. */
public enum ToolCallFormat {
    /** {@code <tool_call>{"name": ..., "arguments": {...}}</tool_call>}: Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4. */
    HERMES(new HermesCalls()),
    /** {@code <tool_call><function=name><parameter=key>value</parameter></function></tool_call>}: Qwen3-Coder, Qwen 3.5. */
    QWEN_3_CODER(new XmlCalls()),
    /** <code>{"name": ..., "parameters": {...}}</code> and nothing else, or several with semicolons between: Llama 3.1 to 3.3. */
    LLAMA_3(new LlamaCalls()),
    /** A list of <code>{"name": ..., "arguments": {...}}</code>, after the control token {@code [TOOL_CALLS]}: Mistral until 2024. */
    MISTRAL(ListCalls.mistral()),
    /** <code>[TOOL_CALLS]name[ARGS]{...}</code>: Mistral since 2025. */
    MISTRAL_ARGS(new NamedCalls()),
    /** Such a list between {@code <|tool_call|>} and {@code <|/tool_call|>}, or after {@code functools}: Phi-4-mini. */
    PHI_4_MINI(ListCalls.phi()),
    /** <code>&lt;start_function_call&gt;call:name{key:&lt;escape&gt;text&lt;escape&gt;}&lt;end_function_call&gt;</code>: FunctionGemma. */
    FUNCTION_GEMMA(new GemmaCalls()),
    /** Messages on channels, {@code commentary to=functions.name}: GPT-OSS (harmony). */
    HARMONY(new HarmonyCalls());

    private static final String NAME = "probed_name";

    private final CallSyntax syntax;

    ToolCallFormat(CallSyntax syntax) {
        this.syntax = syntax;
    }

    CallSyntax syntax() {
        return syntax;
    }

    static List<Tool> tools(List<ToolDefinition> tools) {
        return tools.stream()
                .map(tool -> new Tool(tool.name(), tool.parameters()))
                .toList();
    }

    /**
     * Finds the format of a template's models, by a chat with a call that the template writes.
     *
     * @param template of the model's file
     * @return the format, or empty where the template writes no calls, or others
     */
    public static Optional<ToolCallFormat> of(ChatTemplate template) {
        ToolCall call = new ToolCall("callprobe", NAME, "{\"key\": \"value\"}");
        ChatPrompt chat = ChatPrompt.of(List.of(
                ChatMessage.user("Question"),
                ChatMessage.assistant("", List.of(call)),
                ChatMessage.tool(call, "Result")));
        String text;
        try {
            // templates put these before texts, and know them from their models
            PromptText token = PromptText.template("<token>");
            ChatPrompt named = chat.withDefaults(
                    Map.of("bos_token", token, "eos_token", token, "unk_token", token, "pad_token", token));
            text = Checks.notNull(template, "template").render(named).toString();
        } catch (IllegalArgumentException refused) {
            return Optional.empty();
        }
        for (ToolCallFormat format : values()) {
            if (format.syntax.written().matcher(text).find()) {
                return Optional.of(format);
            }
        }
        return Optional.empty();
    }

    /**
     * Divides an answer into thoughts, text, and tool calls. {@link Session#answerFormat} reads answers with the schemas of their tools,
     * while they are generated.
     *
     * @param text the whole answer, as {@link GeneratedText#text()} has it
     * @return its parts
     * @throws IllegalArgumentException if a call begins and is none: it is cut, or no JSON with a name and arguments. An answer in
     *     {@link #LLAMA_3}, and one in {@link #MISTRAL} without its control token, is content then, as nothing else marks its calls
     */
    public ModelAnswer parse(String text) {
        String thoughtEnd = MarkedAnswer.missingBegin(Checks.notNull(text, "text"));
        AnswerParser parser = new AnswerParser(
                AnswerListener.NONE, index -> "", sink -> Answers.reader(syntax, List.of(), thoughtEnd, sink));
        parser.add(text);
        ModelAnswer answer = parser.end();
        parser.problem().ifPresent(problem -> {
            throw new IllegalArgumentException(problem);
        });
        return new ModelAnswer(answer.reasoning(), answer.content().strip(), answer.toolCalls());
    }
}
