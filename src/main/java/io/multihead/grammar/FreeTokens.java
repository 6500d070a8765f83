package io.multihead.grammar;

import io.multihead.internal.base.Checks;

/** Allows every token. */
record FreeTokens() implements TokenFilter {
    @Override
    public void restrict(TokenMask mask) {
        // all tokens stay allowed
    }

    @Override
    public void accept(int token) {
        // nothing depends on the token
    }

    @Override
    public void rollBack(int tokens) {
        Checks.atLeast(tokens, 0, "tokens");
    }

    @Override
    public TokenFilter fork() {
        return this;
    }
}
