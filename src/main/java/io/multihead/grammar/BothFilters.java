package io.multihead.grammar;

/** Allows the tokens that two filters allow. */
record BothFilters(TokenFilter first, TokenFilter second) implements TokenFilter {
    @Override
    public void restrict(TokenMask mask) {
        first.restrict(mask);
        second.restrict(mask);
    }

    @Override
    public void adjust(float[] logits) {
        first.adjust(logits);
        second.adjust(logits);
    }

    @Override
    public void accept(int token) {
        first.accept(token);
        try {
            second.accept(token);
        } catch (RuntimeException refused) {
            first.rollBack(1);
            throw refused;
        }
    }

    @Override
    public void rollBack(int tokens) {
        first.rollBack(tokens);
        second.rollBack(tokens);
    }

    @Override
    public TokenFilter fork() {
        return new BothFilters(first.fork(), second.fork());
    }
}
