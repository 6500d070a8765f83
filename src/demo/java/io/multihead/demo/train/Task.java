package io.multihead.demo.train;

import java.util.SplittableRandom;

/** Synthetic sequences: the data of a step depends only on seed and step. */
public enum Task {
    /** A random sequence, a separator, and the sequence again: every token of the second half is to be foretold. */
    COPY {
        @Override
        public Batch batch(Sizes sizes, long seed, long step) {
            SplittableRandom random = new SplittableRandom(seed * 0x9e3779b97f4a7c15L + step);
            int half = sizes.length / 2;
            int[] tokens = new int[sizes.batch * sizes.length];
            int[] targets = new int[tokens.length];
            for (int b = 0; b < sizes.batch; b++) {
                int at = b * sizes.length;
                for (int i = 0; i < half; i++) {
                    tokens[at + i] = random.nextInt(sizes.vocabulary - 1);
                    tokens[at + half + i] = i == 0 ? sizes.vocabulary - 1 : tokens[at + i - 1];
                    targets[at + i] = IGNORED;
                    targets[at + half + i] = tokens[at + i];
                }
            }
            return new Batch(tokens, targets);
        }

        @Override
        public boolean causal() {
            return true;
        }
    },
    /** Whether the first token comes again: half of the sequences have it once more, half never; answered at the first. */
    RECALL {
        @Override
        public Batch batch(Sizes sizes, long seed, long step) {
            SplittableRandom random = new SplittableRandom(seed * 0x9e3779b97f4a7c15L + step);
            int[] tokens = new int[sizes.batch * sizes.length];
            int[] targets = new int[tokens.length];
            java.util.Arrays.fill(targets, IGNORED);
            for (int b = 0; b < sizes.batch; b++) {
                int at = b * sizes.length;
                tokens[at] = random.nextInt(sizes.vocabulary);
                for (int i = 1; i < sizes.length; i++) {
                    int other = random.nextInt(sizes.vocabulary - 1);
                    tokens[at + i] = other >= tokens[at] ? other + 1 : other;
                }
                boolean again = random.nextBoolean();
                if (again) {
                    tokens[at + 1 + random.nextInt(sizes.length - 1)] = tokens[at];
                }
                targets[at] = again ? 1 : 0;
            }
            return new Batch(tokens, targets);
        }

        @Override
        public boolean causal() {
            return false;
        }
    };

    /** The target of a position without a prediction. */
    public static final int IGNORED = -1;

    /** Sizes of a batch. */
    public record Sizes(int vocabulary, int length, int batch) {}

    /** Tokens {@code [batch, length]} and the target of each, row-major. */
    public record Batch(int[] tokens, int[] targets) {}

    /** The batch of a step. */
    public abstract Batch batch(Sizes sizes, long seed, long step);

    /** Whether a token must not see later ones. */
    public abstract boolean causal();
}
