package io.multihead.model;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.call.StateAccess;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.CallGuard;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The intermediate rows of one running call, reused from call to call: for each token its state, a row for a part's normalized input or its result,
 * and one wide row of scratch that the parts share. Elements are f32, and rows are padded to a multiple of 32.
 *
 * <p>{@link Transformer#buffers} creates it, or {@link Part#buffers} for a single part. One caller at a time may use it; a server needs one
 * object for each concurrent call. A call while another call runs throws an {@link IllegalStateException}, and does not affect the running
 * call. Reading the results of another thread's call throws the same exception.
 */
public final class Buffers {
    static {
        StateAccess.open(buffers -> {
            ((Buffers) buffers).calls.requireOwn();
            return ((Buffers) buffers).states;
        });
    }

    private final CallGuard calls = new CallGuard("buffers");
    private final int capacity;
    private final BufferSizes sizes;
    private final StateLayout layout;
    private final float[] states;
    private final float[] wide;
    private final PartViews stateViews;
    private final PartViews updateViews;
    private final PartViews resultViews;
    private final PartViews wideViews;
    /** Layouts of scratch as one matrix. There are few of them. */
    private final List<StateLayout> matrices = new ArrayList<>();

    final NormPass norm;
    /** Normalizes states to rows of results, for the second part of a parallel block. */
    final NormPass secondNorm;

    final EmbeddingPass embedding;
    final ScalePass scale;
    private final @Nullable LayerRows layerRows;
    final HeadPass heads = new HeadPass();
    final ContextPass context = new ContextPass();
    final GatePass gate = new GatePass();
    final TokenGatePass tokenGate = new TokenGatePass();
    final ConvolutionPass convolution = new ConvolutionPass();
    final LinearAttentionPass linearAttention = new LinearAttentionPass();
    final Mamba2Pass mamba = new Mamba2Pass();
    final ExpertRows experts = new ExpertRows();
    final RowNormPass rowNorm = new RowNormPass();
    final SoftCapPass softCap = new SoftCapPass();
    /** The number of tokens of the last call, whose states are stored. */
    private int tokens;

    private @Nullable TokenBatch batch;
    private @Nullable Tensor weights;
    /** The destination of the weights of the running block. */
    private @Nullable Tensor blockWeights;
    /** The number of cache layers that parts of the running call have used. */
    private int layers;
    /** The number of cache layers that were used before the part that computes. */
    private int layersBefore;

    private int attentions;
    /** States that the layers of the running call keep. */
    private List<StateSizes> layerStates = List.of();

    /**
     * Allocates rows.
     *
     * @param capacity the largest number of tokens of a call
     */
    Buffers(int capacity, BufferSizes sizes) {
        this.capacity = (int) Checks.atLeast(capacity, 1, "capacity");
        this.sizes = sizes;
        layout = new StateLayout(sizes.dim());
        states = new float[Checks.product("capacity x dim", capacity, layout.floats())];
        float[] updates = new float[states.length];
        float[] results = sizes.results() ? new float[states.length] : updates;
        wide = new float[Checks.product("capacity x wide row", capacity, sizes.scratch())];
        stateViews = new PartViews(states, capacity);
        updateViews = new PartViews(updates, capacity);
        resultViews = sizes.results() ? new PartViews(results, capacity) : updateViews;
        wideViews = new PartViews(wide, capacity);
        norm = new NormPass(states, updates, results, layout);
        secondNorm = new NormPass(states, results, results, layout);
        embedding = new EmbeddingPass(states, layout);
        scale = new ScalePass(states, layout.floats());
        layerRows = sizes.layerWidth() == 0 ? null : new LayerRows(capacity, sizes.layerWidth());
    }

    /** {@return the largest number of tokens of a call} */
    public int capacity() {
        return capacity;
    }

    /**
     * Returns the states of the last call's tokens, which the next call overwrites.
     *
     * @return {@code [tokens, dim]}, f32 on the heap, rows padded to a multiple of 32: the same object for the same number of tokens
     * @throws IllegalStateException if another thread made that call
     */
    public Tensor states() {
        calls.requireOwn();
        return stateViews.get(layout, tokens);
    }

    /**
     * Returns the tokens of the running call, for a part that reads their sequences or positions.
     *
     * @return the tokens, which must not be changed while the call runs
     * @throws IllegalStateException if no call runs, or the running call is for a single part and
     *     has no batch
     */
    public TokenBatch batch() {
        TokenBatch of = batch;
        if (of == null) {
            throw new IllegalStateException("batch: none; expected a call with one");
        }
        return of;
    }

    /**
     * Returns scratch for the part that computes. Its contents are undefined, and the next part overwrites it. Every call returns the
     * same memory.
     *
     * @param rows at most the capacity
     * @param columns at most the part's {@link Part#scratch}, rounded up to a multiple of 32
     * @return {@code [rows, columns]}, f32 on the heap, rows padded to a multiple of 32
     * @throws IllegalArgumentException if the buffers have too few rows or columns
     * @throws IllegalStateException if no call runs
     */
    public Tensor scratch(int rows, int columns) {
        calls.requireCall();
        Checks.index(rows, capacity + 1L, "rows");
        if (columns < 1 || PartLayout.stride(columns) > sizes.scratch()) {
            throw Checks.fail("columns", String.valueOf(columns), "expected 1 to " + sizes.scratch());
        }
        for (int i = 0; i < matrices.size(); i++) {
            if (matrices.get(i).dim() == columns) {
                return wideViews.get(matrices.get(i), rows);
            }
        }
        StateLayout matrix = new StateLayout(columns);
        matrices.add(matrix);
        return wideViews.get(matrix, rows);
    }

    /** Returns rows for the inputs of parts. */
    Tensor updates(int rows) {
        return updateViews.get(layout, rows);
    }

    /** Returns rows for the results of parts. They are the rows of updates if no part needs both. */
    Tensor results(int rows) {
        return resultViews.get(layout, rows);
    }

    <V> V wide(PartLayout<V> of, int rows) {
        return wideViews.get(of, rows);
    }

    float[] wide() {
        return wide;
    }

    int tokens() {
        return tokens;
    }

    /**
     * Returns the recurrent state of each sequence of the batch, for a part that declares it in {@link Part#states}, and counts the batch's
     * tokens: the part must apply all of these tokens to the states, in place. Each call takes the next of the part's states. Without a cache,
     * and at the start of a sequence, states are zero.
     *
     * @return for each sequence of the batch at least {@link RecurrentSizes#floats} numbers, which only this part uses until its computation
     *     ends; the batch and its cache own the arrays
     * @throws IllegalStateException if no call with a batch runs, or the part has no such state
     */
    public float[][] takeStates() {
        calls.requireCall();
        TokenBatch of = batch();
        int layer = takeLayer();
        if (layer >= layerStates.size() || !(layerStates.get(layer) instanceof RecurrentSizes sizes)) {
            throw new IllegalStateException(
                    "part: a recurrent state taken; expected one for each of those that states() says");
        }
        return of.states(layer, layer - layersBefore, sizes.floats());
    }

    /** Returns the embeddings of one layer. */
    LayerRows layerRows(int layer, int dim) {
        LayerRows all = layerRows();
        if ((layer + 1L) * dim > sizes.layerWidth()) {
            throw Checks.fail("layer", layer + " of " + dim + " elements", "expected one of " + sizes.layerWidth());
        }
        return all;
    }

    LayerRows layerRows() {
        if (layerRows == null) {
            throw new IllegalStateException(
                    "buffers: no embeddings of layers; expected buffers of a model with LayerEmbeddings");
        }
        return layerRows;
    }

    /** Returns a layer whose keys and values another part shares. It fails if the layer has not computed them. */
    int requireLayer(int layer) {
        if (layer >= layers) {
            throw new IllegalStateException("part: the keys of layer " + layer + "; expected one of the " + layers
                    + " that have computed before");
        }
        return layer;
    }

    /** Returns the next layer of the cache, which then belongs to the calling part. */
    int takeLayer() {
        return layers++;
    }

    /** Begins a part of a block, and returns the number of cache layers that other parts have used. */
    int beginPart() {
        layersBefore = layers;
        return layers;
    }

    /** Returns the number of cache layers that parts of the running call have used. */
    int layers() {
        return layers;
    }

    /** Returns the destination of the weights of the next attention; null for none. */
    @Nullable
    Tensor takeWeights() {
        int attention = attentions++;
        return weights == null ? null : weights.slice(0, attention, attention + 1L);
    }

    /** Returns the tensor for the weights of the block's first attention; null for none. */
    @Nullable
    Tensor takeBlockWeights() {
        Tensor taken = blockWeights;
        blockWeights = null;
        return taken;
    }

    void bindBlockWeights(@Nullable Tensor newWeights) {
        blockWeights = newWeights;
    }

    void bindStates(List<StateSizes> newStates) {
        layerStates = newStates;
    }

    /** Checks a part's rows, and that a call runs whose buffers have room for them. */
    void requireRows(Tensor x, Tensor y, int dim, int scratch) {
        calls.requireCall();
        if (x.rank() != 2 || x.dim(1) != dim) {
            throw Checks.fail("x", "shape " + x.shape(), "expected [rows, " + dim + "]");
        }
        if (y.rank() != 2 || y.dim(1) != dim || y.dim(0) != x.dim(0)) {
            throw TensorFaults.shape("y", y.shape(), x.shape());
        }
        if (x.dim(0) > capacity || scratch > sizes.scratch()) {
            throw Checks.fail(
                    "buffers",
                    capacity + " rows of " + sizes.scratch() + " floats",
                    "expected " + x.dim(0) + " rows of " + scratch);
        }
    }

    /** Begins a call that reads results of the last call. */
    void enterReading() {
        calls.enter();
        try {
            calls.requireOwn();
        } catch (IllegalStateException e) {
            calls.leave();
            throw e;
        }
    }

    /** Begins a call of a model or of a part. It fails if another call uses these buffers or the batch. */
    void enter(@Nullable TokenBatch newBatch) {
        calls.enter();
        if (newBatch != null) {
            try {
                newBatch.calls.enter();
            } catch (IllegalStateException e) {
                calls.leave();
                throw e;
            }
        }
        batch = newBatch;
        layers = 0;
        layersBefore = 0;
        attentions = 0;
    }

    /** Ends the call that {@link #enter} or {@link #enterReading} began. */
    void leave() {
        TokenBatch of = batch;
        batch = null;
        weights = null;
        blockWeights = null;
        if (of != null) {
            of.calls.leave();
        }
        calls.leave();
    }

    void bindWeights(@Nullable Tensor newWeights) {
        weights = newWeights;
    }

    /** Begins the computation of states, which are copied unless they are in these buffers. */
    void begin(Tensor newStates, BufferSizes needed) {
        int newTokens = (int) newStates.dim(0);
        requireRoom(newTokens, needed);
        Tensor to = stateViews.get(layout, newTokens);
        if (newStates != to) {
            TensorChecks.requireApart(to, "buffers", newStates, "states");
            newStates.copyTo(to);
        }
        calls.own();
        tokens = newTokens;
    }

    /** Begins the computation of states, after it was checked that there is room for them. */
    void begin(int newTokens, BufferSizes needed) {
        requireRoom(newTokens, needed);
        calls.own();
        tokens = newTokens;
    }

    /** Begins the computation of a single part, which stores no states. */
    void beginAlone(int rows, int dim, int scratch) {
        requireRoom(rows, dim, scratch);
        calls.own();
        tokens = 0;
    }

    private void requireRoom(int newTokens, BufferSizes needed) {
        requireRoom(newTokens, needed.dim(), needed.scratch());
        if (needed.layerWidth() > sizes.layerWidth()) {
            throw Checks.fail(
                    "buffers",
                    sizes.layerWidth() + " floats of embeddings of layers",
                    "expected room for " + needed.layerWidth());
        }
        if (needed.results() && !sizes.results()) {
            throw Checks.fail(
                    "buffers",
                    "one row in addition to the state",
                    "expected two rows, for parts with norms before and after");
        }
    }

    private void requireRoom(int newTokens, int dim, int scratch) {
        if (newTokens > capacity || dim != sizes.dim() || scratch > sizes.scratch()) {
            throw Checks.fail(
                    "buffers",
                    capacity + " tokens of " + sizes.dim() + " and " + sizes.scratch() + " floats",
                    "expected room for " + newTokens + " tokens of " + dim + " and " + scratch);
        }
    }
}
