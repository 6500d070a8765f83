package io.multihead.model;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Self-attention of a trained model: the projections of queries, keys and values, normalization and rotation of each head in one pass,
 * attention over the keys of the batch or of a cache, and the output projection.
 *
 * <p>{@link AttentionOptions} have the mask, window, scale, soft-cap, sinks and linear biases. Decoders use {@code CAUSAL}, and encoders use
 * {@code DEFAULT}. Query head {@code h} uses key head {@code h / (heads / keyValueHeads)}. Keys are rotated before they are cached, so the
 * cache must have no ropes. Immutable and thread-safe.
 */
public final class SelfAttention implements Part {
    private final LinearGroup projections;
    private final PackedLinear output;
    private final AttentionLayout layout;
    private final List<StateSizes> states;
    private final AttentionOptions options;
    private final @Nullable Rope rope;
    private final HeadNorms norms;
    /** The layer whose keys and values are read, or -1 if this part has its own keys and values. */
    private final int keysOf;

    /** The factor of each query head; null if all factors are 1. */
    private final float @Nullable [] headFactors;

    private SelfAttention(
            LinearGroup projections,
            PackedLinear output,
            AttentionLayout layout,
            AttentionOptions options,
            @Nullable Rope rope,
            HeadNorms norms,
            int keysOf,
            float @Nullable [] headFactors) {
        this.projections = projections;
        this.output = output;
        this.layout = layout;
        states = layout.shared()
                ? List.of()
                : List.of(new KeyValueSizes(
                        layout.keyValueHeads(), layout.headDim(), layout.valueDim(), window(options)));
        this.options = options;
        this.rope = rope;
        this.norms = norms;
        this.keysOf = keysOf;
        this.headFactors = headFactors;
    }

    /** Returns the number of tokens that a query sees, or 0 for all. */
    private static int window(AttentionOptions options) {
        long before = options.mask().keysBefore();
        return before < Integer.MAX_VALUE ? (int) before + 1 : 0;
    }

    /**
     * Returns attention without positions, and without norms of heads. The number of elements of a head is the number of a projection's outputs
     * divided by the number of its heads.
     *
     * @param heads query heads, a multiple of keyValueHeads
     * @param keyValueHeads heads of keys and values
     * @param projections query, key and value: {@code heads headDim}, {@code keyValueHeads headDim} and {@code keyValueHeads valueDim} outputs;
     *     or query and key, where the outputs for the key, before norms and rotation, are also the values (Gemma 4)
     * @param output {@code heads valueDim} inputs, and as many outputs as the projections have inputs
     * @param options mask, scale and score options
     * @return the part
     * @throws IllegalArgumentException if sizes do not fit, or the options have dropout
     */
    public static SelfAttention of(
            int heads, int keyValueHeads, LinearGroup projections, PackedLinear output, AttentionOptions options) {
        return of(heads, keyValueHeads, projections, output, options, false);
    }

    /**
     * Returns attention whose context is multiplied by gates before the output projection: the sigmoid of further outputs of the query projection
     * (Qiu et al. 2025, "Gated Attention for Large Language Models"; Qwen3-Next).
     *
     * @param heads query heads, a multiple of keyValueHeads
     * @param keyValueHeads heads of keys and values
     * @param projections query, key and value: {@code 2 heads headDim}, for each head its query and then as many gates,
     *     {@code keyValueHeads headDim} and {@code keyValueHeads headDim} outputs; or query and key, as in {@link #of}
     * @param output {@code heads headDim} inputs, and as many outputs as the projections have inputs
     * @param options mask, scale and score options
     * @return the part
     * @throws IllegalArgumentException if sizes do not fit, or the options have dropout
     */
    public static SelfAttention gated(
            int heads, int keyValueHeads, LinearGroup projections, PackedLinear output, AttentionOptions options) {
        return of(heads, keyValueHeads, projections, output, options, true);
    }

    /**
     * Returns attention to the keys and values of an earlier layer, without its own keys and values (Gemma 3n and 4).
     *
     * @param heads query heads, a multiple of keyValueHeads
     * @param sizes sizes of the keys and values of that layer
     * @param query the projection of the query, with {@code heads headDim} outputs
     * @param output {@code heads valueDim} inputs, and as many outputs as the query has inputs
     * @param options mask, scale and score options, with a window of at most the window of the sizes
     * @param layer the layer whose keys and values are read: its index among the states of the model's parts, from 0, in the order of
     *     computation
     * @return the part
     * @throws IllegalArgumentException if sizes do not fit, or the options have dropout
     */
    public static SelfAttention sharing(
            int heads,
            KeyValueSizes sizes,
            PackedLinear query,
            PackedLinear output,
            AttentionOptions options,
            int layer) {
        Checks.atLeast(heads, 1, "heads");
        Checks.atLeast(layer, 0, "layer");
        if (heads % Checks.notNull(sizes, "sizes").heads() != 0) {
            throw Checks.fail("sizes", sizes.toString(), "expected heads that divide " + heads);
        }
        if (dim(Checks.notNull(query, "query").outputs(), heads, "query") != sizes.headDim()) {
            throw Checks.fail(
                    "query", query.outputs() + " outputs", "expected " + heads + " heads of " + sizes.headDim());
        }
        AttentionLayout layout =
                new AttentionLayout(heads, sizes.heads(), sizes.headDim(), sizes.valueDim(), false, true, false);
        PackedLinear.requireSizes(output, layout.contextWidth(), query.inputs(), "output");
        requireNoDropout(options);
        if (!LayerCaches.keeps(sizes.window(), window(options))) {
            throw Checks.fail("sizes", sizes.toString(), "expected a window of at least the options'");
        }
        return new SelfAttention(LinearGroup.of(query), output, layout, options, null, HeadNorms.NONE, layer, null);
    }

    private static SelfAttention of(
            int heads,
            int keyValueHeads,
            LinearGroup projections,
            PackedLinear output,
            AttentionOptions options,
            boolean gated) {
        Checks.atLeast(heads, 1, "heads");
        if (keyValueHeads < 1 || heads % keyValueHeads != 0) {
            throw Checks.fail("keyValueHeads", String.valueOf(keyValueHeads), "expected a divisor of " + heads);
        }
        boolean keysAreValues = Checks.notNull(projections, "projections").size() == 2;
        if (!keysAreValues && projections.size() != 3) {
            throw Checks.fail(
                    "projections", projections.size() + " outputs", "expected query, key and value, or query and key");
        }
        int headDim = dim(projections.outputs(0), gated ? 2L * heads : heads, "query");
        int keyDim = dim(projections.outputs(1), keyValueHeads, "key");
        int valueDim = keysAreValues ? keyDim : dim(projections.outputs(2), keyValueHeads, "value");
        if (keyDim != headDim) {
            throw Checks.fail("projections", "key heads of " + keyDim, "expected " + headDim + ", as in queries");
        }
        if (gated && valueDim != headDim) {
            throw Checks.fail("projections", "value heads of " + valueDim, "expected " + headDim + ", as in gates");
        }
        AttentionLayout layout =
                new AttentionLayout(heads, keyValueHeads, headDim, valueDim, gated, false, keysAreValues);
        PackedLinear.requireSizes(output, layout.contextWidth(), projections.inputs(), "output");
        requireNoDropout(options);
        return new SelfAttention(projections, output, layout, options, null, HeadNorms.NONE, -1, null);
    }

    private static void requireNoDropout(AttentionOptions options) {
        if (!Checks.notNull(options, "options").dropout().equals(AttentionDropout.NONE)) {
            throw Checks.fail("options", options.dropout().toString(), "expected no dropout");
        }
    }

    private static int dim(int outputs, long heads, String argument) {
        if (outputs % heads != 0) {
            throw Checks.fail("projections", outputs + " outputs of " + argument, "expected a multiple of " + heads);
        }
        return (int) (outputs / heads);
    }

    /**
     * {@return this part with queries and keys that are rotated to the positions of their tokens}
     *
     * @param newRope a rope with one stream of positions, shared; null for none
     * @throws IllegalArgumentException if it rotates more elements than a head has, or has several streams
     */
    public SelfAttention withRope(@Nullable Rope newRope) {
        if (newRope != null && (newRope.rotaryDims() > layout.headDim() || newRope.streams() != 1)) {
            throw Checks.fail(
                    "rope", newRope.toString(), "expected one stream and at most " + layout.headDim() + " dims");
        }
        return new SelfAttention(projections, output, layout, options, newRope, norms, keysOf, headFactors);
    }

    /**
     * {@return this part with queries and keys that are normalized before they are rotated}
     *
     * @param queries the norm of queries: of {@code headDim} elements for each head, or of all heads of a token as one row; null for none
     * @param keys the norm of keys: of each head, or of all heads of a token as one row; null for none
     * @throws IllegalArgumentException if a norm has another number of elements
     */
    public SelfAttention withHeadNorms(@Nullable Norm queries, @Nullable Norm keys) {
        requireDim(queries, layout.gated() ? layout.headDim() : layout.queryWidth(), "queries");
        requireDim(keys, layout.keyWidth(), "keys");
        return new SelfAttention(
                projections,
                output,
                layout,
                options,
                rope,
                new HeadNorms(queries, keys, norms.values()),
                keysOf,
                headFactors);
    }

    /**
     * {@return this part with values that are normalized before they are cached, as in Gemma 4}
     *
     * @param values a norm of {@code valueDim} elements, applied to each head
     * @throws IllegalArgumentException if it has another number of elements, or another layer owns the values
     */
    public SelfAttention withValueNorm(Norm values) {
        if (Checks.notNull(values, "values").dim() != layout.valueDim() || layout.shared()) {
            throw Checks.fail(
                    "values", values.dim() + " elements", "expected " + layout.valueDim() + ", of own values");
        }
        HeadNorms changed = new HeadNorms(norms.queries(), norms.keys(), values);
        return new SelfAttention(projections, output, layout, options, rope, changed, keysOf, headFactors);
    }

    /**
     * Returns this part with a factor for the output of each query head. The factor 0 drops a head.
     *
     * @param factors one finite number per query head, copied
     * @return the changed part, which shares the weights
     * @throws IllegalArgumentException if the number of factors differs from the number of heads, or a factor is not finite
     */
    public SelfAttention withHeadFactors(float... factors) {
        float[] copy = Checks.notNull(factors, "factors").clone();
        Checks.length(copy.length, heads(), "factors", "one per query head");
        for (float factor : copy) {
            if (!Float.isFinite(factor)) {
                throw Checks.fail("factors", Arrays.toString(copy), "expected finite numbers");
            }
        }
        return new SelfAttention(projections, output, layout, options, rope, norms, keysOf, copy);
    }

    /**
     * {@return attention with only some of the heads (Michel et al. 2019, section 4), whose weights and options are copied}. The new part needs
     * less time and memory. Its result equals {@link #withHeadFactors} with 0 for the other heads, except for rounding.
     *
     * <p>Weights are copied in their stored format, which includes quantized blocks. Products have the same bits as products with the same weights
     * packed again. The output projection has blocks of inputs, which are elements of heads: 32 or 256 elements stay together ({@link
     * io.multihead.gemm.WeightFormat#blockInputs}). If heads are not whole blocks, {@link #withF32Output} allows any heads.
     *
     * @param arena owns the copies; a shared arena if several threads compute
     * @param kept query heads, in the desired order; heads that share a key/value head must be adjacent, and each remaining key/value head
     *     needs the same number of query heads
     * @throws IllegalArgumentException if no head is kept, a head is repeated or does not exist, the remaining key/value heads have different
     *     numbers of query heads, the elements of the kept heads are not whole blocks of the output projection, a norm spans all heads, or
     *     options cannot be restricted to some heads ({@link AttentionOptions#selectHeads})
     */
    public SelfAttention keepHeads(Arena arena, int... kept) {
        Checks.notNull(arena, "arena");
        requireHeadNorm(norms.queries(), "queries");
        requireHeadNorm(norms.keys(), "keys");
        if (layout.shared()) {
            throw Checks.fail("attention", "keys of layer " + keysOf, "expected its own, for some of its heads");
        }
        HeadSubset subset = new HeadSubset(layout, kept);
        subset.requireBlocks(output);
        AttentionOptions fewer = options.selectHeads(arena, kept);
        return new SelfAttention(
                subset.projections(projections, arena),
                subset.output(output, arena),
                subset.layout(),
                fewer,
                rope,
                norms,
                keysOf,
                headFactors == null ? null : subset.factors(headFactors));
    }

    /**
     * Returns this part with its output projection in f32, from which {@link #keepHeads} may take any heads. Results differ by rounding if
     * the projection was quantized. The new projection takes 4 bytes per element.
     *
     * @param arena owns the copy; a shared arena if several threads compute
     * @return the changed part, which shares the other weights
     */
    public SelfAttention withF32Output(Arena arena) {
        PackedLinear wide = output.widened(Checks.notNull(arena, "arena"));
        return new SelfAttention(projections, wide, layout, options, rope, norms, keysOf, headFactors);
    }

    private void requireHeadNorm(@Nullable Norm norm, String argument) {
        if (norm != null && norm.dim() != layout.headDim()) {
            throw Checks.fail(
                    argument,
                    "a norm of " + norm.dim() + " elements",
                    "expected one of each head's " + layout.headDim() + ", which does not depend on other heads");
        }
    }

    private void requireDim(@Nullable Norm norm, int width, String argument) {
        if (norm != null && norm.dim() != layout.headDim() && norm.dim() != width) {
            throw Checks.fail(argument, norm.dim() + " elements", "expected " + layout.headDim() + " or " + width);
        }
    }

    /** {@return the number of query heads} */
    public int heads() {
        return layout.heads();
    }

    /** {@return the number of key/value heads} */
    public int keyValueHeads() {
        return layout.keyValueHeads();
    }

    /** {@return the number of elements of a query or key} */
    public int headDim() {
        return layout.headDim();
    }

    /** {@return the number of elements of a value} */
    public int valueDim() {
        return layout.valueDim();
    }

    @Override
    public int dim() {
        return projections.inputs();
    }

    /** {@return the projections of query, key and value, of query and key, or of query alone} */
    public LinearGroup projections() {
        return projections;
    }

    /** {@return the output projection} */
    public PackedLinear output() {
        return output;
    }

    @Override
    public int scratch() {
        return layout.floats();
    }

    @Override
    public List<StateSizes> states() {
        return states;
    }

    @Override
    public boolean sharesStates() {
        return layout.shared();
    }

    @Override
    public long positions() {
        return rope == null ? Long.MAX_VALUE : rope.positions();
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        TokenBatch batch = RowChecks.requireBatch(cpu, x, y, dim(), scratch(), buffers);
        int layer = layout.shared() ? buffers.requireLayer(keysOf) : buffers.takeLayer();
        if (layout.shared()) {
            batch.requireWindow(layer, window(options));
        }
        AttentionLayout.Views views = buffers.wide(layout, batch.tokens());
        projections.forward(cpu, x, views.projections(), views.parts());
        if (!layout.shared()) { // otherwise the attention that owns the keys has found the positions
            batch.locate(layer);
        }
        buffers.heads.bind(norms, rope).run(cpu, buffers.wide(), layout, batch);
        Tensor keys = views.keys();
        Tensor values = views.values();
        KeyValueView keyValueView =
                keys == null || values == null ? batch.keyValues(layer) : batch.keyValues(cpu, layer, keys, values);
        Tensor blockWeights = buffers.takeBlockWeights();
        if (blockWeights != null) {
            // a separate call, since a call with weights may round the context in another way
            Tensor batched = blockWeights.reshape(1, blockWeights.dim(0), blockWeights.dim(1), blockWeights.dim(2));
            AttentionOutputs first = views.attended().withWeights(batched);
            Attention.forward(cpu, views.queries(), batch.packed(), keyValueView, first, options);
        }
        Tensor weights = layout.shared() ? null : buffers.takeWeights();
        AttentionOutputs outputs =
                weights == null ? views.attended() : views.attended().withWeights(weights);
        Attention.forward(cpu, views.queries(), batch.packed(), keyValueView, outputs, options);
        if (headFactors != null || layout.gated()) {
            buffers.context.run(cpu, buffers.wide(), layout, headFactors, batch.tokens());
        }
        output.forward(cpu, views.context(), y, adds);
    }
}
