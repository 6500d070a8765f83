package io.multihead.gemm;

import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * One multiplication: its operands, sizes and division into units. A unit is a block of C of one batch; its depth is never
 * divided, so no result depends on the division. Units of the same columns are a strip: a thread keeps what it has packed of B for
 * one, so each thread begins with a strip of its own and then helps with others.
 */
final class GemmCall extends Operation implements LoopBody {
    private static final ScratchKey<GemmBlock> BLOCK = ScratchKey.ofWorker(GemmBlock::new);

    private static final AtomicLong CALLS = new AtomicLong();

    /** Columns of a unit. A is read once for so many; reading it twice for 1024 columns costs 3 %. */
    private static final int MOST_COLUMNS = 1024;

    /** Columns below which reading A more often costs more than packing B more often. */
    private static final int LEAST_COLUMNS = 256;

    /** Rows of a unit: its sums, 816 KiB, stay in L2 or close by from depth to depth. */
    private static final int MOST_ROWS = 192;

    /** Floats of packed B that a thread keeps from unit to unit: 16 MiB. */
    private static final long MOST_PACKED = 1L << 22;

    private static final int UNITS_PER_THREAD = 2;

    /** A number that no other call has: what a thread's packed columns of B are known by. */
    long tag;

    long batches;
    long rows;
    long columns;
    long depth;
    GemmOptions options = GemmOptions.DEFAULT;
    private @Nullable Tensor a;
    private @Nullable Tensor b;
    private @Nullable PackedWeights packed;
    private @Nullable Tensor c;
    private int unitRows;
    private int unitColumns;
    private long rowUnits;
    /** Units of each strip that somebody has taken. */
    private AtomicLongArray taken = new AtomicLongArray(1);

    private int strips;
    private int workers;

    /** Takes checked operands, {@code a} and {@code b} already transposed as the options say. */
    void bind(
            Tensor newA,
            @Nullable Tensor newB,
            @Nullable PackedWeights newPacked,
            Tensor newC,
            GemmOptions newOptions) {
        tag = CALLS.incrementAndGet();
        a = newA;
        b = newB;
        packed = newPacked;
        c = newC;
        options = newOptions;
        rows = newC.dim(-2);
        columns = newC.dim(-1);
        depth = newA.dim(-1);
        batches = 1;
        for (int axis = 0; axis < newC.rank() - 2; axis++) {
            batches *= newC.dim(axis);
        }
    }

    /** Runs everything, and records it if somebody asked for that. */
    void run() {
        GemmEvent event = GemmEvent.start();
        long units = divide(parallelism());
        workers = (int) Math.min(parallelism(), units);
        run(this, workers);
        if (event != null) {
            event.finish(this, units);
        }
    }

    /** Divides C into units; the larger side is halved until every thread has its share. */
    private long divide(int threads) {
        if (rows == 0 || columns == 0 || batches == 0) {
            return 0;
        }
        unitRows = evenly(rows, MOST_ROWS, Lanes.ROW_STEP);
        unitColumns = evenly(columns, mostColumns(threads), Lanes.PANEL);
        while (threads > 1 && units() < (long) threads * UNITS_PER_THREAD) {
            if (unitRows >= unitColumns && unitRows > Lanes.ROW_STEP) {
                unitRows = Lanes.roundUp(unitRows / 2, Lanes.ROW_STEP);
            } else if (unitColumns > Lanes.PANEL) {
                unitColumns = Lanes.roundUp(unitColumns / 2, Lanes.PANEL);
            } else {
                break;
            }
        }
        long units = units();
        taken = taken.length() >= strips ? taken : new AtomicLongArray(strips);
        for (int strip = 0; strip < strips; strip++) {
            taken.set(strip, 0);
        }
        return units;
    }

    /** The size of parts that are at most so large, all but the last the same, and multiples of a step. */
    private static int evenly(long size, int most, int step) {
        long parts = Math.ceilDiv(size, (long) most);
        return Lanes.roundUp((int) Math.ceilDiv(size, parts), step);
    }

    /** A strip for each thread, as narrow as keeping it packed takes, but not so narrow that A is read too often. */
    private int mostColumns(int threads) {
        long most = Math.ceilDiv(columns, (long) threads);
        if (b != null && batches * rows > unitRows) {
            most = Math.min(most, MOST_PACKED / Math.max(1, depth) / Lanes.PANEL * Lanes.PANEL);
        }
        return Math.clamp(most, LEAST_COLUMNS, MOST_COLUMNS);
    }

    /** Whether a thread keeps the panels of a unit's columns, as other units read them too. */
    boolean keepsPanels() {
        return depth * unitColumns <= MOST_PACKED && batches * rows > unitRows;
    }

    private long units() {
        rowUnits = Math.ceilDiv(rows, (long) unitRows);
        strips = Checks.fitsInt(Math.ceilDiv(columns, (long) unitColumns), "columns of c");
        return batches * rowUnits * strips;
    }

    /** One thread's work: what nobody has taken yet, strip after strip. */
    @Override
    public void run(long worker, Workspace scratch) {
        GemmBlock block = scratch.get(BLOCK);
        for (int i = 0; i < strips; i++) {
            int strip = (int) ((worker * strips / workers + i) % strips);
            for (long unit = taken.getAndIncrement(strip);
                    unit < batches * rowUnits;
                    unit = taken.getAndIncrement(strip)) {
                run(block, unit, (long) strip * unitColumns, scratch);
            }
        }
    }

    private void run(GemmBlock block, long unit, long column, Workspace scratch) {
        long row = unit % rowUnits * unitRows;
        int high = (int) Math.min(unitRows, rows - row);
        int wide = (int) Math.min(unitColumns, columns - column);
        block.compute(this, scratch.packer(), unit / rowUnits, row, column, high, wide);
    }

    Tensor a() {
        return Checks.notNull(a, "a");
    }

    /** The right operand, or null when it is packed. */
    @Nullable
    Tensor b() {
        return b;
    }

    @Nullable
    PackedWeights packed() {
        return packed;
    }

    Tensor c() {
        return Checks.notNull(c, "c");
    }

    /** Position of the first element of one batch; a matrix without batch axes serves every batch. */
    long start(Tensor matrix, long batch) {
        long at = matrix.offset();
        long rest = batch;
        Tensor result = c();
        for (int axis = result.rank() - 3; axis >= 0; axis--) {
            long index = rest % result.dim(axis);
            rest /= result.dim(axis);
            int own = axis - (result.rank() - matrix.rank());
            if (own >= 0 && matrix.dim(own) != 1) {
                at += index * matrix.stride(own);
            }
        }
        return at;
    }

    /** Forgets the caller's tensors. */
    @Override
    protected void clear() {
        a = null;
        b = null;
        packed = null;
        c = null;
        options = GemmOptions.DEFAULT;
    }
}
