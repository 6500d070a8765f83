package io.multihead.grammar;

import io.multihead.internal.base.Checks;

/**
 * A restriction of the tokens of a text: a {@link Grammar}, {@link TokenRules}, or a class of the user. A constraint makes a {@link
 * TokenFilter} for each text. Immutable and thread-safe.
 */
@FunctionalInterface
public interface TokenConstraint {
    /** Allows every token. */
    TokenConstraint NONE = vocabulary -> {
        Checks.notNull(vocabulary, "vocabulary");
        return new FreeTokens();
    };

    /**
     * Begins a text.
     *
     * @param vocabulary the tokens of the model
     * @return a new filter, before the first token
     */
    TokenFilter begin(TokenVocabulary vocabulary);

    /**
     * {@return a constraint that allows only tokens that both constraints allow}
     *
     * @param other another constraint
     */
    default TokenConstraint and(TokenConstraint other) {
        Checks.notNull(other, "other");
        return vocabulary -> new BothFilters(begin(vocabulary), other.begin(vocabulary));
    }
}
