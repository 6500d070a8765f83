package io.multihead.decoder;

import org.jspecify.annotations.Nullable;

/** Computes all tokens of a session, and the logits of the token that would follow. */
final class LogitsTask extends SessionTask {
    private float[] logits = {};

    LogitsTask(SessionState session) {
        super(session);
    }

    /** Returns the logits of the token that would follow, for each token of the vocabulary. */
    float[] logits() {
        return logits;
    }

    @Override
    @Nullable
    Step next(int mostTokens) {
        if (logits.length > 0) {
            return null;
        }
        Step chunk = session.prefill(mostTokens, true);
        int waiting = session.tokens.size() - session.computed;
        return chunk != null
                ? chunk
                : session.step
                        .set(session.tokens.array(), session.computed, waiting, 1, 0)
                        .withSnapshot(true);
    }

    @Override
    void accept(Sampler sampler) {
        session.computed += session.step.count;
        if (session.step.rows > 0) {
            logits = sampler.finite(session.step.logits.get(0));
        }
    }
}
