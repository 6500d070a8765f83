package io.multihead.model;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A stack of blocks with embeddings, final normalization and output head: a decoder-only language model, or an encoder.
 *
 * <pre>{@code
 * KeyValueCache cache = KeyValueCache.contiguous(model.cacheConfig(), 1, 4096);
 * TokenBatch batch = TokenBatch.of(cache, 512);
 * Buffers buffers = model.buffers(512);
 * batch.begin(0); // for each token of the prompt: batch.add(id)
 * model.forward(cpu, batch, buffers);
 * model.logits(cpu, batch.lastRows(), logits, buffers);
 * }</pre>
 *
 * <p>Immutable and thread-safe; batch and buffers are for one caller at a time, and concurrent calls with them are refused. A call has the same
 * bits for any number of threads, in any batch, and in any division of a prompt into calls. A warm call allocates nothing, except as {@link
 * TokenBatch} states. The model does not own its weights, which must stay open.
 */
public final class Transformer {
    private final EmbeddingTables embeddings;
    private final List<Block> blocks;
    private final @Nullable Norm finalNorm;
    private final @Nullable PackedLinear head;
    private final float logitCap;
    private final @Nullable LayerEmbeddings layerEmbeddings;
    private final BufferSizes sizes;
    private final List<StateSizes> states;
    /** The number of states that consist of keys and values. */
    private final int attentions;

    private final long positions;

    private Transformer(
            EmbeddingTables embeddings,
            List<Block> blocks,
            @Nullable Norm finalNorm,
            @Nullable PackedLinear head,
            float logitCap,
            @Nullable LayerEmbeddings layerEmbeddings) {
        this.embeddings = embeddings;
        this.blocks = blocks;
        this.finalNorm = finalNorm;
        this.head = head;
        this.logitCap = logitCap;
        this.layerEmbeddings = layerEmbeddings;
        int layerWidth = layerEmbeddings == null ? 0 : layerEmbeddings.width();
        BufferSizes most = new BufferSizes(embeddings.dim(), 0, false, layerWidth);
        List<StateSizes> layers = new ArrayList<>();
        long fewest = embeddings.maxPositions();
        for (Block block : blocks) {
            most = most.with(block.sizes());
            fewest = Math.min(fewest, block.positions());
            layers.addAll(block.states());
        }
        sizes = most;
        positions = fewest;
        states = List.copyOf(layers);
        attentions =
                (int) layers.stream().filter(KeyValueSizes.class::isInstance).count();
    }

    /**
     * {@return a stack without final norm and head}
     *
     * @param embeddings the embeddings of tokens
     * @param blocks the blocks in the order of computation
     * @throws IllegalArgumentException if sizes differ
     */
    public static Transformer of(EmbeddingTables embeddings, List<Block> blocks) {
        Checks.notNull(embeddings, "embeddings");
        List<Block> all = Checks.noNulls(blocks, "blocks");
        for (Block block : all) {
            if (block.dim() != embeddings.dim()) {
                throw Checks.fail(
                        "blocks", "states of " + block.dim(), "expected " + embeddings.dim() + ", as in embeddings");
            }
        }
        return new Transformer(embeddings, all, null, null, 0f, null);
    }

    /**
     * {@return this stack with a normalization of the last states}
     *
     * @param norm a norm of dim elements
     * @throws IllegalArgumentException if it has another number of elements
     */
    public Transformer withFinalNorm(Norm norm) {
        if (Checks.notNull(norm, "norm").dim() != dim()) {
            throw Checks.fail("norm", norm.dim() + " elements", "expected " + dim() + ", as in embeddings");
        }
        return new Transformer(embeddings, blocks, norm, head, logitCap, layerEmbeddings);
    }

    /**
     * {@return this stack with an output head}. A tied head is made from the embedding table: {@code PackedWeights.ofOutputRows(words)}.
     *
     * @param newHead {@code dim} inputs, as many outputs as logits; its scale multiplies the logits
     * @throws IllegalArgumentException if it has another number of inputs
     */
    public Transformer withHead(PackedLinear newHead) {
        if (Checks.notNull(newHead, "head").inputs() != dim()) {
            throw Checks.fail("head", newHead.inputs() + " inputs", "expected " + dim() + ", as in embeddings");
        }
        return new Transformer(embeddings, blocks, finalNorm, newHead, logitCap, layerEmbeddings);
    }

    /**
     * {@return this stack with other blocks, for example with other rotary positions}
     *
     * @param newBlocks the blocks in the order of computation
     * @throws IllegalArgumentException if sizes differ
     */
    public Transformer withBlocks(List<Block> newBlocks) {
        return new Transformer(
                embeddings, of(embeddings, newBlocks).blocks, finalNorm, head, logitCap, layerEmbeddings);
    }

    /**
     * {@return this stack with separate embeddings for each layer, which {@link LayerInput} reads}
     *
     * @param newLayers a projection of {@code dim} inputs, and a table with the same words as the embeddings
     * @throws IllegalArgumentException if sizes differ
     */
    public Transformer withLayerEmbeddings(LayerEmbeddings newLayers) {
        if (Checks.notNull(newLayers, "newLayers").projection().inputs() != dim()
                || newLayers.table().vocabulary() < vocabulary()) {
            throw Checks.fail(
                    "newLayers",
                    newLayers.projection().inputs() + " inputs, "
                            + newLayers.table().vocabulary() + " words",
                    "expected " + dim() + " and " + vocabulary() + ", as in embeddings");
        }
        return new Transformer(embeddings, blocks, finalNorm, head, logitCap, newLayers);
    }

    /** {@return whether layers read keys and values of other layers, so that calls need a cache} */
    public boolean sharesStates() {
        return blocks.stream().anyMatch(Block::sharesStates);
    }

    /**
     * {@return this stack with logits {@code cap tanh(x / cap)}, as in Gemma 2}
     *
     * @param cap above 0, a normal f32; 0 for none
     * @throws IllegalArgumentException if the cap is neither 0 nor a normal f32 above 0
     */
    public Transformer withLogitCap(double cap) {
        if (!(cap == 0 || cap >= Float.MIN_NORMAL && cap <= Float.MAX_VALUE)) {
            throw Checks.fail("cap", String.valueOf(cap), "expected a normal f32 above 0, or 0 for none");
        }
        return new Transformer(embeddings, blocks, finalNorm, head, (float) cap, layerEmbeddings);
    }

    /** {@return the number of elements of a state} */
    public int dim() {
        return embeddings.dim();
    }

    /** {@return the number of words; token ids are below this number} */
    public int vocabulary() {
        return embeddings.vocabulary();
    }

    /** {@return the embeddings} */
    public EmbeddingTables embeddings() {
        return embeddings;
    }

    /** {@return the blocks} */
    public List<Block> blocks() {
        return blocks;
    }

    /** {@return the number of logits of a token; 0 without a head} */
    public int logits() {
        return head == null ? 0 : head.outputs();
    }

    /**
     * Returns the largest number of positions of a sequence.
     *
     * @return the smallest limit of the rotary embeddings and the position table; 2^53 or more without a limit
     */
    public long positions() {
        return positions;
    }

    /**
     * Returns the configuration of a cache for this model, in f32; {@link KeyValueCache.Config#withFormat} makes it narrower.
     *
     * @return a configuration with a layer for each part with attention, and without ropes, since the model rotates keys itself
     * @throws IllegalStateException if the parts differ in the heads or sizes of their keys and values, no part has attention, or a part has
     *     a recurrent state; {@link #cache} supports these models, too
     */
    public KeyValueCache.Config cacheConfig() {
        return LayerCaches.config(states);
    }

    /**
     * Creates a cache for the states of all parts: pages of keys and values, as in {@link KeyValueCache#paged}, and recurrent states.
     *
     * @param arena allocates native memory for keys and values, as sequences grow; a shared arena if several threads use the cache. Recurrent
     *     states are on the heap
     * @param format the format of keys and values
     * @param tokens the largest number of tokens of all sequences together, rounded up to 64
     * @return a cache without sequences
     * @throws IllegalArgumentException if the number is below 1, or the tokens take 2^63 bytes or more
     * @throws IllegalStateException if no part keeps a state
     */
    public SequenceCache cache(Arena arena, CacheFormat format, long tokens) {
        Checks.notNull(format, "format");
        Checks.atLeast(tokens, 1, "tokens");
        return LayerCaches.paged(states, format, tokens, Checks.notNull(arena, "arena"));
    }

    /**
     * Returns the number of bytes that a cache keeps for one token.
     *
     * @param format the format of keys and values
     * @return 0 if all parts keep recurrent states or nothing
     */
    public long bytesPerToken(CacheFormat format) {
        return LayerCaches.configs(states, Checks.notNull(format, "format")).stream()
                .mapToLong(KeyValueCache.Config::bytesPerToken)
                .sum();
    }

    /**
     * Returns the intermediate rows of one call at a time, on the heap.
     *
     * @param capacity the largest number of tokens of a call; a longer prompt needs several calls
     * @return {@code 4 capacity (2 dim + w)} bytes, where w is the largest {@link Part#scratch}: the larger of {@code projections +
     *     attention's output} and the feed-forward network's inner elements, which count twice with a gate. It is 3 dim instead of 2 dim
     *     if a part has norms before and after
     * @throws IllegalArgumentException if the capacity is below 1, or an array would have more than 2^31 elements
     */
    public Buffers buffers(int capacity) {
        return new Buffers(capacity, sizes);
    }

    /**
     * Computes the states of all tokens of a batch, before the final norm: {@link Buffers#states}. Keys and values are appended to the batch's
     * cache. After an error other than the errors below, such as an {@code OutOfMemoryError}, some layers may have the new tokens: {@link
     * KeyValueCache#truncate} drops them.
     *
     * @param cpu threads and scratch
     * @param batch tokens of sequences, at least one each
     * @param buffers buffers of this model
     * @throws IllegalArgumentException if a token or its type is not a row of its table, a sequence would have more positions than the
     *     model, the sizes of the cache differ or it has ropes, or the buffers are too small; nothing is written
     * @throws io.multihead.cache.CacheFullException if the cache has no room; it does not change
     */
    public void forward(Compute cpu, TokenBatch batch, Buffers buffers) {
        run(cpu, batch, buffers, null, null, List.of());
    }

    /**
     * Computes the states from given states instead of embeddings, for example vectors that are not in the table, or states of an earlier call.
     * With {@link #withBlocks} one model can end after some blocks, and another model can continue from its states.
     *
     * @param cpu threads and scratch
     * @param batch tokens of sequences, at least one each; their ids and types have no effect
     * @param states {@code [tokens, dim]}, any strides and floating-point type: embeddings, with positions added and their norm applied, or
     *     {@link Buffers#states} of these buffers, which are not copied
     * @param buffers buffers of this model
     * @throws IllegalArgumentException as in the other method, or if the shape of the states does not fit, or they are part of the
     *     buffers
     * @throws IllegalStateException if layers have their own embeddings of tokens
     * @throws io.multihead.cache.CacheFullException if the cache has no room; it does not change
     */
    public void forwardFrom(Compute cpu, TokenBatch batch, Tensor states, Buffers buffers) {
        run(cpu, batch, buffers, Checks.notNull(states, "states"), null, List.of());
    }

    /**
     * Computes the states and the attention weights of all blocks.
     *
     * @param cpu threads and scratch
     * @param batch tokens of sequences, at least one each
     * @param buffers buffers of this model
     * @param weights {@code [layers, heads, tokens, keys]}, written: a layer for each attention with its own keys; the number of keys is the length
     *     of the longest sequence
     * @throws IllegalArgumentException as in the other method, or if the shape of the weights does not fit; this is found after the tokens were
     *     added to the cache
     */
    public void forward(Compute cpu, TokenBatch batch, Buffers buffers, Tensor weights) {
        if (Checks.notNull(weights, "weights").rank() != 4 || weights.dim(0) != attentions) {
            throw Checks.fail(
                    "weights", "shape " + weights.shape(), "expected [" + attentions + ", heads, tokens, keys]");
        }
        run(cpu, batch, buffers, null, weights, List.of());
    }

    /**
     * Computes the states and the attention weights of some blocks. Additional calls of attention compute the weights, so the states have the
     * same bits as without weights.
     *
     * @param cpu threads and scratch
     * @param batch tokens of sequences, at least one each
     * @param buffers buffers of this model
     * @param weights one for each block, null for none: {@code [heads, tokens, keys]}, any floating-point type and strides, written with
     *     the weights of the block's first attention; the number of keys is the length of the longest sequence
     * @throws IllegalArgumentException as in the other method, if the number of tensors differs from the number of blocks, a block has no {@link
     *     SelfAttention}, or a shape does not fit; a wrong number of keys is found after the tokens were added to the cache
     */
    public void forward(Compute cpu, TokenBatch batch, Buffers buffers, List<@Nullable Tensor> weights) {
        Checks.length(Checks.notNull(weights, "weights").size(), blocks.size(), "weights", "one per block");
        for (int i = 0; i < blocks.size(); i++) {
            Tensor each = weights.get(i);
            if (each != null) {
                blocks.get(i)
                        .requireWeights(each, i, Checks.notNull(batch, "batch").tokens());
            }
        }
        run(cpu, batch, buffers, null, null, weights);
    }

    private void run(
            Compute cpu,
            TokenBatch batch,
            Buffers buffers,
            @Nullable Tensor states,
            @Nullable Tensor weights,
            List<@Nullable Tensor> blockWeights) {
        Checks.notNull(cpu, "cpu");
        Checks.notNull(batch, "batch");
        Checks.notNull(buffers, "buffers").enter(batch);
        try {
            batch.requireTokens();
            LayerCaches.require(batch.cache(), this.states);
            batch.locate(0);
            batch.requireRoom();
            batch.requirePositions(positions);
            if (states == null) {
                requireEmbeddings(cpu, batch);
                buffers.begin(batch.tokens(), sizes);
                buffers.embedding.run(cpu, embeddings, batch);
                if (layerEmbeddings != null) {
                    buffers.layerRows().fill(cpu, layerEmbeddings, batch, buffers.states());
                }
            } else {
                if (layerEmbeddings != null) {
                    throw new IllegalStateException("states: of a model whose layers have embeddings; expected tokens");
                }
                requireStates(cpu, states, batch.tokens());
                buffers.begin(states, sizes);
            }
            buffers.bindStates(this.states);
            buffers.bindWeights(weights);
            for (int i = 0; i < blocks.size(); i++) { // an iterator would be garbage
                buffers.bindBlockWeights(blockWeights.isEmpty() ? null : blockWeights.get(i));
                blocks.get(i).forward(cpu, buffers);
            }
        } finally {
            buffers.leave();
        }
    }

    private void requireEmbeddings(Compute cpu, TokenBatch batch) {
        embeddings.requireAccess(cpu);
        if (layerEmbeddings != null) {
            layerEmbeddings.table().requireAccess(cpu);
        }
        for (int token = 0; token < batch.tokens(); token++) {
            requireId(batch.id(token), token);
            requireType(batch.type(token), token);
        }
    }

    private void requireStates(Compute cpu, Tensor states, int tokens) {
        if (states.rank() != 2 || states.dim(0) != tokens || states.dim(1) != dim()) {
            throw TensorFaults.shape("states", states.shape(), Shape.of(tokens, dim()));
        }
        TensorChecks.requireFloating(states, "states");
        TensorChecks.requireAccess(cpu, states, "states");
    }

    private void requireId(int id, int token) {
        if (id < 0 || id >= vocabulary()) {
            throw Checks.fail("token " + token, String.valueOf(id), "expected 0 to " + (vocabulary() - 1));
        }
    }

    private void requireType(int type, int token) {
        if (type < 0 || type >= embeddings.types()) {
            throw Checks.fail("token " + token, "type " + type, "expected 0 to " + (embeddings.types() - 1));
        }
    }

    /**
     * Computes the states of some tokens of the last call, after the final norm if there is one.
     *
     * @param cpu threads and scratch
     * @param rows tokens of the batch, in any order; at most the capacity of the buffers
     * @param outputs {@code [rows, dim]}, any strides and floating-point type, written
     * @param buffers the buffers of the last call
     * @throws IllegalArgumentException if there is no such token, or the shape does not fit; nothing is written
     */
    public void outputs(Compute cpu, int[] rows, Tensor outputs, Buffers buffers) {
        Checks.notNull(buffers, "buffers").enterReading();
        try {
            requireRows(cpu, rows, outputs, "outputs", dim(), buffers);
            gather(cpu, rows, buffers).copyTo(outputs);
        } finally {
            buffers.leave();
        }
    }

    /**
     * Computes the logits of some tokens of the last call.
     *
     * @param cpu threads and scratch
     * @param rows tokens of the batch, in any order, such as {@link TokenBatch#lastRows}; at most the capacity of the
     *     buffers
     * @param logits {@code [rows, logits]}, any strides and floating-point type, written
     * @param buffers the buffers of the last call
     * @throws IllegalArgumentException if there is no such token, or the shape does not fit; nothing is written
     * @throws IllegalStateException if the model has no output head
     */
    public void logits(Compute cpu, int[] rows, Tensor logits, Buffers buffers) {
        if (head == null) {
            throw new IllegalStateException("head: none; expected withHead before logits");
        }
        Checks.notNull(buffers, "buffers").enterReading();
        try {
            requireRows(cpu, rows, logits, "logits", head.outputs(), buffers);
            head.forward(cpu, gather(cpu, rows, buffers), logits);
            if (logitCap != 0f) {
                buffers.softCap.run(cpu, logits, logitCap);
            }
        } finally {
            buffers.leave();
        }
    }

    private Tensor gather(Compute cpu, int[] rows, Buffers buffers) {
        buffers.norm.gather(cpu, rows, Norm.row(finalNorm));
        return buffers.updates(rows.length);
    }

    private static void requireRows(Compute cpu, int[] rows, Tensor to, String argument, int columns, Buffers buffers) {
        Checks.notNull(cpu, "cpu");
        int tokens = buffers.tokens();
        if (Checks.notNull(rows, "rows").length > buffers.capacity()) {
            throw Checks.fail("rows", rows.length + " rows", "expected at most the capacity " + buffers.capacity());
        }
        Checks.indices(rows, tokens, "rows");
        if (Checks.notNull(to, argument).rank() != 2 || to.dim(0) != rows.length || to.dim(1) != columns) {
            Shape expected = Shape.of(rows.length, columns);
            throw Checks.fail(argument, "shape " + to.shape(), "expected " + expected);
        }
        TensorChecks.requireWritable(cpu, to, argument);
    }
}
