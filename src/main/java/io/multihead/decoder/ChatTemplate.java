package io.multihead.decoder;

import io.multihead.decoder.ChatMessage.Role;
import io.multihead.decoder.TemplateVariables.Form;
import io.multihead.internal.base.Checks;
import io.multihead.internal.template.RaisedException;
import io.multihead.internal.template.Template;
import io.multihead.text.PromptText;
import io.multihead.text.Tokenizer;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The format of a chat for a model: a Jinja program from a file ({@link #of(String)}), a Java function ({@link #of(Function, List)}), or a
 * constant for a family. The template may write control tokens. Messages, calls, tools and variables never become control tokens.
 *
 * <p>The template determines the prompt of a chat and the accepted orders of messages. An exception of the template becomes an {@link
 * IllegalArgumentException} with the same message. A chat is refused if the template would omit its tools, calls or results of tools.
 *
 * <p>Immutable and thread-safe.
 */
public final class ChatTemplate {
    /** Llama 3. */
    public static final ChatTemplate LLAMA_3 = llama("LLAMA_3", FamilyTemplates.LLAMA_3);

    /**
     * Llama 3.1 to 3.3, with the default dates of 3.1: knowledge of December 2023, and the current date of 26 July 2024. The variable {@code
     * date_string} sets the current date.
     */
    public static final ChatTemplate LLAMA_3_1 = llama("LLAMA_3_1", FamilyTemplates.LLAMA_3_1);

    /** ChatML without a default system message. */
    public static final ChatTemplate CHATML = chatml("CHATML", FamilyTemplates.CHATML);

    /** Qwen 2.5. */
    public static final ChatTemplate QWEN_2_5 = chatml("QWEN_2_5", FamilyTemplates.QWEN_2_5);

    /**
     * Qwen 3, which may think before it answers unless the variable {@code enable_thinking} is false. Thoughts of answers before the last
     * question are omitted.
     */
    public static final ChatTemplate QWEN_3 = chatml("QWEN_3", FamilyTemplates.QWEN_3);

    /** Qwen 3 with an empty thought, so that the model answers at once. */
    public static final ChatTemplate QWEN_3_WITHOUT_THINKING =
            QWEN_3.withVariable("enable_thinking", false).named("QWEN_3_WITHOUT_THINKING");

    /** SmolLM2. */
    public static final ChatTemplate SMOLLM_2 = CHATML.withVariable(
                    "default_system", "You are a helpful AI assistant named SmolLM, trained by Hugging Face")
            .named("SMOLLM_2");

    /** Gemma 2 and 3; a system message becomes the beginning of the first user message. */
    public static final ChatTemplate GEMMA =
            family("GEMMA", FamilyTemplates.GEMMA, "<bos>", "<start_of_turn>", "<end_of_turn>");

    /** Phi-4-mini. */
    public static final ChatTemplate PHI_4_MINI =
            family("PHI_4_MINI", FamilyTemplates.PHI_4_MINI, "<|system|>", "<|user|>", "<|assistant|>", "<|end|>");

    private static final String NAME = "chat_template";
    private static final String LEFT_OUT = "; expected none, as this template leaves them out";

    private final String name;
    private final Function<ChatPrompt, PromptText> writer;
    private final List<String> controlTokens;
    private final Map<String, Object> variables;

    private ChatTemplate(
            String name,
            Function<ChatPrompt, PromptText> writer,
            List<String> controlTokens,
            Map<String, Object> variables) {
        this.name = name;
        this.writer = writer;
        this.controlTokens = controlTokens;
        this.variables = variables;
    }

    private static ChatTemplate llama(String name, String jinja) {
        return family(name, jinja, "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>");
    }

    private static ChatTemplate chatml(String name, String jinja) {
        return family(name, jinja, "<|im_start|>", "<|im_end|>");
    }

    private static ChatTemplate family(String name, String jinja, String... controlTokens) {
        return new ChatTemplate(name, of(jinja).writer, List.of(controlTokens), Map.of());
    }

    private ChatTemplate named(String newName) {
        return new ChatTemplate(newName, writer, controlTokens, variables);
    }

    /** {@return the templates of the constants of this class, by the name of the constant in lower case} */
    public static Map<String, ChatTemplate> families() {
        Map<String, ChatTemplate> families = new LinkedHashMap<>();
        for (ChatTemplate each : List.of(
                LLAMA_3, LLAMA_3_1, CHATML, QWEN_2_5, QWEN_3, QWEN_3_WITHOUT_THINKING, SMOLLM_2, GEMMA, PHI_4_MINI)) {
            families.put(each.name.toLowerCase(Locale.ROOT), each);
        }
        return families;
    }

    /**
     * Reads a template of a file, which is a program in Jinja. The template has the variables of transformers: {@code messages}, {@code
     * tools}, {@code add_generation_prompt} (always true), the names of the model's special tokens such as {@code bos_token}, and the
     * variables of the {@link ChatPrompt}.
     *
     * @param jinja the program, such as {@code tokenizer.chat_template} of a GGUF file
     * @return the template
     * @throws IllegalArgumentException if the program is malformed or uses an unsupported construct; the message names the construct and
     *     its line
     */
    public static ChatTemplate of(String jinja) {
        Template template = Checks.in(NAME, () -> Template.parse(Checks.notNull(jinja, "jinja")));
        return new ChatTemplate("chat template of a file", prompt -> write(template, prompt), List.of(), Map.of());
    }

    /**
     * {@return a template that is a Java function}
     *
     * @param writer the function that makes the prompt of a chat; must be thread-safe
     * @param controlTokens the control tokens that the function writes, which a model's vocabulary must have
     */
    public static ChatTemplate of(Function<ChatPrompt, PromptText> writer, List<String> controlTokens) {
        return new ChatTemplate(
                "chat template of a program",
                Checks.notNull(writer, "writer"),
                Checks.noNulls(controlTokens, "controlTokens"),
                Map.of());
    }

    /**
     * {@return this template with a default for a variable that a {@link ChatPrompt} does not set}
     *
     * @param variable the name of the variable, such as {@code enable_thinking}
     * @param value a string, a {@link PromptText}, a boolean, a number, or a list or map of these
     */
    public ChatTemplate withVariable(String variable, Object value) {
        ChatPrompt.requireVariable(variable, value);
        Map<String, Object> all = new LinkedHashMap<>(variables);
        all.put(variable, value);
        return new ChatTemplate(name, writer, controlTokens, all);
    }

    /**
     * Returns a template that uses this template for a chat without tools and another template for a chat with tools. Transformers chooses
     * among the templates of a file in the same way.
     */
    ChatTemplate withToolUse(Supplier<ChatTemplate> other) {
        return new ChatTemplate(
                name,
                prompt -> (prompt.tools().isEmpty() ? writer : other.get().writer).apply(prompt),
                controlTokens,
                variables);
    }

    /** Returns this template with the names of a model's special tokens. Variables that are already set keep their values. */
    ChatTemplate withTokensOf(Tokenizer tokenizer) {
        Map<String, Object> all = new LinkedHashMap<>(TemplateVariables.tokens(tokenizer));
        all.putAll(variables);
        return new ChatTemplate(name, writer, controlTokens, all);
    }

    /** Returns the control tokens that a model's vocabulary must have. */
    List<String> controlTokens() {
        return controlTokens;
    }

    /**
     * Writes a chat up to the start of the model's answer. {@link Session#appendChat(ChatPrompt)} adds the variables that name the model's
     * special tokens, such as {@code bos_token}. {@link LanguageModel#chatTemplate} has these variables, too, if it is the template of the
     * file.
     *
     * @param prompt the chat
     * @return the prompt
     * @throws IllegalArgumentException if the template raises an exception, or cannot write the chat, or omits tools, calls or results
     */
    public PromptText render(ChatPrompt prompt) {
        PromptText written = writer.apply(Checks.notNull(prompt, "prompt").withDefaults(variables));
        return Checks.notNull(written, "prompt that the writer returns");
    }

    /** Writes a chat in the first form that the template writes completely. */
    private static PromptText write(Template template, ChatPrompt prompt) {
        LocalDateTime time = prompt.time().orElseGet(LocalDateTime::now);
        List<IllegalArgumentException> failures = new ArrayList<>();
        for (Form form : Form.values()) {
            try {
                PromptText text = template.render(TemplateVariables.of(prompt, form), time);
                requireAll(text, prompt, other -> rendered(template, other, form, time));
                return text;
            } catch (IllegalArgumentException wrong) {
                failures.add(wrong);
                if (wrong instanceof RaisedException) {
                    break;
                }
            }
        }
        // an error that names the omitted part is more informative than the reason why another form cannot be written
        IllegalArgumentException cause = failures.stream()
                .filter(failure -> String.valueOf(failure.getMessage()).endsWith(LEFT_OUT))
                .findFirst()
                .orElse(failures.getFirst());
        throw new IllegalArgumentException(NAME + ": " + cause.getMessage(), cause);
    }

    private static Optional<PromptText> rendered(Template template, ChatPrompt prompt, Form form, LocalDateTime time) {
        try {
            return Optional.of(template.render(TemplateVariables.of(prompt, form), time));
        } catch (IllegalArgumentException refused) {
            return Optional.empty();
        }
    }

    /** Fails if the text of a template does not depend on the tools, the calls or the results of a chat. */
    private static void requireAll(
            PromptText text, ChatPrompt prompt, Function<ChatPrompt, Optional<PromptText>> renderer) {
        List<ChatMessage> messages = prompt.messages();
        if (!prompt.tools().isEmpty()) {
            require(text, prompt.withTools(OtherChats.tools(prompt.tools())), renderer, "tools");
        }
        if (messages.stream().anyMatch(message -> !message.toolCalls().isEmpty())) {
            require(text, prompt.withMessages(OtherChats.calls(messages)), renderer, "calls of tools");
        }
        if (messages.stream().anyMatch(message -> message.role() == Role.TOOL)) {
            require(text, prompt.withMessages(OtherChats.results(messages)), renderer, "results of tools");
        }
    }

    private static void require(
            PromptText text, ChatPrompt other, Function<ChatPrompt, Optional<PromptText>> renderer, String what) {
        if (renderer.apply(other).filter(text::equals).isPresent()) {
            throw new IllegalArgumentException(what + LEFT_OUT);
        }
    }

    /** {@return the name of a family, or the origin of the template} */
    @Override
    public String toString() {
        return name;
    }
}
