package io.multihead.decoder;

import io.multihead.internal.base.Checks;

/**
 * One message of a chat.
 *
 * @param role who wrote it
 * @param content the text; whatever it holds, none of it becomes a control token
 */
public record ChatMessage(Role role, String content) {
    /** Who wrote a message. */
    public enum Role {
        /** The system prompt; only the first message may be one. */
        SYSTEM,
        /** The one who asks. */
        USER,
        /** The model. */
        ASSISTANT
    }

    /** Checks that both are there. */
    public ChatMessage {
        Checks.notNull(role, "role");
        Checks.notNull(content, "content");
    }

    /**
     * {@return a message of the system}
     *
     * @param content the text
     */
    public static ChatMessage system(String content) {
        return new ChatMessage(Role.SYSTEM, content);
    }

    /**
     * {@return a message of the user}
     *
     * @param content the text
     */
    public static ChatMessage user(String content) {
        return new ChatMessage(Role.USER, content);
    }

    /**
     * {@return a message of the model}
     *
     * @param content the text
     */
    public static ChatMessage assistant(String content) {
        return new ChatMessage(Role.ASSISTANT, content);
    }
}
