package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import java.util.Arrays;
import java.util.Map;

/** Constraints that name tokens. */
public final class TokenRules {
    private static final float MOST_BIAS = 1000;

    private TokenRules() {}

    /**
     * {@return a constraint that forbids tokens at every position of a text}
     *
     * @param tokens ids; ids beyond the model's vocabulary have no effect
     */
    public static TokenConstraint forbidding(int... tokens) {
        int[] copy = checked(tokens);
        return vocabulary -> {
            Checks.notNull(vocabulary, "vocabulary");
            return new Forbidding(copy);
        };
    }

    /**
     * {@return a constraint that forces the first tokens of a text}
     *
     * @param tokens token ids, in the order of the text
     */
    public static TokenConstraint beginningWith(int... tokens) {
        int[] copy = checked(tokens);
        return vocabulary -> {
            Checks.indices(copy, Checks.notNull(vocabulary, "vocabulary").size(), "tokens");
            return new Beginning(copy, 0);
        };
    }

    /**
     * {@return a constraint that adds numbers to the logits of tokens, before temperature and the later steps, like OpenAI's {@code
     * logit_bias}}
     *
     * @param bias a number from -1000 to 1000 for each id; ids beyond the model's vocabulary have no effect
     */
    public static TokenConstraint biased(Map<Integer, Float> bias) {
        // the entries of a map that was read from JSON may be of other types
        for (Map.Entry<?, ?> entry : Checks.notNull(bias, "bias").entrySet()) {
            if (!(entry.getKey() instanceof Integer token && token >= 0)) {
                throw Checks.fail("bias", "token " + entry.getKey(), "expected an id, at least 0");
            }
            if (!(entry.getValue() instanceof Float value && Math.abs(value) <= MOST_BIAS)) {
                throw Checks.fail("bias", entry.getValue() + " of token " + token, "expected -1000 to 1000");
            }
        }
        Map<Integer, Float> copy = Map.copyOf(bias);
        return vocabulary -> {
            Checks.notNull(vocabulary, "vocabulary");
            return new Biased(copy);
        };
    }

    private static int[] checked(int[] tokens) {
        int[] copy = Checks.notNull(tokens, "tokens").clone();
        return Checks.indices(copy, Integer.MAX_VALUE, "tokens");
    }

    private static final class Forbidding implements TokenFilter {
        private final int[] tokens;

        Forbidding(int[] tokens) {
            this.tokens = tokens;
        }

        @Override
        public void restrict(TokenMask mask) {
            for (int token : tokens) {
                if (token < mask.size()) {
                    mask.forbid(token);
                }
            }
        }

        @Override
        public void accept(int token) {
            if (Arrays.stream(tokens).anyMatch(forbidden -> forbidden == token)) {
                throw Checks.fail("token", String.valueOf(token), "expected a token that is not forbidden");
            }
        }

        @Override
        public void rollBack(int count) {
            Checks.atLeast(count, 0, "tokens");
        }

        @Override
        public TokenFilter fork() {
            return this;
        }
    }

    private record Biased(Map<Integer, Float> bias) implements TokenFilter {
        @Override
        public void restrict(TokenMask mask) {
            // all tokens stay allowed
        }

        @Override
        public void adjust(float[] logits) {
            bias.forEach((token, value) -> {
                if (token < logits.length) {
                    logits[token] += value;
                }
            });
        }

        @Override
        public void accept(int token) {
            // nothing depends on the token
        }

        @Override
        public void rollBack(int count) {
            Checks.atLeast(count, 0, "tokens");
        }

        @Override
        public TokenFilter fork() {
            return this;
        }
    }

    private static final class Beginning implements TokenFilter {
        private final int[] tokens;
        private int accepted;

        Beginning(int[] tokens, int accepted) {
            this.tokens = tokens;
            this.accepted = accepted;
        }

        @Override
        public void restrict(TokenMask mask) {
            if (accepted < tokens.length) {
                boolean allowed = mask.allows(tokens[accepted]);
                mask.forbidAll();
                if (allowed) {
                    mask.allow(tokens[accepted]);
                }
            }
        }

        @Override
        public void accept(int token) {
            if (accepted < tokens.length && token != tokens[accepted]) {
                throw Checks.fail("token", String.valueOf(token), "expected " + tokens[accepted]);
            }
            accepted++;
        }

        @Override
        public void rollBack(int count) {
            Checks.index(count, accepted + 1L, "tokens");
            accepted -= count;
        }

        @Override
        public TokenFilter fork() {
            return new Beginning(tokens, accepted);
        }
    }
}
