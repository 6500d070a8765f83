package io.multihead.internal.gemm;

import io.multihead.internal.base.Checks;
import io.multihead.internal.layout.BlockPanels;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.tensor.Tensor;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The operands and sizes of one multiplication {@code C = f(alpha A B + beta C + bias)}, in batches: A {@code [m, k]}, B {@code [k, n]}, C
 * {@code [m, n]} in the last two axes. One thread binds the problem, and then all threads that work on the problem read it.
 */
public final class GemmProblem {
    private static final AtomicLong CALLS = new AtomicLong();

    /**
     * A unique number of the call: the key under which threads keep packed columns of B and prepared rows of A. Problems of a group, whose
     * B are packed before the call, have the same number.
     */
    long call;

    long m;
    long n;
    long k;
    /** The first of the {@code m} rows of A and C that are computed, if the call does not compute all rows. */
    private long firstRow;

    private @Nullable Tensor a;
    private @Nullable Tensor b;
    private @Nullable PackedMatrix packed;
    /** The transpose of B, packed before the call: its panels are widened and packed again. */
    private @Nullable PackedMatrix transposed;

    private @Nullable Tensor c;
    private final Epilogue epilogue = new Epilogue();

    /** The steps after the sums. */
    private static final class Epilogue {
        float alpha;
        float beta;

        @Nullable
        Tensor bias;

        @Nullable
        RowFunction function;
    }

    /** Creates a problem without operands. */
    public GemmProblem() {}

    /** Binds checked operands; B is either a tensor or packed. */
    public void bind(Tensor newA, @Nullable Tensor newB, @Nullable PackedMatrix newPacked, Tensor newC) {
        call = CALLS.incrementAndGet();
        a = newA;
        b = newB;
        packed = newPacked;
        transposed = null;
        c = newC;
        m = newC.dim(-2);
        n = newC.dim(-1);
        k = newA.dim(-1);
        firstRow = 0;
    }

    /** Binds checked operands, with the transpose of B. */
    public void bindTransposed(Tensor newA, PackedMatrix newB, Tensor newC) {
        bind(newA, null, null, newC);
        transposed = newB;
    }

    /** Restricts this problem to some rows of A and C. */
    public void bindRows(long first, long count) {
        firstRow = first;
        m = count;
    }

    /**
     * Makes this problem a part of the call of another problem with the same A, if both read the same rows in each batch. One of them may
     * transpose A, or have results of more batches. Both have a packed B.
     */
    public void joinCall(GemmProblem other) {
        boolean sameRows = m == other.m
                && firstRow == other.firstRow
                && k == other.k
                && a().stride(-2) == other.a().stride(-2)
                && a().stride(-1) == other.a().stride(-1);
        boolean sameBatches = c().rank() == other.c().rank();
        for (int axis = c().rank() - 3; axis >= 0 && sameBatches; axis--) {
            sameBatches = c().dim(axis) == other.c().dim(axis);
        }
        if (sameRows && sameBatches) {
            call = other.call;
        }
    }

    /** Returns whether both have the same C, of which they may compute different rows. */
    public boolean writesTo(GemmProblem other) {
        return c == other.c;
    }

    /** Returns whether both compute the same rows. */
    public boolean hasRowsOf(GemmProblem other) {
        return firstRow == other.firstRow;
    }

    /** Binds the factors, the bias that is added to every row, and the function of the sum; null for none. */
    public void bindFactors(
            float newAlpha, float newBeta, @Nullable Tensor newBias, @Nullable RowFunction newFunction) {
        epilogue.alpha = newAlpha;
        epilogue.beta = newBeta;
        epilogue.bias = newBias;
        epilogue.function = newFunction;
    }

    /** Releases the caller's tensors. */
    public void release() {
        a = null;
        b = null;
        packed = null;
        transposed = null;
        c = null;
        epilogue.bias = null;
    }

    public long batches() {
        Tensor result = c();
        long batches = 1;
        for (int axis = 0; axis < result.rank() - 2; axis++) {
            batches *= result.dim(axis);
        }
        return batches;
    }

    /** Returns the rows of A and C. */
    public long m() {
        return m;
    }

    /** Returns the columns of B and C. */
    public long n() {
        return n;
    }

    /** Returns the columns of A, which are the rows of B. */
    public long k() {
        return k;
    }

    /** Returns the number of rows of C that are computed from the same matrix of B: the rows of all batches that share B. */
    long rowsOfEachB() {
        Tensor matrix = b;
        long rows = batches() * m;
        for (int axis = 0; matrix != null && rows > 0 && axis < matrix.rank() - 2; axis++) {
            rows /= matrix.stride(axis) == 0 ? 1 : matrix.dim(axis);
        }
        return rows;
    }

    /** Returns whether B was packed before the call, and is read in that form. */
    public boolean isPacked() {
        return packed != null;
    }

    /** Returns whether the columns of A are contiguous in memory, and its rows are not. */
    boolean isLeftTransposed() {
        return a().stride(-2) == 1 && a().stride(-1) != 1;
    }

    /** Returns whether B was packed in a format narrower than f32. */
    boolean isNarrow() {
        return packed != null && packed.format() != PanelFormat.F32;
    }

    /** Returns the format of B if it was packed before the call in quantized blocks, otherwise null. */
    @Nullable
    BlockPanels blocks() {
        return packed != null && packed.format().isQuantized() ? packed.format().blocks() : null;
    }

    /** Returns whether rows of A are rounded to 8 bits. */
    boolean roundsInputs() {
        return packed != null && packed.roundsInputs();
    }

    Tensor a() {
        return Checks.notNull(a, "a");
    }

    Tensor b() {
        return Checks.notNull(b, "b");
    }

    /** Returns B, packed before the call, or null if it is a tensor. */
    @Nullable
    PackedMatrix packed() {
        return packed;
    }

    /** Returns the transpose of B, packed before the call, or null. */
    @Nullable
    PackedMatrix transposed() {
        return transposed;
    }

    Tensor c() {
        return Checks.notNull(c, "c");
    }

    /** Returns the factor of the product. */
    float alpha() {
        return epilogue.alpha;
    }

    /** Returns the factor of C's previous elements. */
    float beta() {
        return epilogue.beta;
    }

    @Nullable
    Tensor bias() {
        return epilogue.bias;
    }

    @Nullable
    RowFunction function() {
        return epilogue.function;
    }

    /** Returns the position of the first element of one batch, of the computed rows; a matrix without batch axes serves every batch. */
    long start(Tensor matrix, long batch) {
        Tensor result = c();
        long at = matrix.offset();
        if (firstRow != 0 && matrix != b) {
            at += firstRow * matrix.stride(-2);
        }
        long rest = batch;
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
}
