package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.ColumnMajorB.CHAINS;

import io.multihead.internal.kernel.ColumnMajorB;
import io.multihead.internal.kernel.RowMajorB;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;

/**
 * Products of a few rows of A, for which packing does not pay off: B is read once in its own layout, at the speed of memory, and every sum
 * has the same bits as in a product with packed panels. Belongs to one thread.
 */
final class FewRows {
    /**
     * The largest number of rows if the rows of B are contiguous. 4 and 8 rows times 1024 x 1024 take 0.15 and 0.32 ms. With packing, 4 rows
     * take 0.29 ms, and 8 rows at least the same time (Zen 4, one thread).
     */
    private static final int MOST_ROWS = 8;

    /**
     * The largest number of rows if B is read column by column. Each row times 1024 x 1024 takes 0.16 ms; with packing, four rows take 1.0 ms
     * (Zen 4, one thread). The second row finds the columns of a depth block, 16 KiB, in L1.
     */
    private static final int MOST_ROWS_BY_COLUMNS = 4;

    private final RowMajorProduct byRows;
    private final ColumnMajorProduct byColumns;

    FewRows(Scratch memory) {
        byRows = new RowMajorProduct(memory, RowMajorB::isCompiled);
        byColumns = new ColumnMajorProduct(memory, ColumnMajorB::isCompiled);
    }

    /** Returns whether C has few enough rows for each matrix of B. */
    static boolean take(GemmProblem p) {
        if (p.isPacked() || p.transposed() != null || p.k == 0) {
            return false;
        }
        return p.rowsOfEachB() <= (isByRows(p) ? MOST_ROWS : MOST_ROWS_BY_COLUMNS);
    }

    private static boolean isByRows(GemmProblem p) {
        Tensor b = p.b();
        return b.stride(-1) == 1 && p.n >= CHAINS;
    }

    /** Computes the sums of {@code m} rows and {@code n} columns of a task, rows {@code ldc} apart; {@code ldc} is a panel more than needed. */
    void multiply(GemmProblem p, Packer packer, long batch, long ic, long jc, int m, int n, float[] sums, int ldc) {
        if (isByRows(p)) {
            byRows.multiply(p, packer, batch, ic, jc, m, n, sums, ldc);
        } else {
            byColumns.multiply(p, packer, batch, ic, jc, m, n, sums, ldc);
        }
    }

    /** Releases the caller's tensors. */
    void release() {
        byRows.release();
        byColumns.release();
    }
}
