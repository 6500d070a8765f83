package io.multihead.demo.serve;

import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/**
 * Computes long prompts, and tokens after them, before a server accepts requests. C2 compiles the code of long prompts only when one is computed;
 * without a warm-up, the first of them delays the tokens of the others.
 */
final class WarmUp {
    private static final String TEXT =
            "One day, a cat and a dog went to the park. They saw a big ball under a tree, and played with it all day. ";

    /** Times that the text is repeated in the largest step, which then has the many rows of a long prompt's. */
    private static final int REPEATED = 5;

    /** Tokens of the first step; each has twice as many as the one before, as a large model takes seconds for the largest. */
    private static final int FIRST = 32;

    /** Most tokens of the warm-up's own context. */
    private static final int CONTEXT = 2048;

    private static final GenerationOptions FEW = GenerationOptions.DEFAULT.withMaxTokens(1);

    private WarmUp() {}

    /**
     * Computes prompts in separate memory, which is free afterwards, until the time is over.
     *
     * @param options the context and cache of the server's sessions
     * @param stopped whether to end at once
     */
    static void run(LanguageModel model, SessionOptions options, Duration time, BooleanSupplier stopped) {
        long start = System.nanoTime();
        BooleanSupplier over = () -> stopped.getAsBoolean() || System.nanoTime() - start >= time.toNanos();
        SessionOptions own = options.withSessions(1)
                .withKeptPrefixes(false)
                .withContextTokens(Math.min(options.contextTokens(), CONTEXT));
        int[] text = model.tokenizer().encode(TEXT.repeat(REPEATED));
        while (text.length > 0 && !over.getAsBoolean()) {
            try (Sessions sessions = model.sessions(own);
                    Session session = sessions.open()) {
                fill(session, text, own.contextTokens(), over);
            }
        }
    }

    /** Appends text, with a token after each time, until the context or the time ends. */
    private static void fill(Session session, int[] text, int context, BooleanSupplier over) {
        for (int step = FIRST; !over.getAsBoolean() && session.length() < context; step *= 2) {
            step = Math.min(step, text.length);
            session.append(Arrays.copyOf(text, Math.min(step, context - session.length())));
            session.generate(FEW);
        }
    }
}
