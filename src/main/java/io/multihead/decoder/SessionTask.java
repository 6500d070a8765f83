package io.multihead.decoder;

import org.jspecify.annotations.Nullable;

/** The computation of one call of one session, step by step. Not thread-safe. */
abstract class SessionTask {
    final SessionState session;
    private final Patience patience;

    SessionTask(SessionState session) {
        this.session = session;
        patience = new Patience(session.cache.maxWait);
    }

    /** Returns the next step, which has at most {@code mostTokens} tokens; null if the task has ended. */
    abstract @Nullable Step next(int mostTokens);

    /** Returns whether the token after the step can be chosen before {@link #accept}, on any thread. */
    boolean choosesAhead() {
        return false;
    }

    void chooseAhead(Sampler sampler) {
        throw new IllegalStateException("task: chooses no tokens; expected a task that does");
    }

    /** Takes the logits of the computed step. */
    abstract void accept(Sampler sampler);

    /**
     * Takes the outcome of the step.
     *
     * @return whether the task may continue immediately; false if it must wait for room
     * @throws io.multihead.cache.CacheFullException if the task has waited for room as long as it may
     */
    final boolean settle(Sampler sampler) {
        Step step = session.step;
        if (step.outcome == Step.Outcome.NO_ROOM) {
            if (patience.isOver()) {
                throw session.cache.full(session.sequence);
            }
            return false;
        }
        patience.renew();
        if (step.outcome == Step.Outcome.MOVED) {
            session.computed = step.cached;
        } else {
            session.requireOpen();
            accept(sampler);
        }
        return true;
    }
}
