package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.RowNorm;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention and a feed-forward network, each with a residual connection, and norms where the model has them. Immutable and
 * thread-safe.
 *
 * <p>Where nothing stands between a product and the residual connection, the product is added to the states in its write-back. All else
 * between two products is one pass over the rows.
 */
public final class Block {
    private final SelfAttention attention;
    private final FeedForward feedForward;
    private final Norms attentionNorms;
    private final Norms feedForwardNorms;
    private final boolean parallel;

    /** The norms of one part f: {@code outer(x + after(f(before(x))))}. */
    private record Norms(
            @Nullable Norm before,
            @Nullable Norm after,
            @Nullable Norm outer) {
        /** Returns whether f is added to x as it is. */
        boolean addsAlone() {
            return after == null && outer == null;
        }

        boolean fit(int dim) {
            return fits(before, dim) && fits(after, dim) && fits(outer, dim);
        }

        private static boolean fits(@Nullable Norm norm, int dim) {
            return norm == null || norm.dim() == dim;
        }
    }

    private Block(
            SelfAttention attention,
            Norms attentionNorms,
            FeedForward feedForward,
            Norms feedForwardNorms,
            boolean parallel) {
        this.attention = Checks.notNull(attention, "attention");
        this.attentionNorms = attentionNorms;
        this.feedForward = Checks.notNull(feedForward, "feedForward");
        this.feedForwardNorms = feedForwardNorms;
        this.parallel = parallel;
        int dim = attention.dim();
        if (feedForward.dim() != dim) {
            throw Checks.fail("feedForward", feedForward.dim() + " inputs", "expected " + dim + ", as of attention");
        }
        if (!attentionNorms.fit(dim) || !feedForwardNorms.fit(dim)) {
            throw Checks.fail("norms", "another number of elements", "expected " + dim + ", as of attention");
        }
    }

    /**
     * Returns {@code x + f(norm(x))} for both parts: pre-norm (Xiong et al. 2020), as Llama, Qwen and Mistral.
     *
     * @param attentionNorm before attention
     * @param attention the first part
     * @param feedForwardNorm before the feed-forward network
     * @param feedForward the second part
     * @return the block
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block preNorm(
            Norm attentionNorm, SelfAttention attention, Norm feedForwardNorm, FeedForward feedForward) {
        return new Block(
                attention,
                new Norms(Checks.notNull(attentionNorm, "attentionNorm"), null, null),
                feedForward,
                new Norms(Checks.notNull(feedForwardNorm, "feedForwardNorm"), null, null),
                false);
    }

    /**
     * Returns {@code norm(x + f(x))} for both parts: post-norm (Vaswani et al. 2017), as BERT.
     *
     * @param attention the first part
     * @param attentionNorm of its sum
     * @param feedForward the second part
     * @param feedForwardNorm of its sum
     * @return the block
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block postNorm(
            SelfAttention attention, Norm attentionNorm, FeedForward feedForward, Norm feedForwardNorm) {
        return new Block(
                attention,
                new Norms(null, null, Checks.notNull(attentionNorm, "attentionNorm")),
                feedForward,
                new Norms(null, null, Checks.notNull(feedForwardNorm, "feedForwardNorm")),
                false);
    }

    /**
     * Returns {@code x + after(f(before(x)))} for both parts, as Gemma 2 and 3; without the norms before, as OLMo 2.
     *
     * @param beforeAttention null for none
     * @param attention the first part
     * @param afterAttention null for none
     * @param beforeFeedForward null for none
     * @param feedForward the second part
     * @param afterFeedForward null for none
     * @return the block
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block sandwichNorm(
            @Nullable Norm beforeAttention,
            SelfAttention attention,
            @Nullable Norm afterAttention,
            @Nullable Norm beforeFeedForward,
            FeedForward feedForward,
            @Nullable Norm afterFeedForward) {
        return new Block(
                attention,
                new Norms(beforeAttention, afterAttention, null),
                feedForward,
                new Norms(beforeFeedForward, afterFeedForward, null),
                false);
    }

    /**
     * Returns {@code x + attention(norm1(x)) + feedForward(norm2(x))}, as GPT-NeoX; with one norm for both, as Phi and Cohere.
     *
     * @param attentionNorm before attention
     * @param attention the first part
     * @param feedForwardNorm before the feed-forward network; null for the same norm
     * @param feedForward the second part
     * @return the block
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block parallel(
            Norm attentionNorm, SelfAttention attention, @Nullable Norm feedForwardNorm, FeedForward feedForward) {
        return new Block(
                attention,
                new Norms(Checks.notNull(attentionNorm, "attentionNorm"), null, null),
                feedForward,
                new Norms(feedForwardNorm, null, null),
                true);
    }

    /**
     * Returns this block with another first part, such as the same with some heads dropped.
     *
     * @param changed replaces the first part
     * @return the changed block
     * @throws IllegalArgumentException if it has states of another size
     */
    public Block withAttention(SelfAttention changed) {
        return new Block(changed, attentionNorms, feedForward, feedForwardNorms, parallel);
    }

    /**
     * Returns this block with a normalisation of its result: what stands behind the last block of an encoder with norms before parts.
     *
     * @param norm of what the feed-forward network was added to
     * @return the changed block
     * @throws IllegalArgumentException if it has another number of elements
     * @throws IllegalStateException if the block is parallel, or post-norm, whose result is normalised
     */
    public Block withResultNorm(Norm norm) {
        if (parallel || feedForwardNorms.outer != null) {
            throw new IllegalStateException("block: parallel or post-norm; expected norms before its parts");
        }
        Norms norms = new Norms(feedForwardNorms.before, feedForwardNorms.after, Checks.notNull(norm, "norm"));
        return new Block(attention, attentionNorms, feedForward, norms, false);
    }

    /**
     * {@return the first part}
     */
    public SelfAttention attention() {
        return attention;
    }

    /**
     * {@return the second part}
     */
    public FeedForward feedForward() {
        return feedForward;
    }

    /** Returns the floats of a token's wide row. */
    int floats() {
        return Math.max(attention.layout().floats(), feedForward.layout().floats());
    }

    /** Computes the states of a batch in place. */
    void forward(Compute cpu, int layer, TokenBatch batch, Buffers buffers, @Nullable Tensor weights) {
        int tokens = batch.tokens();
        normalise(cpu, tokens, attentionNorms.before, buffers);
        Tensor x = input(attentionNorms, buffers);
        Tensor context = attention.attend(cpu, x, layer, batch, buffers, weights);
        if (parallel) {
            // of the states before attention is added
            normalise(cpu, tokens, feedForwardNorms.before, buffers);
            attention.output().add(cpu, context, buffers.states());
            feedForward.down().add(cpu, feedForward.hidden(cpu, x, buffers), buffers.states());
            return;
        }
        add(cpu, attention.output(), context, attentionNorms, feedForwardNorms.before, buffers);
        Tensor hidden = feedForward.hidden(cpu, input(feedForwardNorms, buffers), buffers);
        add(cpu, feedForward.down(), hidden, feedForwardNorms, null, buffers);
    }

    private static void normalise(Compute cpu, int tokens, @Nullable Norm norm, Buffers buffers) {
        buffers.norm.run(cpu, tokens, false, null, null, Norm.row(norm));
    }

    /** Returns what a part reads: normalised states, or the states. */
    private static Tensor input(Norms norms, Buffers buffers) {
        return norms.before == null ? buffers.states() : buffers.updates(buffers.tokens());
    }

    /** Adds the last product of a part to the states, and normalises them for the next part. */
    private static void add(
            Compute cpu, PackedLinear last, Tensor x, Norms norms, @Nullable Norm next, Buffers buffers) {
        boolean alone = norms.addsAlone();
        if (alone) {
            last.add(cpu, x, buffers.states());
        } else {
            last.forward(cpu, x, buffers.updates(buffers.tokens()));
        }
        RowNorm after = Norm.row(norms.after);
        buffers.norm.run(cpu, buffers.tokens(), !alone, after, Norm.row(norms.outer), Norm.row(next));
    }
}
