package io.multihead.model;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.CallGuard;
import io.multihead.tensor.Tensor;

/**
 * The intermediate rows of one running call, reused from call to call: for each token its state, what a part adds to it or reads of it
 * normalised, and one wide row that attention and the feed-forward network use in turns. f32, rows padded to a multiple of 32.
 *
 * <p>Made by {@link Transformer#buffers}. For one caller at a time; a server has one for each call that runs at a time. A call while another
 * one runs is an {@link IllegalStateException}, as is reading the results of another thread's call; the call that runs is not disturbed.
 */
public final class Buffers {
    private final int capacity;
    private final StateLayout layout;
    private final int wideFloats;
    private final float[] states;
    private final float[] wide;
    private final PartViews stateViews;
    private final PartViews updateViews;
    private final PartViews wideViews;
    final NormPass norm;
    final EmbeddingPass embedding;
    final HeadPass heads = new HeadPass();
    final ContextPass context = new ContextPass();
    final GatePass gate = new GatePass();
    final SoftCapPass softCap = new SoftCapPass();
    final CallGuard calls = new CallGuard("buffers");
    /** Tokens of the last call, whose states are there. */
    private int tokens;

    /**
     * Allocates rows.
     *
     * @param capacity most tokens of a call
     * @param dim elements of a state
     * @param wideFloats floats of a wide row
     */
    Buffers(int capacity, int dim, int wideFloats) {
        this.capacity = (int) Checks.atLeast(capacity, 1, "capacity");
        this.wideFloats = wideFloats;
        layout = new StateLayout(dim);
        states = new float[Checks.product("capacity x dim", capacity, layout.floats())];
        float[] updates = new float[states.length];
        wide = new float[Checks.product("capacity x wide row", capacity, wideFloats)];
        stateViews = new PartViews(states, capacity);
        updateViews = new PartViews(updates, capacity);
        wideViews = new PartViews(wide, capacity);
        norm = new NormPass(states, updates, layout);
        embedding = new EmbeddingPass(states, layout);
    }

    /**
     * {@return the most tokens of a call}
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Returns the states of the last call's tokens, which the next call overwrites.
     *
     * @return {@code [tokens, dim]}, f32 on the heap, rows padded to a multiple of 32: the same object for the same number of tokens
     * @throws IllegalStateException if that call was another thread's
     */
    public Tensor states() {
        calls.requireOwn();
        return stateViews.get(layout, tokens);
    }

    /**
     * Returns the array behind {@link #states}, for those who read it without tensors; the next call overwrites it.
     *
     * @return row {@code t} begins at {@code t stride()}
     * @throws IllegalStateException if that call was another thread's
     */
    public float[] array() {
        calls.requireOwn();
        return states;
    }

    /**
     * {@return the floats from one row of {@link #array} to the next}
     */
    public int stride() {
        return layout.floats();
    }

    /** Returns rows for what is added to states, or what parts read. */
    Tensor updates(int rows) {
        return updateViews.get(layout, rows);
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

    /** Begins a call with states, which are copied unless they are those of these buffers. */
    void begin(Tensor newStates, int dim, int floats) {
        int newTokens = (int) newStates.dim(0);
        requireRoom(newTokens, dim, floats);
        Tensor to = stateViews.get(layout, newTokens);
        if (newStates != to) {
            TensorChecks.requireApart(to, "buffers", newStates, "states");
            calls.own();
            newStates.copyTo(to);
        }
        calls.own();
        tokens = newTokens;
    }

    /** Begins a call, after it was checked that there is room for it. */
    void begin(int newTokens, int dim, int floats) {
        requireRoom(newTokens, dim, floats);
        calls.own();
        tokens = newTokens;
    }

    private void requireRoom(int newTokens, int dim, int floats) {
        if (newTokens > capacity || dim != layout.dim() || floats > wideFloats) {
            throw Checks.fail(
                    "buffers",
                    capacity + " tokens of " + layout.dim() + " and " + wideFloats + " floats",
                    "expected room for " + newTokens + " tokens of " + dim + " and " + floats);
        }
    }
}
