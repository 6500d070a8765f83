package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.text.TextStream;
import io.multihead.text.TokenType;
import io.multihead.text.Tokenizer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Generates one text: determines the tokens that go through the model next, and uses their logits. A step has tokens of the prompt, or the
 * last token and draft tokens after it. A draft token is accepted if the sampler would have chosen it, so draft tokens change only the
 * time.
 */
final class Generation extends SessionTask {
    /** The largest number of bytes that earlier tokens can leave incomplete: the bytes of a code point minus one. */
    private static final int LONGEST_REST = 3;

    private final Tokenizer tokenizer;
    private final GenerationOptions options;
    private final TokenListener listener;
    private final TextStream stream;
    private final StopSequences stops;
    private final List<GeneratedToken> generated = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();
    private final TextConstraint constraint;
    private final int[] drafts;
    private final int promptTokens;
    private final long start = System.nanoTime();
    private @Nullable FinishReason finish;
    /** The value of {@link Step#uses} for which the first row was sampled in advance; -1 for none. */
    private int aheadUse = -1;

    private int aheadId;
    private double aheadLogProbability;
    private List<TokenProbability> aheadOthers = List.of();

    Generation(SessionState session, Prompts prompts, GenerationOptions options, TokenListener listener) {
        super(session);
        tokenizer = prompts.tokenizer();
        this.options = Checks.notNull(options, "options");
        this.listener = Checks.notNull(listener, "listener");
        if (session.tokens.size() == 0) {
            throw new IllegalStateException("session: no tokens; expected a prompt");
        }
        if (options.whenFull() == WhenFull.SLIDE && !session.cache.slides) {
            throw Checks.fail(
                    "whenFull",
                    "SLIDE, of a model whose recurrent states cannot forget their first tokens",
                    "expected STOP");
        }
        stream = streamAfter();
        stops = new StopSequences(
                options.stopSequences(), textBefore(StopSequences.longestBegin(options.stopSequences())));
        drafts = new int[options.draftTokens()];
        promptTokens = session.tokens.size();
        constraint = TextConstraint.begin(options.constraint(), prompts);
    }

    /** Returns a stream with the bytes of an incomplete character at the end of the session's tokens, if there is one. */
    private TextStream streamAfter() {
        TokenList tokens = session.tokens;
        int from = tokens.size();
        int bytes = 0;
        while (from > session.textStart && bytes < LONGEST_REST) {
            from--;
            bytes += bytes(tokens.get(from));
        }
        TextStream stream = new TextStream(tokenizer);
        for (int i = from; i < tokens.size(); i++) {
            show(tokens.get(i), stream);
        }
        return stream;
    }

    /**
     * Returns the end of the text that calls have generated since the last prompt or stop sequence, because a stop sequence may have begun
     * there. The result has at least {@code characters} characters if the text has that number.
     */
    private String textBefore(int characters) {
        TokenList tokens = session.tokens;
        int start = Math.max(session.seen.promptEnd, Math.max(session.textStart, session.stopEnd));
        int from = tokens.size();
        // a character has four bytes at most, and up to three bytes of an incomplete character may follow it
        int most = characters == 0 ? 0 : 4 * characters + LONGEST_REST;
        for (int bytes = 0; from > start && bytes < most; ) {
            from--;
            bytes += bytes(tokens.get(from));
        }
        TextStream before = new TextStream(tokenizer);
        StringBuilder text = new StringBuilder();
        for (int i = from; i < tokens.size(); i++) {
            text.append(show(tokens.get(i), before));
        }
        return text.toString();
    }

    GeneratedText result() {
        if (finish == FinishReason.STOP_SEQUENCE) {
            session.stopEnd = session.tokens.size();
        }
        return new GeneratedText(text.toString(), generated, Checks.notNull(finish, "finish"), promptTokens);
    }

    @Override
    @Nullable
    Step next(int mostTokens) {
        if (finish == null) {
            finish = reasonToEnd();
        }
        if (finish != null) {
            return null;
        }
        Step chunk = session.prefill(mostTokens, generated.isEmpty());
        if (chunk != null) {
            return chunk;
        }
        TokenList tokens = session.tokens;
        int waiting = tokens.size() - session.computed;
        int drafted = waiting == 1 ? draft(mostTokens - 1) : 0;
        for (int i = 0; i < drafted; i++) {
            tokens.add(drafts[i]);
        }
        tokens.truncate(tokens.size() - drafted);
        return session.step
                .set(tokens.array(), session.computed, waiting + drafted, 1 + drafted, 0)
                .withSnapshot(session.cache.isRecurrent ? drafted > 0 || generated.isEmpty() : generated.size() == 1);
    }

    /** Returns the reason why no step follows; null if a step follows. */
    private @Nullable FinishReason reasonToEnd() {
        if (System.nanoTime() - start >= TextLimits.nanos(options.timeout())) {
            text.append(stops.rest());
            return stops.isFound() ? FinishReason.STOP_SEQUENCE : FinishReason.TIMEOUT;
        }
        // a text that stops when the context is full needs room for the chosen token; a text that slides makes room
        // afterwards
        boolean full = options.whenFull() == WhenFull.STOP && session.freeTokens() < 1;
        return full ? FinishReason.CONTEXT_FULL : null;
    }

    private int draft(int mostTokens) {
        int left = Math.min(options.maxTokens() - generated.size() - 1, session.freeTokens());
        int most = Math.min(Math.min(drafts.length, mostTokens), left);
        return PromptLookup.draft(session.tokens, most, drafts);
    }

    /** Returns whether the next token can be chosen in advance. This is false for a constraint, whose state other texts may share. */
    @Override
    boolean choosesAhead() {
        Step step = session.step;
        boolean isComputed = step.failure == null && step.outcome == Step.Outcome.COMPUTED && step.rows > 0;
        return isComputed && finish == null && constraint == TextConstraint.NONE;
    }

    @Override
    void chooseAhead(Sampler sampler) {
        float[] logits = session.step.logits.get(0);
        try {
            aheadId = sampler.choose(logits, session.seen, options.sampling(), session.tokens.size());
            aheadLogProbability = logProbability(sampler, logits, aheadId);
            aheadOthers = mostProbable(sampler, logits);
            aheadUse = session.step.uses;
        } catch (ArithmeticException noNumbers) {
            aheadUse = -1; // the choice in accept() fails as well, and only for this text
        }
    }

    private double logProbability(Sampler sampler, float[] logits, int id) {
        if (!options.logProbabilities()) {
            return Double.NaN;
        }
        sampler.measure(logits);
        return sampler.logProbability(logits, id);
    }

    /** Returns the most probable tokens in the measured logits, if the options request them. */
    private List<TokenProbability> mostProbable(Sampler sampler, float[] logits) {
        return options.mostProbable() <= 0 ? List.of() : sampler.mostProbable(logits, options.mostProbable());
    }

    @Override
    void accept(Sampler sampler) {
        Step step = session.step;
        int rows = step.rows;
        int end = step.from + step.count;
        session.computed = end - Math.max(0, rows - 1);
        int use = step.uses;
        for (int row = 0; row < rows && finish == null; row++) {
            int chosen = choose(sampler, step.logits.get(row));
            session.requireOpen();
            if (step.uses != use) {
                return; // the listener has computed logits, which dropped the draft tokens
            }
            if (row == rows - 1 || finish != null || drafts[row] != chosen) {
                break;
            }
            session.computed++;
        }
        if (session.computed < end) {
            session.forget(session.computed);
        }
    }

    private int choose(Sampler sampler, float[] logits) {
        boolean isChosen = aheadUse == session.step.uses;
        aheadUse = -1;
        int id = isChosen
                ? aheadId
                : sampler.choose(logits, session.seen, options.sampling(), session.tokens.size(), constraint);
        constraint.accept(id);
        double logProbability = isChosen ? aheadLogProbability : logProbability(sampler, logits, id);
        List<TokenProbability> others = isChosen ? aheadOthers : mostProbable(sampler, logits);
        if (tokenizer.isStopToken(id)) {
            session.textStart = session.tokens.size();
            String rest = stops.add(stream.end()) + stops.rest();
            finish = stops.isFound() ? FinishReason.STOP_SEQUENCE : FinishReason.END_TOKEN;
            tell(new GeneratedToken(id, rest, logProbability, others));
            return id;
        }
        session.add(id);
        String certain = stops.add(show(id, stream));
        finish = reason();
        if (finish != null) {
            certain += stops.rest();
            // the held text may contain a complete stop sequence that waited for a longer one that begins earlier
            finish = stops.isFound() ? FinishReason.STOP_SEQUENCE : finish;
        }
        tell(new GeneratedToken(id, certain, logProbability, others));
        return id;
    }

    /** Returns the text that a token adds. The text of a shown control token is its name. */
    private String show(int id, TextStream to) {
        return isShown(id) ? to.end() + tokenizer.token(id) : to.append(id);
    }

    private boolean isShown(int id) {
        return options.controlTokens() && tokenizer.type(id) == TokenType.CONTROL;
    }

    /** Returns the smallest number of bytes that a token adds to the text. */
    private int bytes(int id) {
        return isShown(id)
                ? tokenizer.token(id).length()
                : tokenizer.isControl(id) ? 0 : tokenizer.pieceBytes(id).length;
    }

    /** Returns the reason why the text ends with the added token; null if it continues. */
    private @Nullable FinishReason reason() {
        if (stops.isFound()) {
            return FinishReason.STOP_SEQUENCE;
        }
        if (generated.size() + 1 == options.maxTokens()) {
            return FinishReason.MAX_TOKENS;
        }
        boolean full = session.freeTokens() <= 0;
        return full && options.whenFull() == WhenFull.STOP ? FinishReason.CONTEXT_FULL : null;
    }

    private void tell(GeneratedToken token) {
        generated.add(token);
        text.append(token.text());
        if (!listener.onToken(token) && finish == null) {
            finish = FinishReason.CANCELLED;
            text.append(stops.rest());
        }
    }
}
