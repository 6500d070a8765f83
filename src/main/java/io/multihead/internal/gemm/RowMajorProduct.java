package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.MicroKernel.MAX_CHAIN;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.MicroKernel;
import io.multihead.internal.kernel.RowMajorB;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import io.multihead.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/**
 * The sums of a few rows of A times a B whose rows are contiguous, which is read once in its own layout. Rows of f32 in native memory are read
 * in place, and other rows through a buffer in L1, a few at a time. Belongs to one thread.
 */
final class RowMajorProduct {
    /** Rows of B that are converted at a time: 32 KiB of 1024 columns. */
    private static final int STAGED_ROWS = 8;

    /** Rows of B that are read for all rows of A before the next rows: 64 KiB of 1024 columns. */
    private static final int SHARED_ROWS = 16;

    private final Scratch memory;
    private final BooleanSupplier isCompiled;
    private final StridedBlock block = new StridedBlock();
    private float[] left = {};
    private float[] chain = {};
    private float[] depthSums = {};
    private float[] rows = {};
    private PanelMemory staged = PanelMemory.NONE;

    /**
     * Creates a product without operands.
     *
     * @param isCompiled whether kernels with vectors are fast: {@link RowMajorB#isCompiled}, or a test's choice
     */
    RowMajorProduct(Scratch memory, BooleanSupplier isCompiled) {
        this.memory = memory;
        this.isCompiled = isCompiled;
    }

    /** Computes the sums of {@code m} rows and {@code n} columns of a task, rows {@code ldc} apart; {@code ldc} is a panel more than needed. */
    void multiply(GemmProblem p, Packer packer, long batch, long ic, long jc, int m, int n, float[] sums, int ldc) {
        int spare = Lanes.roundUp(m, MicroKernel.MR_SMALL);
        left = memory.atLeast(left, spare * ROW);
        chain = memory.atLeast(chain, spare * ldc);
        depthSums = memory.atLeast(depthSums, m * ldc);
        boolean isInPlace = isInPlace(p, n);
        Arrays.fill(sums, 0, m * ldc, 0f);
        for (long pc = 0; pc < p.k; pc += KC) {
            int kc = (int) Math.min(KC, p.k - pc);
            packer.read(block.matrix(p.a(), p.start(p.a(), batch), ic, pc), m, kc, left, 0, ROW);
            Arrays.fill(depthSums, 0, m * ldc, 0f);
            for (int first = 0; first < kc; first += MAX_CHAIN) {
                int depth = Math.min(MAX_CHAIN, kc - first);
                Arrays.fill(chain, 0, m * ldc, 0f);
                block.matrix(p.b(), p.start(p.b(), batch), pc + first, jc);
                if (isInPlace) {
                    long bytes = Float.BYTES;
                    add(
                            m,
                            first,
                            block.tensor().memory(),
                            block.at() * bytes,
                            block.rowStride() * bytes,
                            depth,
                            n,
                            ldc);
                } else {
                    addStaged(packer, m, first, depth, n, ldc);
                }
                RowOps.add(depthSums, 0, m * ldc, chain, 0);
            }
            RowOps.add(sums, 0, m * ldc, depthSums, 0);
        }
        if (isInPlace) {
            moveLastColumns(m, n, Lanes.COUNT, sums, ldc);
        }
    }

    /** Releases the caller's tensors. */
    void release() {
        block.clear();
    }

    private boolean isInPlace(GemmProblem p, int n) {
        return p.b().dtype() == DType.F32
                && p.b().stride(-1) == 1
                && NativeMemory.isNative(p.b().memory())
                && n >= Lanes.COUNT
                && isCompiled.getAsBoolean();
    }

    /**
     * Adds the products of all rows of A. If there are several tiles, a few rows of B are used at a time, which are still in L2 for the second
     * tile.
     */
    private void add(int m, int first, MemorySegment b, long b0, long ld, int depth, int columns, int ldc) {
        int step = m > MicroKernel.MR_SMALL ? SHARED_ROWS : depth;
        for (int p = 0; p < depth; p += step) {
            int count = Math.min(step, depth - p);
            long from = b0 + p * ld;
            int row = 0;
            for (; row + 1 < m; row += MicroKernel.MR_SMALL) {
                RowMajorB.add4(left, row * ROW + first + p, b, from, ld, count, columns, chain, row * ldc, ldc);
            }
            if (row < m) {
                RowMajorB.add1(left, row * ROW + first + p, b, from, ld, count, columns, chain, row * ldc);
            }
        }
    }

    private void addStaged(Packer packer, int m, int first, int depth, int n, int ldc) {
        int columns = Lanes.roundUp(n, PANEL);
        rows = memory.atLeast(rows, STAGED_ROWS * columns);
        boolean hasVectors = isCompiled.getAsBoolean();
        for (int row = 0; row < depth; row += STAGED_ROWS) {
            int count = Math.min(STAGED_ROWS, depth - row);
            long at = block.at() + row * block.rowStride();
            packer.read(block.tensor(), at, block.rowStride(), block.columnStride(), count, n, rows, 0, columns);
            if (hasVectors) {
                staged = memory.atLeast(staged, STAGED_ROWS * columns);
                staged.storeRow(rows, 0, count * columns, 0);
                add(m, first + row, staged.segment(), 0, (long) columns * Float.BYTES, count, columns, ldc);
            } else {
                RowMajorB.addScalars(m, left, first + row, rows, columns, count, n, chain, 0, ldc);
            }
        }
    }

    /** Moves the sums of the last columns, which the kernel stores after a whole number of vectors, to their final place. */
    static void moveLastColumns(int m, int n, int vector, float[] sums, int ldc) {
        int whole = n - n % vector;
        for (int row = 0; row < m && whole < n; row++) {
            int at = row * ldc + whole;
            System.arraycopy(sums, at + vector - (n - whole), sums, at, n - whole);
        }
    }
}
