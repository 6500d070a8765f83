package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.kernel.ColumnMajorB.CHAINS;
import static io.multihead.internal.kernel.ColumnMajorB.COLUMNS;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.MicroKernel.MAX_CHAIN;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.kernel.ColumnMajorB;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import io.multihead.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/**
 * The sums of one or two rows of A times a B that is read column by column, several at a time. Columns of f32 in native memory are read
 * in place, and other columns, of any strides, through a buffer in L1. Belongs to one thread.
 */
final class ColumnMajorProduct {
    /** The depth up to which columns are read before the next columns. */
    private static final int SPAN = 16 * KC;

    private final Scratch memory;
    private final BooleanSupplier isCompiled;
    private final StridedBlock block = new StridedBlock();
    private float[] left = {};
    private float[] columns = {};
    private final float[] chain = new float[COLUMNS];
    private final float[] depthSums = new float[COLUMNS];

    /**
     * Creates a product without operands.
     *
     * @param isCompiled whether kernels with vectors are fast: {@link ColumnMajorB#isCompiled}, or a test's choice
     */
    ColumnMajorProduct(Scratch memory, BooleanSupplier isCompiled) {
        this.memory = memory;
        this.isCompiled = isCompiled;
    }

    /**
     * Computes the sums of {@code m} rows and {@code n} columns of a task, rows {@code ldc} apart; {@code ldc} is a panel more than
     * needed.
     */
    void multiply(GemmProblem p, Packer packer, long batch, long ic, long jc, int m, int n, float[] sums, int ldc) {
        boolean isInPlace = isInPlace(p, n);
        columns = memory.atLeast(columns, isInPlace ? 0 : CHAINS * ROW);
        Arrays.fill(sums, 0, m * ldc, 0f);
        for (long from = 0; from < p.k; from += SPAN) {
            int span = (int) Math.min(SPAN, p.k - from);
            int lda = Lanes.roundUp(span, PANEL);
            left = memory.atLeast(left, m * lda);
            packer.read(block.matrix(p.a(), p.start(p.a(), batch), ic, from), m, span, left, 0, lda);
            for (int column = 0; column < n; column += isInPlace ? COLUMNS : CHAINS) {
                // the last columns in place may overlap the previous ones: their sums are moved at the end
                int first = isInPlace ? Math.min(column, n - COLUMNS) : column;
                block.matrix(p.b(), p.start(p.b(), batch), from, jc + first);
                for (int pc = 0; pc < span; pc += KC) {
                    int kc = Math.min(KC, span - pc);
                    if (!isInPlace) {
                        readColumns(packer, pc, Math.min(CHAINS, n - column), kc);
                    }
                    for (int row = 0; row < m; row++) {
                        addDepth(isInPlace, row * lda + pc, pc, kc, sums, row * ldc + column);
                    }
                }
            }
        }
        if (isInPlace) {
            RowMajorProduct.moveLastColumns(m, n, COLUMNS, sums, ldc);
        }
    }

    /** Releases the caller's tensors. */
    void release() {
        block.clear();
    }

    private boolean isInPlace(GemmProblem p, int n) {
        return p.b().dtype() == DType.F32
                && p.b().stride(-2) == 1
                && NativeMemory.isNative(p.b().memory())
                && n >= COLUMNS
                && isCompiled.getAsBoolean();
    }

    private void readColumns(Packer packer, int pc, int count, int kc) {
        isCompiled.getAsBoolean(); // this query makes a trial from time to time, so that a later call may read in place
        long at = block.at() + pc * block.rowStride();
        packer.read(block.tensor(), at, block.columnStride(), block.rowStride(), count, kc, columns, 0, ROW);
    }

    /** Adds the products of one depth block. The chains of the block are first added to each other. */
    private void addDepth(boolean isInPlace, int a0, int pc, int kc, float[] sums, int to) {
        int count = isInPlace ? COLUMNS : CHAINS;
        Arrays.fill(depthSums, 0f);
        for (int first = 0; first < kc; first += MAX_CHAIN) {
            int depth = Math.min(MAX_CHAIN, kc - first);
            if (isInPlace) {
                multiplyInPlace(a0 + first, pc + first, depth);
            } else {
                ColumnMajorB.chainScalars(left, a0 + first, columns, first, depth, chain, 0);
            }
            for (int i = 0; i < count; i++) {
                depthSums[i] += chain[i];
            }
        }
        for (int i = 0; i < count; i++) {
            sums[to + i] += depthSums[i];
        }
    }

    private void multiplyInPlace(int a0, int p, int depth) {
        MemorySegment b = NativeMemory.known(block.tensor().memory());
        int whole = depth - depth % COLUMNS;
        long from = (block.at() + p) * Float.BYTES;
        long ld = block.columnStride() * Float.BYTES;
        ColumnMajorB.chain(left, a0, b, from, ld, whole, chain, 0);
        for (int k = whole; k < depth; k++) {
            for (int i = 0; i < COLUMNS; i++) {
                float element = b.get(ValueLayout.JAVA_FLOAT_UNALIGNED, from + i * ld + (long) k * Float.BYTES);
                chain[i] = Math.fma(left[a0 + k], element, chain[i]);
            }
        }
    }
}
