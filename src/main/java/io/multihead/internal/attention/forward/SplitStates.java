package io.multihead.internal.attention.forward;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.ScoreRule;
import io.multihead.internal.attention.keyvalue.KeyValueSource;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;

/**
 * Reads and writes states of splits that the caller keeps: tensors {@code [batch, queryHeads, queries, splits, size]} in f32. A row
 * contains the state that {@link OnlineSoftmax#save} saves, and the other values that merging needs: the scale of the exponent, the sink of
 * the head, the number of the split among all splits of the sequence, and its number of keys. Belongs to one thread.
 */
public final class SplitStates {
    /** From this number on, f32 does not hold all numbers of splits exactly. */
    private static final long MAX_SPLITS = 1L << 24;

    /** The largest number of keys of a sequence whose splits are states. */
    public static final long MAX_KEYS = MAX_SPLITS * AttentionBlocking.KEY_SPLIT;

    /** Offset from the end of the state: scale of the exponent. */
    private static final int SCALE = 0;
    /** Offset from the end of the state: sink of the head. */
    private static final int SINK = 1;
    /** Offset from the end of the state: number of the split. */
    private static final int SPLIT = 2;
    /** Offset from the end of the state: keys of the split. */
    private static final int KEYS = 3;
    /** The number of values after the state. */
    private static final int NUMBERS = 4;

    private final Scratch memory;
    private float[] rows = new float[0];

    SplitStates(Scratch memory) {
        this.memory = memory;
    }

    /** Returns the number of elements of the last axis. */
    public static int size(int valueDim) {
        return OnlineSoftmax.stateFloats(valueDim) + NUMBERS;
    }

    /** Returns the shape of the states of all splits of a source. */
    public static Shape shape(Tensor query, KeyValueSource source) {
        long splits = SplitRange.stored(source);
        return Shape.of(query.dim(0), query.dim(1), query.dim(2), splits, size(source.valueDim()));
    }

    /** Returns whether a tensor has the shape of {@link #shape}, without allocating one. */
    public static boolean hasShape(Tensor states, Tensor query, KeyValueSource source) {
        return states.rank() == 5
                && states.dim(0) == query.dim(0)
                && states.dim(1) == query.dim(1)
                && states.dim(2) == query.dim(2)
                && states.dim(3) == SplitRange.stored(source)
                && states.dim(4) == size(source.valueDim());
    }

    /** Returns the factor of the exponent that a state was computed with. */
    public static float scale(Tensor states, long batch, long head, long split) {
        return number(states, batch, head, split, SCALE);
    }

    /** Returns the sink of the state's head, minus infinity for none. */
    public static float sink(Tensor states, long batch, long head, long split) {
        return number(states, batch, head, split, SINK);
    }

    /** Returns the number of the split, counted from the first key of the sequence. */
    public static float split(Tensor states, long batch, long head, long split) {
        return number(states, batch, head, split, SPLIT);
    }

    /** Returns the number of keys in the split, including hidden keys. */
    public static float keys(Tensor states, long batch, long head, long split) {
        return number(states, batch, head, split, KEYS);
    }

    private static float number(Tensor states, long batch, long head, long split, int number) {
        long at = Positions.of(states, batch, head, 0) + split * states.stride(3);
        return (float) Positions.get(states, at + (states.dim(4) - NUMBERS + number) * states.stride(4));
    }

    /**
     * Writes the state of a task's rows.
     *
     * @param split its number, counted from the first key of the sequence
     */
    void write(ForwardArguments call, Packer packer, QueryTile queries, OnlineSoftmax state, long split) {
        int size = size(call.problem.valueDim());
        int pitch = reserve(queries, size);
        state.save(queries.rows(), rows, 0, pitch);
        long firstKey = split * AttentionBlocking.KEY_SPLIT;
        long keys = call.source().keys(queries.group().sequence()) - firstKey;
        ScoreRule rule = call.problem.scores();
        for (int row = 0; row < queries.rows(); row++) {
            int numbers = row * pitch + size - NUMBERS;
            rows[numbers + SCALE] = rule.exponentScale();
            rows[numbers + SINK] = rule.sink(queries.head(row));
            rows[numbers + SPLIT] = split;
            rows[numbers + KEYS] = Math.clamp(keys, 0, AttentionBlocking.KEY_SPLIT);
        }
        Tensor to = call.states();
        long at = (split - call.source().start() / AttentionBlocking.KEY_SPLIT) * to.stride(3);
        for (int row = 0; row < queries.rows(); ) {
            int run = queries.rowsOfHead(row);
            long first = queries.position(to, row) + at;
            packer.write(rows, row * pitch, pitch, run, size, to, first, to.stride(2), to.stride(4));
            row += run;
        }
    }

    /** Reads the state of a task's rows, all of one head, at an index of the axis of splits. */
    void read(Tensor from, Packer packer, QueryTile queries, OnlineSoftmax state, long index) {
        int size = (int) from.dim(4);
        int pitch = reserve(queries, size);
        long first = queries.position(from, 0) + index * from.stride(3);
        packer.read(from, first, from.stride(2), from.stride(4), queries.rows(), size, rows, 0, pitch);
        state.load(queries.rows(), rows, 0, pitch);
    }

    private int reserve(QueryTile queries, int size) {
        int pitch = Lanes.roundUp(size, PANEL);
        rows = memory.atLeast(rows, queries.rows() * pitch);
        return pitch;
    }
}
