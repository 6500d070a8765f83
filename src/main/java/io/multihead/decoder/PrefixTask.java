package io.multihead.decoder;

import org.jspecify.annotations.Nullable;

/** Computes all tokens of a session, without logits. At least one token follows them in the sessions that begin with this prefix. */
final class PrefixTask extends SessionTask {
    PrefixTask(SessionState session) {
        super(session);
    }

    @Override
    @Nullable
    Step next(int mostTokens) {
        int waiting = session.tokens.size() - session.computed;
        int count = Math.min(waiting, mostTokens);
        return count == 0
                ? null
                : session.step.set(session.tokens.array(), session.computed, count, 0, waiting - count + 1);
    }

    @Override
    void accept(Sampler sampler) {
        session.computed += session.step.count;
    }
}
