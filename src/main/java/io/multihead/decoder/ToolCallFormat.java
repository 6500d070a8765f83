package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.toolcall.Answers;
import io.multihead.internal.toolcall.Call;
import io.multihead.internal.toolcall.CallSyntax;
import io.multihead.internal.toolcall.CommandCalls;
import io.multihead.internal.toolcall.DeepSeekCalls;
import io.multihead.internal.toolcall.GemmaCalls;
import io.multihead.internal.toolcall.HarmonyCalls;
import io.multihead.internal.toolcall.HermesCalls;
import io.multihead.internal.toolcall.LfmCalls;
import io.multihead.internal.toolcall.ListCalls;
import io.multihead.internal.toolcall.LlamaCalls;
import io.multihead.internal.toolcall.NamedCalls;
import io.multihead.internal.toolcall.Thoughts;
import io.multihead.internal.toolcall.Tool;
import io.multihead.internal.toolcall.XmlCalls;
import io.multihead.text.PromptText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;

/** The format in which a family of models writes calls of tools in an answer. */
public enum ToolCallFormat {
    /** {@code <tool_call>{"name": ..., "arguments": {...}}</tool_call>}: Hermes, Qwen 2.5 and 3, SmolLM3, Granite 4, RNJ-1. */
    HERMES(HermesCalls.hermes()),
    /** {@code <tool_call><function=name><parameter=key>value</parameter></function></tool_call>}: Qwen3-Coder, Qwen 3.5. */
    QWEN_3_CODER(new XmlCalls()),
    /** <code>{"name": ..., "parameters": {...}}</code> and nothing else, or several objects with semicolons between them: Llama 3.1
     * to 3.3. */
    LLAMA_3(new LlamaCalls()),
    /** A list of <code>{"name": ..., "arguments": {...}}</code>, after the control token {@code [TOOL_CALLS]}: Mistral's models up to
     * 2024. */
    MISTRAL(ListCalls.mistral()),
    /** <code>[TOOL_CALLS]name[ARGS]{...}</code>: Mistral since 2025. */
    MISTRAL_ARGS(new NamedCalls()),
    /** A list as in {@link #MISTRAL}, between {@code <|tool_call|>} and {@code <|/tool_call|>}, or after {@code functools}: Phi-4-mini. */
    PHI_4_MINI(ListCalls.phi()),
    /** A list as in {@link #MISTRAL}, after {@code <|tool_call|>}: Granite 3. */
    GRANITE_3(ListCalls.granite()),
    /** A list as in {@link #MISTRAL}, after {@code functools}: FireFunction. */
    FIREFUNCTION(ListCalls.fireFunction()),
    /** A list as in {@link #MISTRAL}, between {@code <TOOLCALL>} and {@code </TOOLCALL>}: Llama-Nemotron. */
    NEMOTRON(ListCalls.nemotron()),
    /** <code>&lt;toolcall&gt; {"name": ..., "arguments": {...}} &lt;/toolcall&gt;</code>: Nemotron-Mini. */
    NEMOTRON_MINI(HermesCalls.nemotronMini()),
    /** A list of <code>{"tool_call_id": ..., "tool_name": ..., "parameters": {...}}</code> after {@code <|START_ACTION|>}: Command R7B and A. */
    COMMAND(new CommandCalls()),
    /** {@code <|tool_call_start|>[name(key="text")]<|tool_call_end|>}: LFM2. */
    LFM_2(new LfmCalls()),
    /** A name and a block of JSON within the marks of DeepSeek: V3 and R1. */
    DEEPSEEK(DeepSeekCalls.fenced()),
    /** A name and JSON within the marks of DeepSeek: V3.1. */
    DEEPSEEK_3_1(DeepSeekCalls.bare()),
    /** <code>&lt;start_function_call&gt;call:name{key:&lt;escape&gt;text&lt;escape&gt;}&lt;end_function_call&gt;</code>: FunctionGemma. */
    FUNCTION_GEMMA(GemmaCalls.functionGemma()),
    /** <code>&lt;|tool_call&gt;call:name{key:&lt;|"|&gt;text&lt;|"|&gt;}&lt;tool_call|&gt;</code>: Gemma 4. */
    GEMMA_4(GemmaCalls.gemma4()),
    /** Messages on channels, {@code commentary to=functions.name}: GPT-OSS (harmony). */
    HARMONY(new HarmonyCalls()),
    /** A list of <code>{"name": ..., "arguments": {...}}</code> without a mark: Cogito's smaller models. */
    COGITO(ListCalls.cogito());

    private static final String NAME = "probed_name";
    private static final String QUESTION = "Question";

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
     * Finds the format of a template by rendering a chat with a call.
     *
     * @param template the template of the model's file
     * @return the format, or empty if the template writes no calls, or calls in an unknown format
     */
    public static Optional<ToolCallFormat> of(ChatTemplate template) {
        ToolCall call = new ToolCall("callprobe", NAME, "{\"key\": \"value\"}");
        ChatPrompt chat = ChatPrompt.of(List.of(
                ChatMessage.user(QUESTION),
                ChatMessage.assistant("", List.of(call)),
                ChatMessage.tool(call, "Result")));
        Checks.notNull(template, "template");
        // some files have another template for chats with tools
        return of(template, chat)
                .or(() ->
                        of(template, chat.withTools(List.of(new ToolDefinition(NAME, "", "{\"type\": \"object\"}")))));
    }

    /**
     * {@return a template that writes chats as the given template does, and also writes calls, in this format, after the text of an
     * answer}. The templates of Granite 3, Nemotron-Mini and LFM2 omit calls.
     *
     * @param template a template that writes tools, their results, and the text of answers
     * @throws IllegalArgumentException if this format is none of the formats with JSON objects or Python calls, which are {@link #HERMES},
     *     {@link #MISTRAL}, {@link #PHI_4_MINI}, {@link #GRANITE_3}, {@link #FIREFUNCTION}, {@link #NEMOTRON}, {@link #NEMOTRON_MINI},
     *     {@link #LFM_2} and {@link #COGITO}
     */
    public ChatTemplate addCallsTo(ChatTemplate template) {
        Checks.notNull(template, "template");
        if (syntax.write(List.of()).isEmpty()) {
            throw Checks.fail(
                    "format",
                    name(),
                    "expected a format of JSON objects or Python calls, in which calls do not depend on their position");
        }
        return ChatTemplate.of(prompt -> withCalls(template, prompt), List.of());
    }

    /** Writes a chat with placeholders instead of calls, and then replaces the placeholders with the calls. */
    private PromptText withCalls(ChatTemplate template, ChatPrompt prompt) {
        String chat = prompt.messages().toString() + prompt.tools() + prompt.variables();
        int number = 0;
        while (chat.contains(sign(number))) {
            number++;
        }
        String sign = sign(number);
        List<PromptText> calls = new ArrayList<>();
        List<ChatMessage> messages = new ArrayList<>();
        for (ChatMessage message : prompt.messages()) {
            if (message.toolCalls().isEmpty()) {
                messages.add(message);
                continue;
            }
            calls.add(syntax.write(message.toolCalls().stream()
                            .map(call -> new Call(call.id(), call.name(), call.arguments()))
                            .toList())
                    .orElseThrow());
            messages.add(ChatMessage.assistant(message.content() + sign).withReasoning(message.reasoning()));
        }
        PromptText text = template.render(prompt.withMessages(messages));
        String[] parts = text.toString().split(sign, -1);
        if (parts.length != calls.size() + 1) {
            throw Checks.fail(
                    "template",
                    parts.length - 1 + " texts of " + calls.size() + " answers with calls",
                    "expected a template that writes each of them unchanged");
        }
        PromptText.Builder all = new PromptText.Builder();
        int from = 0;
        for (int i = 0; i < parts.length; i++) {
            all.append(text.substring(from, from + parts[i].length()));
            from += parts[i].length() + sign.length();
            if (i < calls.size()) {
                all.append(calls.get(i));
            }
        }
        return all.build();
    }

    /** Returns private-use characters, which have no special meaning in a regular expression. */
    private static String sign(int number) {
        return "\ue000" + number + "\ue001";
    }

    private static Optional<ToolCallFormat> of(ChatTemplate template, ChatPrompt chat) {
        Optional<String> text = written(template, chat);
        if (text.isEmpty()) {
            return Optional.empty();
        }
        for (ToolCallFormat format : values()) {
            Matcher found = format.syntax.written().matcher(text.get());
            if (found.find()
                    && (!format.syntax.isBare()
                            || beginsAnswer(template, chat, text.get().substring(0, found.start())))) {
                return Optional.of(format);
            }
        }
        return Optional.empty();
    }

    /** Returns a chat as a template writes it; empty if the template refuses the chat. */
    private static Optional<String> written(ChatTemplate template, ChatPrompt chat) {
        // templates get these tokens as variables, and write them before texts
        PromptText token = PromptText.template("<token>");
        Map<String, Object> variables = new LinkedHashMap<>();
        for (String name : List.of("bos_token", "eos_token", "unk_token", "pad_token")) {
            variables.put(name, token);
        }
        // variables of FireFunction's template
        variables.put("functions", "");
        variables.put("datetime", "");
        try {
            return Optional.of(template.render(chat.withDefaults(variables)).toString());
        } catch (IllegalArgumentException refused) {
            return Optional.empty();
        }
    }

    /** Returns whether a template writes the text of an answer directly after {@code begin}, the text before the call of a chat. */
    private static boolean beginsAnswer(ChatTemplate template, ChatPrompt chat, String begin) {
        String answer = "probed_answer";
        ChatPrompt other = chat.withMessages(List.of(ChatMessage.user(QUESTION), ChatMessage.assistant(answer)));
        return written(template, other)
                .filter(text -> text.startsWith(begin + answer))
                .isPresent();
    }

    /**
     * Divides an answer into thoughts, text, and tool calls. {@link Session#answerFormat} reads answers with the schemas of their tools,
     * while they are generated.
     *
     * @param text the whole answer, such as {@link GeneratedText#text()}
     * @return the parts of the answer
     * @throws IllegalArgumentException if a call is truncated, or is not JSON with a name and arguments. Such an answer in {@link
     *     #LLAMA_3}, or in {@link #MISTRAL}, {@link #PHI_4_MINI} or {@link #GRANITE_3} without its mark, is content and not an error
     */
    public ModelAnswer parse(String text) {
        String thoughtEnd = Thoughts.missingBegin(Checks.notNull(text, "text"));
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
