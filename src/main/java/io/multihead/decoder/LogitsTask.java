package io.multihead.decoder;

import org.jspecify.annotations.Nullable;

/** Computes all tokens of a session; its step has the logits of the last one then. */
final class LogitsTask extends SessionTask {
    private boolean isDone;

    LogitsTask(SessionState session) {
        super(session);
    }

    @Override
    @Nullable
    Step next(int mostTokens) {
        if (isDone) {
            return null;
        }
        Step chunk = session.prefill(mostTokens);
        int waiting = session.tokens.size() - session.computed;
        return chunk != null ? chunk : session.step.set(session.tokens.array(), session.computed, waiting, 1, 0);
    }

    @Override
    void accept(Scratch scratch) {
        session.computed += session.step.count;
        isDone = session.step.rows > 0;
    }
}
