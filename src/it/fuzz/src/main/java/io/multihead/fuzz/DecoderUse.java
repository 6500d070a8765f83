package io.multihead.fuzz;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.ChatMessage;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Loads a language model, and generates tokens after a text and after a chat. */
final class DecoderUse {
    private static final Compute CPU = Compute.serial();
    private static final int TOKENS = 2;
    private static final GenerationOptions FEW =
            GenerationOptions.DEFAULT.withMaxTokens(TOKENS).withLogProbabilities(true);

    private DecoderUse() {}

    static void run(Path path, boolean finite) throws IOException {
        try (LanguageModel model = LanguageModel.load(CPU, path)) {
            Oracle.uncounted(() -> use(model, finite));
        }
    }

    private static void use(LanguageModel model, boolean finite) {
        int context = Math.min(24, model.contextTokens());
        SessionOptions options = SessionOptions.DEFAULT
                .withContextTokens(context)
                .withCacheFormat(CacheFormat.F32)
                .withKeptPrefixes(false);
        try (Sessions sessions = model.sessions(options)) {
            generate(sessions, session -> session.append("ab a"), finite);
            generate(sessions, session -> session.appendChat(List.of(ChatMessage.user("ab"))), finite);
        }
    }

    /** Appends the prompt of a session. */
    private interface Prompt {
        void append(Session session);
    }

    /**
     * Generates tokens. Refused are a text without tokens, a text for which the context has no room, and a template
     * that fails. Weights may be NaN or infinite if {@code finite} is false.
     */
    private static void generate(Sessions sessions, Prompt prompt, boolean finite) {
        try (Session session = sessions.open()) {
            Oracle.accepts(
                    "",
                    () -> Oracle.computes(finite, () -> {
                        append(session, prompt);
                        if (session.length() == 0) {
                            refusesNoTokens(session);
                        } else {
                            GeneratedText text = session.generate(FEW);
                            Oracle.require(
                                    text.tokens().size() <= TOKENS,
                                    text.tokens().size() + " tokens");
                        }
                    }));
        }
    }

    /**
     * Requires an error for a prompt without tokens. A template may print nothing, and a vocabulary may lack all
     * characters of a text.
     */
    private static void refusesNoTokens(Session session) {
        try {
            session.generate(FEW);
        } catch (IllegalStateException expected) {
            String message = expected.getMessage();
            Oracle.require("session: no tokens; expected a prompt".equals(message), "message: " + message);
            return;
        } catch (IllegalArgumentException other) {
            throw new AssertionError("expected an IllegalStateException", other);
        }
        throw new AssertionError("generated after no tokens");
    }

    /** Appends a prompt. Errors of templates have another form, with the line of the template instead of a value. */
    private static void append(Session session, Prompt prompt) throws IOException {
        try {
            prompt.append(session);
        } catch (IllegalArgumentException refused) {
            if (!String.valueOf(refused.getMessage()).startsWith("chat_template: line ")) {
                throw refused;
            }
            throw new IOException(refused);
        }
    }
}
