package io.multihead.train;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.SplitMix64;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;

/**
 * A batch of a language model: windows of a text's tokens, and the target of each token. The model is any layer
 * from ids {@code [windows, length]} to logits {@code [windows, length, vocabulary]}.
 *
 * <p>Immutable and thread-safe.
 */
public final class TokenWindows {
    static final int IGNORED = -100;
    /**
     * The fractions of the chosen tokens that are masked and that are replaced with random tokens, as in BERT (Devlin et al. 2019, appendix A.1).
     */
    private static final double MASKED = 0.8;

    private static final double DRAWN = 0.1;

    private final Tensor ids;
    private final int[] targets;

    private TokenWindows(int[] tokens, int[] targets, int length) {
        float[] numbers = new float[tokens.length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = tokens[i];
        }
        ids = Tensor.of(numbers, tokens.length / length, length);
        this.targets = targets;
    }

    /**
     * Returns windows at random positions, with the next token as the target of each token.
     *
     * @param tokens tokens of a text, or of several texts with end tokens between them; more than
     *     length
     * @param windows number of windows
     * @param length tokens of a window
     * @param seed the same seed gives the same windows
     * @return the batch
     * @throws IllegalArgumentException if there are too few tokens, or a number is below 1
     */
    public static TokenWindows next(int[] tokens, int windows, int length, long seed) {
        requireTokens(tokens, windows, length, 1);
        SplitMix64 random = new SplitMix64(seed);
        int[] seen = new int[Checks.fitsInt((long) windows * length, "windows x length")];
        int[] following = new int[seen.length];
        for (int at = 0; at < seen.length; at += length) {
            int from = below(random, tokens.length - length);
            System.arraycopy(tokens, from, seen, at, length);
            System.arraycopy(tokens, from + 1, following, at, length);
        }
        return new TokenWindows(seen, following, length);
    }

    /**
     * Returns windows at random positions, with a share of tokens as targets: eight of ten targets are replaced by the mask, one by a random token,
     * and one is unchanged (Devlin et al. 2019).
     *
     * @param tokens tokens of a text, or of several texts; at least length
     * @param windows number of windows
     * @param length tokens of a window
     * @param masking the share of masked tokens, and the mask token
     * @param seed the same seed gives the same windows
     * @return the batch
     * @throws IllegalArgumentException if there are too few tokens, or a number is below 1
     */
    public static TokenWindows masked(int[] tokens, int windows, int length, Masking masking, long seed) {
        Checks.notNull(masking, "masking");
        requireTokens(tokens, windows, length, 0);
        SplitMix64 random = new SplitMix64(seed);
        int[] seen = new int[Checks.fitsInt((long) windows * length, "windows x length")];
        int[] chosen = new int[seen.length];
        for (int at = 0; at < seen.length; at += length) {
            System.arraycopy(tokens, below(random, tokens.length - length + 1), seen, at, length);
        }
        for (int i = 0; i < seen.length; i++) {
            chosen[i] = random.nextUnit() < masking.share ? seen[i] : IGNORED;
            if (chosen[i] != IGNORED) {
                double kind = random.nextUnit();
                seen[i] = kind < MASKED
                        ? masking.mask
                        : kind < MASKED + DRAWN ? below(random, masking.vocabulary) : seen[i];
            }
        }
        return new TokenWindows(seen, chosen, length);
    }

    /**
     * The choice of the tokens that are masked.
     *
     * @param share share of the tokens, above 0 to 1; BERT's is 0.15
     * @param mask the id of the mask token
     * @param vocabulary the exclusive limit of the random ids, which replace one target in ten
     */
    public record Masking(double share, int mask, int vocabulary) {
        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Masking {
            if (!(share > 0 && share <= 1)) {
                throw Checks.fail("share", String.valueOf(share), "expected above 0 to 1");
            }
            Checks.atLeast(vocabulary, 1, "vocabulary");
            Checks.index(mask, vocabulary, "mask");
        }
    }

    private static void requireTokens(int[] tokens, int windows, int length, int more) {
        Checks.atLeast(windows, 1, "windows");
        Checks.atLeast(length, 1, "length");
        if (Checks.notNull(tokens, "tokens").length < (long) length + more) {
            throw Checks.fail("tokens", tokens.length + " tokens", "expected at least " + ((long) length + more));
        }
        for (int i = 0; i < tokens.length; i++) {
            Checks.atLeast(tokens[i], 0, "tokens[" + i + "]");
        }
    }

    private static int below(SplitMix64 random, int bound) {
        return (int) (random.nextUnit() * bound);
    }

    /** {@return the ids that a model reads: f32 {@code [windows, length]} on the heap} */
    public Tensor ids() {
        return ids;
    }

    /** {@return the target of each token, row-major, or -100 for none: a copy} */
    public int[] targets() {
        return targets.clone();
    }

    /**
     * Computes the loss, and adds its gradients.
     *
     * @param cpu threads and scratch
     * @param model a layer from ids to logits
     * @param gradients the gradients by the names of its parameters; parameters without a gradient are frozen
     * @param seed the seed of dropout
     * @return the mean cross-entropy of a target, in nats
     * @throws IllegalArgumentException if the model does not take these ids or windows of this length, or a gradient does not fit
     */
    public double learn(Compute cpu, Layer model, Map<String, Tensor> gradients, long seed) {
        Tensor logits = logits(model);
        Tensor upstream = logits(model);
        try (Pass pass = model.record(cpu, ids, logits, seed)) {
            double loss = CrossEntropy.of().lossAndGradient(cpu, logits, targets, upstream);
            pass.backward(upstream, null, gradients);
            return loss;
        }
    }

    /**
     * Computes the loss without dropout and gradients.
     *
     * @param cpu threads and scratch
     * @param model a layer from ids to logits
     * @return the mean cross-entropy of a target, in nats
     * @throws IllegalArgumentException if the model does not take these ids or windows of this length
     */
    public double loss(Compute cpu, Layer model) {
        Tensor logits = logits(model);
        model.forward(cpu, ids, logits);
        return CrossEntropy.of().forward(cpu, logits, targets);
    }

    private Tensor logits(Layer model) {
        Shape shape = Checks.notNull(model, "model").outputShape(ids.shape());
        return Tensor.of(new float[Checks.fitsInt(shape.elements(), "logits")], shape.toArray());
    }
}
