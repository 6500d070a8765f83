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
 * Computes long prompts, and tokens after them, before a server accepts requests. C2 compiles the code of long prompts
 * only when a long prompt is computed. Without a warm-up, the first long prompt delays the tokens of other requests.
 */
final class WarmUp {
    private static final String TEXT =
            "One day, a cat and a dog went to the park. They saw a big ball under a tree, and played with it all day. ";

    /** The number of repetitions of the text in the largest step, which then has as many rows as a long prompt. */
    private static final int REPEATED = 5;

    /**
     * The number of tokens of the first step. Each step has twice as many tokens as the previous step, since a large
     * model takes seconds for the largest step.
     */
    private static final int FIRST = 32;

    /** The maximum number of tokens of the warm-up's context. */
    private static final int CONTEXT = 2048;

    private static final GenerationOptions FEW = GenerationOptions.DEFAULT.withMaxTokens(1);

    private WarmUp() {}

    /**
     * Computes prompts until the time is over. Their memory is separate and is freed afterwards.
     *
     * @param options the context and cache of the server's sessions
     * @param stopped whether to end immediately
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

    /** Repeatedly appends text and generates a token, until the context is full or the time is over. */
    private static void fill(Session session, int[] text, int context, BooleanSupplier over) {
        for (int step = FIRST; !over.getAsBoolean() && session.length() < context; step *= 2) {
            step = Math.min(step, text.length);
            session.append(Arrays.copyOf(text, Math.min(step, context - session.length())));
            session.generate(FEW);
        }
    }
}
