package io.multihead.decoder;

import org.jspecify.annotations.Nullable;

/** Computes all tokens of a session, and the logits of two tokens that may follow. */
final class AnswerTask extends SessionTask {
    /** The indices of the logits of both answers. */
    record Answers(int yes, int no) {}

    private final Answers answers;
    private boolean isDone;
    private double yes;
    private double no;

    AnswerTask(SessionState session, Answers answers) {
        super(session);
        this.answers = answers;
    }

    /**
     * Returns the probability of yes, relative to both answers.
     *
     * @param name the name of the text, for errors
     */
    double score(String name) {
        if (!Double.isFinite(yes) || !Double.isFinite(no)) {
            throw new ArithmeticException(name + ": logits " + yes + " of yes and " + no
                    + " of no; expected finite numbers, which the model's weights do not give");
        }
        return 1 / (1 + StrictMath.exp(no - yes));
    }

    @Override
    @Nullable
    Step next(int mostTokens) {
        if (isDone) {
            return null;
        }
        Step chunk = session.prefill(mostTokens, false);
        int waiting = session.tokens.size() - session.computed;
        return chunk != null ? chunk : session.step.set(session.tokens.array(), session.computed, waiting, 1, 0);
    }

    @Override
    void accept(Sampler sampler) {
        session.computed += session.step.count;
        if (session.step.rows > 0) {
            float[] logits = session.step.logits.get(0);
            yes = logits[answers.yes()];
            no = logits[answers.no()];
            isDone = true;
        }
    }
}
