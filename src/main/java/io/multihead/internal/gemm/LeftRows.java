package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.Fields;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.NibbleTiles;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import org.jspecify.annotations.Nullable;

/**
 * Rows of A as one thread reads them, a depth block at a time, and for quantised B prepares them ({@link Fields#prepare}) or rounds them
 * ({@link NibbleTiles.Rows}).
 *
 * <p>Where all rows are in one task, other tasks of the call and of its group need the same rows: then all depth blocks are kept, one after
 * another, each in rows of its own. A row of 2048 that is rounded takes as long as 64 columns of its product.
 */
final class LeftRows {
    private static final long NO_CALL = -1;

    /** Most floats of rows that are kept. */
    private static final long MOST_KEPT = 1 << 20;

    private final Scratch memory;
    private final StridedBlock block = new StridedBlock();
    private final Fields.Rows prepared = new Fields.Rows();
    private final NibbleTiles.Rows rounded = new NibbleTiles.Rows();
    private float[] rows = {};
    private float[] sums = {};
    private int[] ints = {};

    private boolean isRounded;
    private int first;
    /** Rows of a depth block that is kept, or 0 where each block takes the place of the one before. */
    private int keptRows;

    /** The call, its batch and the format of B for which all depth blocks are kept. */
    private long keptCall = NO_CALL;

    private long keptBatch;
    private @Nullable BlockPanels keptFormat;
    private boolean keptRounded;

    LeftRows(Scratch memory) {
        this.memory = memory;
    }

    /**
     * Begins a task.
     *
     * @param m rows of the task
     * @param step most rows that are read at a time
     * @param isWhole whether these are all rows of the batch
     */
    void begin(GemmProblem p, long batch, int m, int step, boolean isWhole) {
        BlockPanels format = p.blocks();
        isRounded = p.roundsInputs();
        int padded = Lanes.roundUp(Math.min(m, step), m == 1 ? 1 : ROW_STEP);
        long blocks = Math.ceilDiv(p.k, (long) KC);
        boolean keeps = format != null && isWhole && m <= step && blocks * padded * ROW <= MOST_KEPT;
        keptRows = keeps ? padded : 0;
        boolean isKept =
                keeps && keptCall == p.call && keptBatch == batch && keptFormat == format && keptRounded == isRounded;
        if (isKept) {
            return;
        }
        keptCall = NO_CALL;
        int count = keeps ? (int) blocks * padded : padded;
        rows = memory.atLeast(rows, count * ROW);
        if (format != null) {
            sums = memory.atLeast(sums, count * Fields.SUMS);
            ints = memory.atLeast(ints, isRounded ? count * NibbleTiles.Rows.INTS : 0);
        }
    }

    /** Reads a depth block of {@code count} rows from {@code row} on, unless an earlier task did. */
    void read(GemmProblem p, Packer packer, long batch, long row, int count, long pc, int kc) {
        first = keptRows * (int) (pc / KC);
        prepared.set(rows, sums);
        prepared.begin(first);
        rounded.set(ints, sums);
        if (keptCall != NO_CALL) {
            return;
        }
        packer.read(block.matrix(p.a(), p.start(p.a(), batch), row, pc), count, kc, rows, first * ROW, ROW);
        BlockPanels format = p.blocks();
        if (format == null) {
            return;
        }
        if (isRounded) {
            rounded.prepare(rows, first, count, kc, format.fields().offset());
        } else {
            format.fields().prepare(prepared, first, count, kc, format.scales().hasMinima());
        }
        if (keptRows > 0 && pc + kc == p.k) {
            keptCall = p.call;
            keptBatch = batch;
            keptFormat = format;
            keptRounded = isRounded;
        }
    }

    /** Releases the caller's tensor. */
    void release() {
        block.clear();
        prepared.clear();
    }

    /** Returns the rows, {@link Lanes#ROW} floats apart, as they were read or as they were prepared. */
    float[] floats() {
        return rows;
    }

    /** Returns the first row of the depth block that was read. */
    int first() {
        return first;
    }

    boolean isRounded() {
        return isRounded;
    }

    /** Returns the rows with their sums, those of rounded rows too. */
    Fields.Rows prepared() {
        return prepared;
    }

    NibbleTiles.Rows rounded() {
        return rounded;
    }
}
