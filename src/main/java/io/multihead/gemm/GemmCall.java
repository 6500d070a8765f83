package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.compute.Workspace;
import io.multihead.internal.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * One multiplication: its operands, sizes and division into units. A unit is a block of C of one batch; its depth is never
 * divided, so no result depends on the division.
 */
final class GemmCall implements Compute.Job {
    /** Columns of a unit: B's panels of one depth block, 512 KiB, stay in L2 or close by. */
    private static final int MOST_COLUMNS = 512;

    /** Rows of a unit: its sums, 816 KiB, stay in L2 from depth to depth, and packing B for it is a fiftieth of the work. */
    private static final int MOST_ROWS = 384;

    private static final int UNITS_PER_THREAD = 2;

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
    private long columnUnits;

    /** Takes checked operands, {@code a} and {@code b} already transposed as the options say. */
    void bind(
            Tensor newA,
            @Nullable Tensor newB,
            @Nullable PackedWeights newPacked,
            Tensor newC,
            GemmOptions newOptions) {
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
    void run(Compute cpu, Workspace scratch) {
        GemmEvent event = GemmEvent.start();
        long units = divide(cpu.parallelism());
        cpu.run(this, units, scratch);
        if (event != null) {
            event.finish(this, units);
        }
    }

    /** Divides C into units; the larger side is halved until every thread has its share. */
    private long divide(int threads) {
        if (rows == 0 || columns == 0 || batches == 0) {
            return 0;
        }
        unitRows = (int) Math.min(MOST_ROWS, rows);
        unitColumns = (int) Math.min(MOST_COLUMNS, columns);
        while (threads > 1 && units() < (long) threads * UNITS_PER_THREAD) {
            if (unitRows >= unitColumns && unitRows > Lanes.ROW_STEP) {
                unitRows = Lanes.roundUp(unitRows / 2, Lanes.ROW_STEP);
            } else if (unitColumns > Lanes.PANEL) {
                unitColumns = Lanes.roundUp(unitColumns / 2, Lanes.PANEL);
            } else {
                break;
            }
        }
        unitColumns = Lanes.roundUp(unitColumns, Lanes.PANEL);
        return units();
    }

    private long units() {
        rowUnits = Math.ceilDiv(rows, (long) unitRows);
        columnUnits = Math.ceilDiv(columns, (long) unitColumns);
        return batches * rowUnits * columnUnits;
    }

    @Override
    public void run(long unit, Workspace scratch) {
        long row = unit % rowUnits * unitRows;
        long column = unit / rowUnits % columnUnits * unitColumns;
        long batch = unit / rowUnits / columnUnits;
        GemmBlock block = scratch.job(Workspace.GEMM, GemmBlock::new);
        int high = (int) Math.min(unitRows, rows - row);
        int wide = (int) Math.min(unitColumns, columns - column);
        block.compute(this, scratch.packer(), batch, row, column, high, wide);
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
    void clear() {
        a = null;
        b = null;
        packed = null;
        c = null;
        options = GemmOptions.DEFAULT;
    }
}
