package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.BitFields;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.NibbleTiles;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Rows of A in the form in which one thread reads them, a depth block at a time; for quantized B it prepares them ({@link
 * BitFields#prepare}) or rounds them ({@link NibbleTiles.Rows}).
 *
 * <p>Tasks of other columns, and of other weights of a group, need the same rows. Therefore prepared rows of a batch are kept if they fit,
 * one depth block after another. Rounding a row of 2048 elements takes as long as computing 64 columns of its product.
 */
final class LeftRows {
    private static final long NO_CALL = -1;

    /** The largest number of elements of kept rows: 16 MiB, or 8 MiB if they are rounded. */
    private static final long MOST_KEPT = 1 << 22;

    private final Scratch memory;
    private final StridedBlock block = new StridedBlock();
    private final BitFields.Rows prepared = new BitFields.Rows();
    private final NibbleTiles.Rows rounded = new NibbleTiles.Rows();
    private float[] rows = {};
    private float[] sums = {};
    private int[] ints = {};

    private boolean isRounded;
    private int first;
    /** The number of kept rows of a depth block of the batch, or 0 if each block replaces the previous one. */
    private int keptRows;

    /** The rows of the batch whose depth blocks are all kept. Each bit stands for {@link Lanes#ROW_STEP} rows. */
    private final BitSet kept = new BitSet((int) (MOST_KEPT / ROW / ROW_STEP));

    /** The call, its batch and the format of B for which rows are kept. */
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
     * @param step the largest number of rows that are read at a time
     */
    void begin(GemmProblem p, long batch, int step) {
        BlockPanels format = p.blocks();
        isRounded = p.roundsInputs();
        long blocks = Math.ceilDiv(p.k, (long) KC);
        boolean keeps = format != null && blocks * padded(p.m) * ROW <= MOST_KEPT;
        keptRows = keeps ? (int) padded(p.m) : 0;
        if (keeps && isKept(p, batch)) {
            return;
        }
        kept.clear();
        keptCall = NO_CALL; // no rows are kept until there is room for them
        int together = (int) padded(Math.min(p.m, step));
        int count = keeps ? (int) blocks * keptRows : together;
        rows = memory.atLeast(rows, (isRounded ? together : count) * ROW);
        if (format != null) {
            sums = memory.atLeast(sums, count * BitFields.SUMS);
            ints = memory.atLeast(ints, isRounded ? count * NibbleTiles.Rows.INTS : 0);
        }
        keptCall = p.call;
        keptBatch = batch;
        keptFormat = format;
        keptRounded = isRounded;
    }

    private boolean isKept(GemmProblem p, long batch) {
        return keptCall == p.call && keptBatch == batch && keptFormat == p.blocks() && keptRounded == isRounded;
    }

    private static long padded(long count) {
        return count == 1 ? 1 : Math.ceilDiv(count, (long) ROW_STEP) * ROW_STEP;
    }

    /** Reads a depth block of {@code count} rows from {@code row} on, unless earlier tasks read all of them. */
    void read(GemmProblem p, Packer packer, long batch, long row, int count, long pc, int kc) {
        first = keptRows == 0 ? 0 : keptRows * (int) (pc / KC) + (int) row;
        prepared.set(rows, sums);
        prepared.begin(first);
        rounded.set(ints, sums);
        long from = row / ROW_STEP;
        long to = Math.ceilDiv(row + count, (long) ROW_STEP);
        if (keptRows > 0 && kept.nextClearBit((int) from) >= to) {
            return;
        }
        int at = isRounded ? 0 : first * ROW; // floats that are rounded are not kept
        packer.read(block.matrix(p.a(), p.start(p.a(), batch), row, pc), count, kc, rows, at, ROW);
        BlockPanels format = p.blocks();
        if (format == null) {
            return;
        }
        if (isRounded) {
            rounded.prepare(rows, first, count, kc, format.fields().offset());
        } else {
            format.fields().prepare(prepared, first, count, kc, format.scales().hasMins());
        }
        if (keptRows > 0 && pc + kc == p.k) {
            kept.set((int) from, (int) to);
        }
    }

    /** Releases the caller's tensor. */
    void release() {
        block.clear();
        prepared.clear();
    }

    /** Returns the rows, {@link Lanes#ROW} floats apart, unchanged or prepared. */
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

    /** Returns the rows with their sums, also for rounded rows. */
    BitFields.Rows prepared() {
        return prepared;
    }

    NibbleTiles.Rows rounded() {
        return rounded;
    }
}
