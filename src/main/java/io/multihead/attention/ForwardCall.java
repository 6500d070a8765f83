package io.multihead.attention;

import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * One call of forward, divided into units. A unit is a run of query rows of one sequence that share one key/value head; with
 * grouped heads, the rows of all query heads of the group follow each other, so each key is read once per group. When there
 * are too few rows for the threads, a unit has one of the key splits as well, and its state is merged in a second round.
 * Filled by {@link Attention}, read by the threads.
 */
final class ForwardCall extends Operation implements LoopBody {
    private static final ScratchKey<QueryRows> WORKER = ScratchKey.ofWorker(QueryRows::new);

    /**
     * Keys of one split. Each split is a softmax of its own and the states are merged in order, in every call: so the bits
     * are the same whether splits run on one thread or on many, in a prefill or in a decode.
     */
    static final int SPLIT = 4 * Lanes.DEPTH;

    /** Most rows of one unit: their state stays in L2 beside a key block. */
    private static final int MOST_ROWS = 4 * QueryRows.TILE;

    /** Most rows of one unit when keys must be packed again for each: packing is then a thirtieth of the work. */
    private static final int MOST_ROWS_REPACKED = 10 * QueryRows.TILE;

    /** Floats of packed keys and values that a thread keeps from unit to unit: 16 MiB. */
    private static final long MOST_PACKED = 1L << 22;

    /** Units per thread below which units are made smaller, so that threads end together. */
    private static final int UNITS_PER_THREAD = 4;

    private enum Phase {
        WHOLE,
        SPLITS,
        MERGE
    }

    private final Scratch memory;
    final AttentionCall arguments = new AttentionCall();
    private @Nullable KeyValueView view;
    /** Where packed sequences of queries start; null when every batch is one. */
    private long @Nullable [] offsets;

    private Phase phase = Phase.WHOLE;
    private long wanted;
    private long mostKeys;
    /** The number of units of all sequences up to this one. */
    private long[] unitEnds = new long[0];

    private float[] states = new float[0];
    /** Floats of one unit's state. */
    private int state;

    ForwardCall(Scratch memory) {
        this.memory = memory;
    }

    /** Takes checked tensors. */
    void bindTensors(Tensor query, Tensor key, Tensor value) {
        arguments.bindInputs(query, key, value);
        view = arguments.tensors;
        offsets = null;
        mostKeys = arguments.keys;
    }

    /** Takes a checked query and the view that it fits. */
    void bindView(Tensor query, KeyValueView newView, long @Nullable [] newOffsets) {
        view = newView;
        offsets = newOffsets;
        mostKeys = 0;
        for (int sequence = 0; sequence < newView.sequences(); sequence++) {
            mostKeys = Math.max(mostKeys, newView.keys(sequence));
        }
        arguments.bindView(query, newView, newOffsets == null ? query.dim(2) : -1, newView.maxKeys());
    }

    /** Runs everything, and records it if somebody asked for that. */
    void run() {
        AttentionEvent event = AttentionEvent.start();
        long units = runAll();
        if (event != null) {
            event.finish(arguments, mostKeys, units);
        }
    }

    private long runAll() {
        phase = Phase.WHOLE;
        long units = divide(parallelism());
        requireScoresFit();
        if (splits(parallelism(), units)) {
            phase = Phase.SPLITS;
            units = divide(parallelism());
            state = (int) mostRows() * OnlineSoftmax.stateFloats(arguments.valueDim);
            states = memory.atLeast(states, Checks.fitsInt(units * state, "splits"));
            run(this, units);
            phase = Phase.MERGE;
        }
        run(this, units);
        return units;
    }

    /** With weights asked for, a unit holds all its scores in one array. */
    private void requireScoresFit() {
        if (arguments.weights() == null) {
            return;
        }
        for (int sequence = 0; sequence < arguments.batches; sequence++) {
            long keys = view().keys(sequence);
            if (scoreFloats(keys, rowsPerUnit(sequence)) > Checks.MAX_ARRAY_LENGTH) {
                throw Checks.fail(
                        "weights",
                        "asked for with " + keys + " keys",
                        "expected keys whose scores for " + rowsPerUnit(sequence) + " rows fit a Java array");
            }
        }
    }

    /** Returns the floats that hold all scores of a unit. */
    static long scoreFloats(long keys, int rows) {
        return Math.ceilDiv(keys, (long) Lanes.DEPTH) * blockFloats(rows);
    }

    /** Returns the floats of one key block's scores: whole micro-tiles, but a single row is multiplied alone. */
    static int blockFloats(int rows) {
        return (rows == 1 ? 1 : Lanes.roundUp(rows, Lanes.ROW_STEP)) * Lanes.ROW;
    }

    /** Whether some threads would have nothing to do unless keys are split; only where every unit is one tile. */
    private boolean splits(int threads, long units) {
        return threads > 1
                && units > 0
                && units < (long) threads * UNITS_PER_THREAD
                && mostRows() <= QueryRows.TILE
                && mostKeys > SPLIT
                && arguments.weights() == null;
    }

    private long mostRows() {
        long most = 0;
        for (int sequence = 0; sequence < arguments.batches; sequence++) {
            most = Math.max(most, arguments.group * queries(sequence));
        }
        return most;
    }

    /** Numbers the units; results do not depend on how. */
    private long divide(int threads) {
        unitEnds = unitEnds.length >= arguments.batches ? unitEnds : new long[(int) arguments.batches];
        long groups = arguments.batches * arguments.kvHeads;
        wanted = threads == 1 || groups == 0 ? 1 : Math.ceilDiv((long) threads * UNITS_PER_THREAD, groups);
        long units = 0;
        for (int sequence = 0; sequence < arguments.batches; sequence++) {
            units += arguments.kvHeads * chunks(sequence) * splitsOf(sequence);
            unitEnds[sequence] = units;
        }
        return units;
    }

    private long splitsOf(int sequence) {
        return phase == Phase.WHOLE ? 1 : Math.max(1, Math.ceilDiv(view().keys(sequence), (long) SPLIT));
    }

    private int rowsPerUnit(int sequence) {
        long rows = arguments.group * queries(sequence);
        int most = keepsKeys() || arguments.weights() != null ? MOST_ROWS : MOST_ROWS_REPACKED;
        long units = Math.max(Math.ceilDiv(rows, (long) most), wanted);
        long size = Math.ceilDiv(Math.ceilDiv(rows, units), (long) QueryRows.TILE) * QueryRows.TILE;
        return (int) Math.min(Math.max(size, 1), most);
    }

    private long chunks(int sequence) {
        return Math.ceilDiv(arguments.group * queries(sequence), (long) rowsPerUnit(sequence));
    }

    /**
     * Units of one group follow each other, so that a thread finds its keys still packed; later rows first, since under a
     * causal mask they cost most and see every key that the others see.
     */
    @Override
    public void run(long unit, Workspace scratch) {
        int sequence = 0;
        int above = (int) arguments.batches - 1;
        while (sequence < above) {
            int middle = (sequence + above) >>> 1;
            if (unitEnds[middle] > unit) {
                above = middle;
            } else {
                sequence = middle + 1;
            }
        }
        long own = unit - (sequence == 0 ? 0 : unitEnds[sequence - 1]);
        long splits = splitsOf(sequence);
        long split = own % splits;
        if (phase == Phase.MERGE && split > 0) {
            return;
        }
        long chunks = chunks(sequence);
        int rowsPerUnit = rowsPerUnit(sequence);
        long firstRow = (chunks - 1 - own / splits % chunks) * rowsPerUnit;
        int rows = (int) Math.min(rowsPerUnit, arguments.group * queries(sequence) - firstRow);
        QueryRows queryRows = scratch.get(WORKER);
        queryRows.open(this, scratch.packer(), sequence, own / splits / chunks, firstRow, rows);
        switch (phase) {
            case WHOLE -> queryRows.attend();
            case SPLITS -> queryRows.attendSplit(split, states, (int) unit * state);
            case MERGE -> queryRows.merge((int) splits, states, (int) unit * state, state);
        }
        queryRows.close();
    }

    /** Whether a thread keeps the packed keys and values of a whole group. */
    boolean keepsKeys() {
        return mostKeys
                        * (Lanes.roundUp(arguments.headDim, Lanes.PANEL)
                                + Lanes.roundUp(arguments.valueDim, Lanes.PANEL))
                <= MOST_PACKED;
    }

    KeyValueView view() {
        return Checks.notNull(view, "view");
    }

    /** Number of queries of a sequence. */
    long queries(int sequence) {
        return offsets == null ? arguments.queries : offsets[sequence + 1] - offsets[sequence];
    }

    /** Position of an element of a sequence in a tensor {@code [batch, queryHeads, queries, ...]}. */
    long start(Tensor tensor, int sequence, long head, long query) {
        return tensor.offset()
                + (offsets == null ? sequence * tensor.stride(0) : offsets[sequence] * tensor.stride(2))
                + head * tensor.stride(1)
                + query * tensor.stride(2);
    }

    /** Forgets the caller's tensors. */
    @Override
    protected void clear() {
        arguments.clear();
        view = null;
        offsets = null;
    }
}
