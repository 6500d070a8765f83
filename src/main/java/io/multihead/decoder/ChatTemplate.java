package io.multihead.decoder;

import io.multihead.decoder.ChatMessage.Role;
import io.multihead.internal.base.Checks;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * How a family of models writes a chat, in code. The text between control tokens is that of the model's own template, whose tools, images
 * and dates other than the default are not offered. Messages cannot hold control tokens: their text is split into ordinary tokens,
 * whatever it says.
 */
public enum ChatTemplate {
    /** Llama 3. */
    LLAMA_3(ChatTemplate::llama3),
    /**
     * Llama 3.1 to 3.3, with the dates that the template has where none is given: knowledge of December 2023, 26 July 2024 today. That of
     * Llama 3.2 has the present day instead where its interpreter knows it.
     */
    LLAMA_3_1(ChatTemplate::llama31),
    /** ChatML without a default message of the system. */
    CHATML((messages, to) -> chatml(messages, "", to)),
    /** Qwen 2.5. */
    QWEN_2_5((messages, to) ->
            chatml(messages, "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", to)),
    /** Qwen 3, which may think before it answers. What earlier answers thought is left out. */
    QWEN_3((messages, to) -> chatml(withoutThoughts(messages), "", to)),
    /** Qwen 3 with an empty thought, after which it answers at once. */
    QWEN_3_WITHOUT_THINKING((messages, to) -> {
        chatml(withoutThoughts(messages), "", to);
        to.control("<think>").text("\n\n").control("</think>").text("\n\n");
    }),
    /** SmolLM2. */
    SMOLLM_2((messages, to) ->
            chatml(messages, "You are a helpful AI assistant named SmolLM, trained by Hugging Face", to)),
    /** Gemma 2 and 3; a message of the system becomes the beginning of the user's first one. */
    GEMMA(ChatTemplate::gemma),
    /** Phi-4-mini. */
    PHI_4_MINI(ChatTemplate::phi4);

    private static final char NEXT_LINE = 0x85;

    private static final String RAW =
            "an unknown chat template; expected one of a family that is offered. A prompt that is"
                    + " written out can be given as append(tokenizer.encodeSpecial(prompt))";

    private final BiConsumer<List<ChatMessage>, ChatPrompt> writer;

    ChatTemplate(BiConsumer<List<ChatMessage>, ChatPrompt> writer) {
        this.writer = writer;
    }

    /**
     * Finds the family of a template as files hold it, a program in Jinja, by the words that no other one has.
     *
     * @param jinja {@code tokenizer.chat_template}
     * @return the template
     * @throws IllegalArgumentException if it is of no family that is offered
     */
    public static ChatTemplate of(String jinja) {
        Checks.notNull(jinja, "jinja");
        if (jinja.contains("<|start_header_id|>")) {
            return jinja.contains("Cutting Knowledge Date") ? LLAMA_3_1 : LLAMA_3;
        }
        if (jinja.contains("<start_of_turn>")) {
            return GEMMA;
        }
        if (jinja.contains("<|im_start|>")) {
            return chatmlOf(jinja);
        }
        if (jinja.contains("<|end|>") && jinja.contains("<|assistant|>") && jinja.contains("<|tool|>")) {
            return PHI_4_MINI;
        }
        throw new IllegalArgumentException("chat_template: " + RAW);
    }

    private static ChatTemplate chatmlOf(String jinja) {
        if (jinja.contains("You are Qwen, created by Alibaba Cloud")) {
            return QWEN_2_5;
        }
        boolean third = jinja.contains("reasoning_mode") || jinja.contains("enable_thinking");
        if (jinja.contains("named SmolLM, trained by Hugging Face") && !third) {
            return SMOLLM_2;
        }
        if (jinja.contains("enable_thinking") && jinja.contains("</think>") && !jinja.contains("SmolLM")) {
            return QWEN_3;
        }
        String plain = jinja.replaceAll("[\\s\"'{}%()+\\-]", "");
        if (plain.equals("formessageinmessages<|im_start|>message[role]\\nmessage[content]<|im_end|>\\nendfor"
                + "ifadd_generation_prompt<|im_start|>assistant\\nendif")) {
            return CHATML;
        }
        throw new IllegalArgumentException("chat_template: " + RAW);
    }

    /**
     * Writes a chat.
     *
     * @param messages a message of the system or none, then the user's and the model's in turns, the user's last
     * @throws IllegalArgumentException if they are in another order; the message names which
     */
    ChatPrompt prompt(List<ChatMessage> messages) {
        List<ChatMessage> all = Checks.noNulls(messages, "messages");
        requireTurns(all);
        ChatPrompt prompt = new ChatPrompt();
        writer.accept(all, prompt);
        return prompt;
    }

    private static void requireTurns(List<ChatMessage> messages) {
        int first = !messages.isEmpty() && messages.get(0).role() == Role.SYSTEM ? 1 : 0;
        for (int i = first; i < messages.size(); i++) {
            Role expected = (i - first) % 2 == 0 ? Role.USER : Role.ASSISTANT;
            if (messages.get(i).role() != expected) {
                throw Checks.fail("messages[" + i + "]", messages.get(i).role().toString(), "expected " + expected);
            }
        }
        if (messages.size() == first || messages.getLast().role() != Role.USER) {
            throw Checks.fail("messages", "no message of the user at the end", "expected one");
        }
    }

    private static String name(Role role) {
        return switch (role) {
            case SYSTEM -> "system";
            case USER -> "user";
            case ASSISTANT -> "assistant";
        };
    }

    private static boolean hasSystem(List<ChatMessage> messages) {
        return messages.get(0).role() == Role.SYSTEM;
    }

    /** Returns a text without white space at its ends, as templates trim it: by Python's rules, which count no-break spaces. */
    private static String trimmed(String text) {
        int from = 0;
        int to = text.length();
        while (from < to && isSpace(text.charAt(from))) {
            from++;
        }
        while (from < to && isSpace(text.charAt(to - 1))) {
            to--;
        }
        return text.substring(from, to);
    }

    private static boolean isSpace(char c) {
        return Character.isWhitespace(c) || Character.isSpaceChar(c) || c == NEXT_LINE;
    }

    private static void llama3(List<ChatMessage> messages, ChatPrompt to) {
        to.control("<|begin_of_text|>");
        messages.forEach(message -> llamaMessage(name(message.role()), trimmed(message.content()), to));
        llamaHeader("assistant", to);
    }

    private static void llama31(List<ChatMessage> messages, ChatPrompt to) {
        boolean given = hasSystem(messages);
        to.control("<|begin_of_text|>");
        llamaMessage(
                "system",
                "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
                        + (given ? trimmed(messages.get(0).content()) : ""),
                to);
        messages.stream()
                .skip(given ? 1 : 0)
                .forEach(message -> llamaMessage(name(message.role()), trimmed(message.content()), to));
        llamaHeader("assistant", to);
    }

    private static void llamaMessage(String role, String content, ChatPrompt to) {
        llamaHeader(role, to);
        to.text(content).control("<|eot_id|>");
    }

    private static void llamaHeader(String role, ChatPrompt to) {
        to.control("<|start_header_id|>")
                .text(role)
                .control("<|end_header_id|>")
                .text("\n\n");
    }

    private static void chatml(List<ChatMessage> messages, String defaultSystem, ChatPrompt to) {
        if (!hasSystem(messages) && !defaultSystem.isEmpty()) {
            chatmlMessage("system", defaultSystem, to);
        }
        messages.forEach(message -> chatmlMessage(name(message.role()), message.content(), to));
        to.control("<|im_start|>").text("assistant\n");
    }

    private static void chatmlMessage(String role, String content, ChatPrompt to) {
        to.control("<|im_start|>")
                .text(role + "\n" + content)
                .control("<|im_end|>")
                .text("\n");
    }

    /** As Qwen's template does: an earlier answer is what follows its thought. */
    private static List<ChatMessage> withoutThoughts(List<ChatMessage> messages) {
        return messages.stream().map(ChatTemplate::withoutThought).toList();
    }

    private static ChatMessage withoutThought(ChatMessage message) {
        int end = message.content().lastIndexOf("</think>");
        if (message.role() != Role.ASSISTANT || end < 0) {
            return message;
        }
        String answer = message.content().substring(end + "</think>".length());
        int from = 0;
        while (from < answer.length() && answer.charAt(from) == '\n') {
            from++;
        }
        return ChatMessage.assistant(answer.substring(from));
    }

    private static void gemma(List<ChatMessage> messages, ChatPrompt to) {
        boolean given = hasSystem(messages);
        to.control("<bos>");
        for (int i = given ? 1 : 0; i < messages.size(); i++) {
            ChatMessage message = messages.get(i);
            to.control("<start_of_turn>").text(message.role() == Role.USER ? "user\n" : "model\n");
            if (given && i == 1) {
                to.text(messages.get(0).content() + "\n\n");
            }
            to.text(trimmed(message.content())).control("<end_of_turn>").text("\n");
        }
        to.control("<start_of_turn>").text("model\n");
    }

    private static void phi4(List<ChatMessage> messages, ChatPrompt to) {
        messages.forEach(message -> to.control("<|" + name(message.role()) + "|>")
                .text(message.content())
                .control("<|end|>"));
        to.control("<|assistant|>");
    }
}
