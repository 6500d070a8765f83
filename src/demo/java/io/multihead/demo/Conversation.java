package io.multihead.demo;

import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.ChatTurns;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A chat that continues when its context is full: the oldest questions and answers are dropped, and a note reports it. */
final class Conversation {
    private final List<ChatMessage> messages = new ArrayList<>();
    private final Sessions sessions;
    private final int answerTokens;
    private final PrintWriter notes;
    private final int first;

    /**
     * Begins a chat.
     *
     * @param system the system message, or null
     * @param answerTokens the maximum number of tokens of an answer
     * @param notes receives a note about dropped messages
     */
    Conversation(Sessions sessions, @Nullable String system, int answerTokens, PrintWriter notes) {
        this.sessions = sessions;
        // an answer gets at most a quarter of the context
        this.answerTokens = Math.min(answerTokens, sessions.contextTokens() / 4);
        this.notes = notes;
        if (system != null) {
            messages.add(ChatMessage.system(system));
        }
        first = messages.size();
    }

    /**
     * Asks a question, and keeps it with its answer.
     *
     * @param answer generates the answer
     * @throws IllegalArgumentException if the context has no room even for the question alone, or if the template
     *     refuses the question. The chat is then unchanged.
     */
    void ask(String question, Function<Session, String> answer) {
        messages.add(ChatMessage.user(question));
        try (Session session = append()) {
            messages.add(ChatMessage.assistant(answer.apply(session)));
        } catch (RuntimeException failed) {
            messages.removeLast();
            throw failed;
        }
    }

    /** Opens a session with the largest part of the chat that fits into the context. */
    private Session append() {
        int last = messages.size() - 1;
        for (int from = first; ; from += 2) {
            List<ChatMessage> kept = new ArrayList<>(messages.subList(0, first));
            kept.addAll(messages.subList(from, messages.size()));
            Session session = sessions.open();
            try {
                ChatTurns.append(session, kept);
                if (from == last || session.length() + answerTokens <= sessions.contextTokens()) {
                    drop(from);
                    return session;
                }
            } catch (IllegalArgumentException refused) {
                if (from == last) {
                    session.close();
                    throw refused;
                }
            }
            session.close();
        }
    }

    private void drop(int to) {
        if (to > first) {
            notes.println("[" + (to - first) + " oldest messages dropped: a context of " + sessions.contextTokens()
                    + " tokens has no room for them and " + answerTokens + " tokens of an answer]");
            messages.subList(first, to).clear();
        }
    }
}
