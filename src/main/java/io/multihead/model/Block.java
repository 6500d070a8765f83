package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A sequence of parts of a model, each of which adds its result to the states: in most models, attention and a feed-forward network.
 * Immutable and thread-safe.
 *
 * <p>If a product is followed directly by the residual connection, the product is added to the states in its write-back. All other operations
 * between two products are one pass over the rows.
 */
public final class Block {
    private final List<Sublayer> sublayers;
    private final boolean parallel;
    private final int dim;
    private final List<StateSizes> states;
    private final float scale;

    private Block(List<Sublayer> sublayers, boolean parallel, float scale) {
        this.sublayers = sublayers;
        this.scale = scale;
        this.parallel = parallel;
        dim = sublayers.get(0).part().dim();
        List<StateSizes> all = new ArrayList<>();
        for (int i = 0; i < sublayers.size(); i++) {
            Part part = sublayers.get(i).part();
            if (part.dim() != dim) {
                throw Checks.fail("part " + i, "states of " + part.dim(), "expected " + dim + ", as in the first");
            }
            all.addAll(part.states());
        }
        states = List.copyOf(all);
    }

    /**
     * {@return a block of any parts, each of which reads the states with the results of the earlier parts}
     *
     * @param sublayers one part or more
     * @throws IllegalArgumentException if there is no part, or the states of parts differ in size
     */
    public static Block of(Sublayer... sublayers) {
        List<Sublayer> all = List.of(Checks.noNulls(sublayers, "sublayers"));
        if (all.isEmpty()) {
            throw Checks.fail("sublayers", "none", "expected at least one");
        }
        return new Block(all, false, 1f);
    }

    /**
     * {@return {@code x + f(norm(x))} for both parts: pre-norm (Xiong et al. 2020), as in Llama, Qwen and Mistral}
     *
     * @param firstNorm the norm before the first part
     * @param first the first part, attention in most models
     * @param secondNorm the norm before the second part
     * @param second the second part, a feed-forward network in most models
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block preNorm(Norm firstNorm, Part first, Norm secondNorm, Part second) {
        return of(
                new Sublayer(first, Checks.notNull(firstNorm, "firstNorm"), null, null),
                new Sublayer(second, Checks.notNull(secondNorm, "secondNorm"), null, null));
    }

    /**
     * {@return {@code norm(x + f(x))} for both parts: post-norm (Vaswani et al. 2017), as in BERT}
     *
     * @param first the first part
     * @param firstNorm the norm of the first part's sum
     * @param second the second part
     * @param secondNorm the norm of the second part's sum
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block postNorm(Part first, Norm firstNorm, Part second, Norm secondNorm) {
        return of(
                new Sublayer(first, null, null, Checks.notNull(firstNorm, "firstNorm")),
                new Sublayer(second, null, null, Checks.notNull(secondNorm, "secondNorm")));
    }

    /**
     * {@return {@code x + after(f(before(x)))} for both parts, as in Gemma 2 and 3, or without the norms before the parts, as in OLMo 2}
     *
     * @param beforeFirst the norm before the first part; null for none
     * @param first the first part
     * @param afterFirst the norm after the first part; null for none
     * @param beforeSecond the norm before the second part; null for none
     * @param second the second part
     * @param afterSecond the norm after the second part; null for none
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block sandwichNorm(
            @Nullable Norm beforeFirst,
            Part first,
            @Nullable Norm afterFirst,
            @Nullable Norm beforeSecond,
            Part second,
            @Nullable Norm afterSecond) {
        return of(
                new Sublayer(first, beforeFirst, afterFirst, null),
                new Sublayer(second, beforeSecond, afterSecond, null));
    }

    /**
     * {@return {@code x + first(norm1(x)) + second(norm2(x))}, as in GPT-NeoX, or with one norm for both parts, as in Phi and Cohere}
     *
     * @param firstNorm the norm before the first part
     * @param first the first part
     * @param secondNorm the norm before the second part; null if the first norm serves both parts
     * @param second the second part
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Block parallel(Norm firstNorm, Part first, @Nullable Norm secondNorm, Part second) {
        return new Block(
                List.of(
                        new Sublayer(first, Checks.notNull(firstNorm, "firstNorm"), null, null),
                        new Sublayer(second, secondNorm, null, null)),
                true,
                1f);
    }

    /**
     * {@return this block with another attention, for example the same attention with some heads
     * dropped}
     *
     * @param changed replaces the first attention among the parts
     * @throws IllegalArgumentException if the size of its states differs
     * @throws IllegalStateException if no part is a {@link SelfAttention}
     */
    public Block withAttention(SelfAttention changed) {
        SelfAttention own = attention();
        List<Sublayer> all = new ArrayList<>(sublayers);
        all.replaceAll(each -> each.part() == own ? each.withPart(Checks.notNull(changed, "changed")) : each);
        return new Block(List.copyOf(all), parallel, scale);
    }

    /**
     * {@return this block with a normalization of its result, for example after the last block of a pre-norm encoder}
     *
     * @param norm the norm of the sum of the states and the last part's result
     * @throws IllegalArgumentException if its number of elements differs
     * @throws IllegalStateException if the block is parallel, or its result is normalized already (post-norm)
     */
    public Block withResultNorm(Norm norm) {
        Sublayer last = sublayers.get(sublayers.size() - 1);
        if (parallel || last.sum() != null) {
            throw new IllegalStateException("block: parallel or post-norm; expected norms before its parts");
        }
        List<Sublayer> all = new ArrayList<>(sublayers);
        all.set(all.size() - 1, last.withSum(Checks.notNull(norm, "norm")));
        return new Block(List.copyOf(all), false, scale);
    }

    /**
     * {@return this block with a factor that multiplies its resulting states, as in Gemma 4}
     *
     * @param factor finite, rounded to f32
     * @throws IllegalArgumentException if it is not finite
     */
    public Block withScale(double factor) {
        if (!Float.isFinite((float) factor)) {
            throw Checks.fail("factor", String.valueOf(factor), "expected a finite f32");
        }
        return new Block(sublayers, parallel, (float) factor);
    }

    /** {@return the parts with their norms, in the order in which they compute} */
    public List<Sublayer> sublayers() {
        return sublayers;
    }

    /**
     * {@return the first attention among the parts}
     *
     * @throws IllegalStateException if no part is a {@link SelfAttention}
     */
    public SelfAttention attention() {
        return part(SelfAttention.class);
    }

    /**
     * {@return the first feed-forward network among the parts}
     *
     * @throws IllegalStateException if no part is a {@link FeedForward}
     */
    public FeedForward feedForward() {
        return part(FeedForward.class);
    }

    private <P extends Part> P part(Class<P> kind) {
        for (Sublayer each : sublayers) {
            if (kind.isInstance(each.part())) {
                return kind.cast(each.part());
            }
        }
        throw new IllegalStateException("block: no " + kind.getSimpleName() + " among its parts; expected one");
    }

    /** {@return the number of elements of a state} */
    public int dim() {
        return dim;
    }

    /** Returns the states that a cache keeps of each sequence for this block. */
    List<StateSizes> states() {
        return states;
    }

    /** Returns whether a part reads the states of another part. */
    boolean sharesStates() {
        return sublayers.stream().anyMatch(each -> each.part().sharesStates());
    }

    /** Returns the largest number of positions of a sequence. */
    long positions() {
        long fewest = Long.MAX_VALUE;
        for (Sublayer each : sublayers) {
            fewest = Math.min(fewest, each.part().positions());
        }
        return fewest;
    }

    /** Returns the sizes of a call for each token. */
    BufferSizes sizes() {
        int scratch = 0;
        boolean results = parallel && sublayers.get(1).before() != null;
        for (Sublayer each : sublayers) {
            scratch = Math.max(scratch, PartLayout.stride(each.part().scratch()));
            results |= each.needsResults();
        }
        return new BufferSizes(dim, scratch, results);
    }

    /** Fails if the first attention cannot write its weights to a tensor. */
    void requireWeights(Tensor weights, int index, int tokens) {
        String name = "weights[" + index + "]";
        if (sublayers.stream().noneMatch(each -> each.part() instanceof SelfAttention)) {
            throw Checks.fail(name, "those of a block without softmax attention", "expected null");
        }
        int heads = attention().heads();
        if (weights.rank() != 3 || weights.dim(0) != heads || weights.dim(1) != tokens) {
            throw Checks.fail(name, "shape " + weights.shape(), "expected [" + heads + ", " + tokens + ", keys]");
        }
    }

    /** Computes the states of a batch in place. */
    void forward(Compute cpu, Buffers buffers) {
        if (parallel) {
            forwardParallel(cpu, buffers);
        } else {
            forwardInTurns(cpu, buffers);
        }
        if (scale != 1f) {
            buffers.scale.scale(cpu, buffers.tokens(), scale);
        }
    }

    private void forwardInTurns(Compute cpu, Buffers buffers) {
        NormPass pass = buffers.norm;
        int tokens = buffers.tokens();
        for (int i = 0; i < sublayers.size(); i++) {
            Sublayer each = sublayers.get(i);
            if (each.readsUpdates()) {
                pass.read(Norm.row(each.before()));
            }
            pass.run(cpu, tokens);
            Tensor x = each.readsUpdates() ? buffers.updates(tokens) : buffers.states();
            if (each.addsAlone()) {
                compute(cpu, each.part(), x, buffers.states(), true, buffers);
            } else {
                Tensor y = each.needsResults() ? buffers.results(tokens) : buffers.updates(tokens);
                compute(cpu, each.part(), x, y, false, buffers);
                pass.add(each.needsResults(), Norm.row(each.after()), Norm.row(each.sum()));
            }
        }
        pass.run(cpu, tokens);
    }

    private void forwardParallel(Compute cpu, Buffers buffers) {
        int tokens = buffers.tokens();
        Sublayer first = sublayers.get(0);
        Sublayer second = sublayers.get(1);
        buffers.norm.read(Norm.row(first.before())).run(cpu, tokens);
        Tensor x = buffers.updates(tokens);
        Tensor other = x;
        if (second.before() != null) { // the norm reads the states before the additions
            buffers.secondNorm.read(Norm.row(second.before())).run(cpu, tokens);
            other = buffers.results(tokens);
        }
        compute(cpu, first.part(), x, buffers.states(), true, buffers);
        compute(cpu, second.part(), other, buffers.states(), true, buffers);
    }

    private static void compute(Compute cpu, Part part, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        int layers = buffers.beginPart();
        part.compute(cpu, x, y, adds, buffers);
        int used = buffers.layers() - layers;
        if (used != part.states().size()) {
            throw new IllegalStateException("part: " + used + " states of sequences used; expected "
                    + part.states().size() + ", as states() says");
        }
    }
}
