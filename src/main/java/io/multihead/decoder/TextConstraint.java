package io.multihead.decoder;

import io.multihead.grammar.TokenConstraint;
import io.multihead.grammar.TokenFilter;
import io.multihead.grammar.TokenMask;
import org.jspecify.annotations.Nullable;

/** The tokens that the options of one text allow next. */
final class TextConstraint {
    /** Allows every token. */
    static final TextConstraint NONE = new TextConstraint(null, 1);

    private final @Nullable TokenFilter filter;
    private final TokenMask mask;
    private int accepted;

    private TextConstraint(@Nullable TokenFilter filter, int vocabulary) {
        this.filter = filter;
        mask = new TokenMask(vocabulary);
    }

    static TextConstraint begin(TokenConstraint constraint, Prompts prompts) {
        return constraint == TokenConstraint.NONE
                ? NONE
                : new TextConstraint(constraint.begin(prompts.tokens().get()), prompts.vocabulary());
    }

    /** Applies the filter's changes to logits, and sets the logits of forbidden tokens to negative infinity. */
    void apply(float[] logits) {
        if (filter == null) {
            return;
        }
        mask.allowAll();
        filter.restrict(mask);
        if (mask.next(0) < 0) {
            throw new IllegalStateException("constraint: no token of the vocabulary is allowed as token " + accepted
                    + " of the text; expected at least one");
        }
        filter.adjust(logits);
        for (int id = mask.next(0); id >= 0; id = mask.next(id + 1)) {
            if (!(Math.abs(logits[id]) <= Float.MAX_VALUE)) {
                throw new ArithmeticException(
                        "constraint: logit " + logits[id] + " for token " + id + "; expected a finite number");
            }
        }
        mask.forbid(logits);
    }

    /** Takes the chosen token. */
    void accept(int token) {
        if (filter != null) {
            filter.accept(token);
            accepted++;
        }
    }
}
