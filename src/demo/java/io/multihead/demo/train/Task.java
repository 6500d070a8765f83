package io.multihead.demo.train;

import java.util.SplittableRandom;

/** Tasks with synthetic sequences. The data of a step depends only on seed and step. */
public enum Task {
    /**
     * A random sequence, a separator, and the sequence again. The task is to predict every token of the second half.
     */
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
    /**
     * The task is to predict, at the first token, whether this token is repeated. Half of the sequences repeat it once,
     * and half do not.
     */
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

    /** The sizes of a batch. */
    public record Sizes(int vocabulary, int length, int batch) {}

    /** Tokens {@code [batch, length]} and the target of each token, row-major. */
    public record Batch(int[] tokens, int[] targets) {}

    /** Returns the batch of a step. */
    public abstract Batch batch(Sizes sizes, long seed, long step);

    /** Returns whether attention is causal. */
    public abstract boolean causal();
}
