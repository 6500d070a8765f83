package io.multihead.decoder;

import io.multihead.decoder.ChatMessage.Role;
import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedCollection;

/**
 * Adapts chats whose messages are in any order, for example after a memory dropped the oldest messages, or after a failed call. Many
 * templates accept only alternating questions and answers.
 */
public final class ChatTurns {
    private static final String BLANK_LINE = "\n\n";

    private ChatTurns() {}

    /**
     * Appends a chat unchanged if the model's template accepts it. If the template refuses it, the chat is appended {@linkplain #of in
     * turns}. If the template refuses the turns, too, the system message becomes the start of the first question.
     *
     * @param session the session to which the chat is appended
     * @param messages the whole chat, as for {@link Session#appendChat(List)}
     * @return the session
     * @throws IllegalArgumentException as {@link Session#appendChat(List)} throws it for the last form of the chat
     * @throws IllegalStateException if the session is closed
     */
    public static Session append(Session session, List<ChatMessage> messages) {
        return append(session, ChatPrompt.of(Checks.noNulls(messages, "messages")));
    }

    /**
     * Appends a chat with tools, variables of the template, or a time, as {@link #append(Session, List)} does.
     *
     * @param session the session to which the chat is appended
     * @param prompt the whole chat, as for {@link Session#appendChat(ChatPrompt)}
     * @return the session
     * @throws IllegalArgumentException as {@link Session#appendChat(ChatPrompt)} throws it for the last form of the chat
     * @throws IllegalStateException if the session is closed
     */
    public static Session append(Session session, ChatPrompt prompt) {
        Checks.notNull(session, "session");
        List<ChatMessage> given = Checks.notNull(prompt, "prompt").messages();
        List<ChatMessage> turns = of(given);
        SequencedCollection<List<ChatMessage>> forms = new LinkedHashSet<>(List.of(given));
        forms.add(turns);
        forms.add(withoutSystem(turns));
        forms.removeIf(List::isEmpty);
        List<ChatMessage> last = forms.removeLast();
        for (List<ChatMessage> form : forms) {
            try {
                return session.appendChat(prompt.withMessages(form));
            } catch (IllegalArgumentException refused) {
                // the template may accept the next form
            }
        }
        return session.appendChat(prompt.withMessages(last));
    }

    /**
     * Returns a chat in turns. System messages are joined into one first message, with blank lines between them. Answers before the first
     * question and answers without text and calls are omitted. Consecutive questions are joined into one question, and consecutive answers
     * into one answer, with blank lines between them. Calls of tools and their results do not change.
     *
     * @param messages the chat
     * @return the chat in turns, which ends like the given chat
     */
    public static List<ChatMessage> of(List<ChatMessage> messages) {
        List<ChatMessage> system = new ArrayList<>();
        List<ChatMessage> turns = new ArrayList<>();
        for (ChatMessage message : Checks.noNulls(messages, "messages")) {
            if (message.role() == Role.SYSTEM) {
                join(system, message);
            } else if (message.role() == Role.USER || !isEmpty(message) && !turns.isEmpty()) {
                join(turns, message);
            }
        }
        system.addAll(turns);
        return List.copyOf(system);
    }

    private static boolean isEmpty(ChatMessage message) {
        return message.content().isEmpty() && message.toolCalls().isEmpty();
    }

    /** Returns whether a message is only text, so that more text can be appended. */
    private static boolean isText(ChatMessage message) {
        return message.equals(new ChatMessage(message.role(), message.content()));
    }

    /** Appends a message. If this message and the last message are text of the same role, they are joined. */
    private static void join(List<ChatMessage> to, ChatMessage message) {
        boolean joins = !to.isEmpty()
                && to.getLast().role() == message.role()
                && message.role() != Role.TOOL
                && isText(message)
                && isText(to.getLast());
        if (!joins) {
            to.add(message);
        } else {
            ChatMessage before = to.removeLast();
            to.add(new ChatMessage(before.role(), before.content() + BLANK_LINE + message.content()));
        }
    }

    /** Returns a chat in turns whose system message is a part of the first question. */
    private static List<ChatMessage> withoutSystem(List<ChatMessage> turns) {
        if (turns.size() < 2 || turns.getFirst().role() != Role.SYSTEM) {
            return turns;
        }
        List<ChatMessage> all = new ArrayList<>();
        all.add(ChatMessage.user(turns.getFirst().content()));
        join(all, turns.get(1));
        all.addAll(turns.subList(2, turns.size()));
        return all;
    }
}
