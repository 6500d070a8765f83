package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.decoder.GenerationOptions.WhenFull;
import io.multihead.internal.base.Checks;
import io.multihead.text.TextStream;
import io.multihead.text.Tokenizer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The generation of one text: which tokens go through the model next, and what becomes of the logits. A step has tokens of the prompt, or
 * the last token and guesses of those after it; a guess counts if the sampler would have chosen it, so guesses change the time and
 * nothing else.
 */
final class Generation {
    private final SessionState session;
    private final Tokenizer tokenizer;
    private final GenerationOptions options;
    private final TokenListener listener;
    private final TextStream stream;
    private final StopTexts stops;
    private final List<GeneratedToken> generated = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();
    private final int[] guesses;
    private final int promptTokens;
    private @Nullable FinishReason finish;

    Generation(SessionState session, Tokenizer tokenizer, GenerationOptions options, TokenListener listener) {
        this.session = session;
        this.tokenizer = tokenizer;
        this.options = Checks.notNull(options, "options");
        this.listener = Checks.notNull(listener, "listener");
        session.requireOpen();
        if (session.tokens.size() == 0) {
            throw new IllegalStateException("session: no tokens; expected a prompt");
        }
        stream = new TextStream(tokenizer);
        stops = new StopTexts(options.stops());
        guesses = new int[options.draftTokens()];
        promptTokens = session.tokens.size();
    }

    boolean isFinished() {
        return finish != null;
    }

    Step step() {
        return session.step;
    }

    GeneratedText result() {
        return new GeneratedText(text.toString(), generated, Checks.notNull(finish, "finish"), promptTokens);
    }

    /**
     * Returns the next step, of at most {@code mostTokens}; null if there is no room for it, and the text has ended.
     */
    @Nullable
    Step next(int mostTokens) {
        TokenList tokens = session.tokens;
        // a text that stops needs room for the token that is chosen; one that slides makes it afterwards
        int least = options.whenFull() == WhenFull.STOP ? 1 : 0;
        if (session.room() < least && !makeRoom()) {
            return null;
        }
        if (session.computed == tokens.size()) {
            // the logits of the last token are wanted once more
            session.forget(tokens.size() - 1);
        }
        int waiting = tokens.size() - session.computed;
        if (waiting > mostTokens) {
            return session.step.set(tokens.array(), session.computed, mostTokens, 0);
        }
        int guessed = waiting == 1 ? guess(mostTokens - 1) : 0;
        for (int i = 0; i < guessed; i++) {
            tokens.add(guesses[i]);
        }
        tokens.truncate(tokens.size() - guessed);
        return session.step.set(tokens.array(), session.computed, waiting + guessed, 1 + guessed);
    }

    private boolean makeRoom() {
        if (options.whenFull() == WhenFull.STOP) {
            finish = FinishReason.CONTEXT_FULL;
            return false;
        }
        session.slide();
        return true;
    }

    private int guess(int mostTokens) {
        int left = Math.min(options.maxTokens() - generated.size() - 1, session.room());
        int most = Math.min(Math.min(guesses.length, mostTokens), left);
        return PromptLookup.guess(session.tokens, most, guesses);
    }

    /** Takes the logits of the step that was computed. */
    void accept(Compute cpu) {
        Step step = session.step;
        if (step.rows == 0) {
            session.computed += step.count;
            return;
        }
        int known = step.count - step.rows + 1;
        session.computed += known;
        for (int row = 0; row < step.rows && finish == null; row++) {
            int chosen = choose(cpu, step.logits.get(row));
            boolean guessed = row < step.rows - 1 && finish == null && guesses[row] == chosen;
            if (!guessed) {
                break;
            }
            session.computed++;
        }
        if (session.computed < step.from + step.count) {
            session.forget(session.computed);
        }
    }

    private int choose(Compute cpu, float[] logits) {
        Sampler sampler = session.sampler;
        int id = sampler.choose(cpu, logits, session.seen, options.sampling(), session.tokens.size());
        double logProbability = Double.NaN;
        if (options.logProbabilities()) {
            sampler.measure(cpu, logits);
            logProbability = sampler.logProbability(logits, id);
        }
        if (tokenizer.stops(id)) {
            String rest = rest();
            finish = stops.isFound() ? FinishReason.STOP_TEXT : FinishReason.END_TOKEN;
            tell(new GeneratedToken(id, rest, logProbability));
            return id;
        }
        session.add(id);
        String certain = stops.add(stream.append(id));
        finish = reason();
        if (finish != null) {
            certain += rest();
            // what was held back may have one that had to wait for another
            finish = stops.isFound() ? FinishReason.STOP_TEXT : finish;
        }
        tell(new GeneratedToken(id, certain, logProbability));
        return id;
    }

    /** Returns why the text ends with the token that was added; null if it does not. */
    private @Nullable FinishReason reason() {
        if (stops.isFound()) {
            return FinishReason.STOP_TEXT;
        }
        if (generated.size() + 1 == options.maxTokens()) {
            return FinishReason.MAX_TOKENS;
        }
        boolean full = session.room() <= 0;
        return full && options.whenFull() == WhenFull.STOP ? FinishReason.CONTEXT_FULL : null;
    }

    private void tell(GeneratedToken token) {
        generated.add(token);
        text.append(token.text());
        if (!listener.onToken(token) && finish == null) {
            finish = FinishReason.CANCELLED;
            text.append(rest());
        }
    }

    /** Returns what stream and stop texts still hold. */
    private String rest() {
        if (stops.isFound()) {
            return "";
        }
        return stops.add(stream.end()) + stops.rest();
    }
}
