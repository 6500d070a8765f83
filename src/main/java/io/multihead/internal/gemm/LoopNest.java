package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.gemm.Blocking.MC;
import static io.multihead.internal.gemm.Blocking.MC_NARROW;
import static io.multihead.internal.gemm.Blocking.MC_TRANSPOSED;
import static io.multihead.internal.gemm.Blocking.NR;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.PanelPacker;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * The five loops of the matrix multiplication (Goto and van de Geijn 2008) around {@link io.multihead.internal.kernel.MicroKernel}, as run
 * by one thread; {@link Blocking} has the block sizes.
 *
 * <pre>
 *  loop 5   jc over n by NC            columns of C: a strip, first those of this thread   (a parallel loop: tasks
 *           ic over m by TASK_ROWS     tasks of the strip, in all batches                    by {@link TaskGrid})
 *  loop 4     pc over k by KC            B~ = panels of B[pc.., jc..], kept from task to task where they fit
 *  loop 3       ir over rows by MC         A~ = rows of A[ic + ir.., pc..], {@link LeftRows}
 *  loop 2         jr over columns by NR      {@link WeightKernel#multiply}
 *  loop 1           ir over MC by MR           one tile: k multiplications for each element of C, in ascending order
 * </pre>
 *
 * <p>C stays in f32 scratch until its sum is complete, so a narrow C is rounded once. Belongs to one thread.
 */
public final class LoopNest {
    private static final long NO_CALL = -1;

    private final Scratch memory;
    private final WeightKernel kernel;
    private final PanelPacker panelPacker;
    private final FewRows fewRows;
    private final TransposedPanels transposed;
    private final LeftRows left;
    private final StridedBlock block = new StridedBlock();
    private final Panels right = new Panels();
    private PanelMemory packedB = PanelMemory.NONE;
    /**
     * The call for which {@link #packedB} holds all depth blocks of some columns of B. It identifies these columns together with {@link
     * #packedStart} and {@link #packedColumns}.
     */
    private long packedCall = NO_CALL;
    /** The position of the packed columns in B's memory. */
    private long packedStart;
    /** The number of packed columns. It is stored since columns of stride 0 all begin at one place. */
    private int packedColumns;

    /** The sums of C of one task, with rows {@link #ldc} apart. */
    private float[] sums = new float[0];

    private float[] before = new float[0];
    private float[] addend = new float[0];
    private float[] buffer = new float[0];
    private int ldc;

    /** Creates a loop nest, which allocates its buffers from {@code memory} at the first use. */
    public LoopNest(Scratch memory) {
        this.memory = memory;
        left = new LeftRows(memory);
        kernel = new WeightKernel(memory, left);
        panelPacker = new PanelPacker(memory);
        fewRows = new FewRows(memory);
        transposed = new TransposedPanels(memory);
    }

    /** Computes one task of loop 5. */
    public void run(GemmProblem p, TaskGrid grid, Packer packer, long task) {
        try {
            compute(p, grid, packer, task);
        } finally {
            kernel.release();
            left.release();
            right.clear();
            block.clear();
            fewRows.release();
        }
    }

    private void compute(GemmProblem p, TaskGrid grid, Packer packer, long task) {
        long jc = grid.firstColumn(task);
        int n = grid.columns(p, jc);
        long batch = grid.batch(task);
        long ic = grid.firstRow(task);
        int m = grid.rows(p, ic);
        int rowStep = p.isNarrow() ? MC_NARROW : p.isLeftTransposed() ? MC_TRANSPOSED : MC;
        begin(m, n, p.k);
        prepareFinish(p, packer, jc, n);
        if (FewRows.take(p)) {
            fewRows.multiply(p, packer, batch, ic, jc, m, n, sums, ldc);
            finish(p, packer, batch, ic, jc, 0, m, n);
            return;
        }
        left.begin(p, batch, rowStep);
        for (long pc = 0; pc < p.k; pc += KC) { // loop 4
            int kc = (int) Math.min(KC, p.k - pc);
            packB(p, grid, packer, batch, pc, kc, jc, n);
            for (int ir = 0; ir < m; ir += rowStep) { // loop 3
                int mc = Math.min(rowStep, m - ir);
                left.read(p, packer, batch, ic + ir, mc, pc, kc);
                kernel.right(right).into(sums, ir * ldc, ldc);
                kernel.multiply(mc, n, kc, pc > 0); // loops 2 and 1
                if (pc + kc == p.k) {
                    finish(p, packer, batch, ic, jc, ir, mc, n);
                }
            }
        }
        if (p.k == 0) {
            finish(p, packer, batch, ic, jc, 0, m, n);
        }
    }

    private void begin(int m, int n, long k) {
        // one panel more than needed, so that rows do not fall into the same cache sets
        ldc = Lanes.roundUp(n, NR) + NR;
        sums = memory.atLeast(sums, Lanes.roundUp(m, ROW_STEP) * ldc);
        if (k == 0) {
            Arrays.fill(sums, 0, m * ldc, 0f);
        }
    }

    /** Reads the bias of the task's columns, and reserves memory of {@link #finish} for a row. */
    private void prepareFinish(GemmProblem p, Packer packer, long jc, int n) {
        int padded = Lanes.roundUp(n, NR);
        Tensor bias = p.bias();
        if (bias != null) {
            long step = bias.stride(0);
            addend = memory.atLeast(addend, padded);
            packer.read(block.set(bias, bias.offset() + jc * step, 0, step), 1, n, addend, 0, padded);
        }
        if (p.beta() != 0f) {
            before = memory.atLeast(before, padded);
        }
        if (p.function() != null) {
            buffer = memory.atLeast(buffer, ActivationOps.bufferLength(padded));
        }
    }

    /** Sets the right operand of a depth block: packed before the call, kept from an earlier task, or packed now. */
    private void packB(GemmProblem p, TaskGrid grid, Packer packer, long batch, long pc, int kc, long jc, int n) {
        PackedMatrix packed = p.packed();
        if (packed != null) {
            packed.block(pc, kc, jc, right);
            return;
        }
        int stride = PanelFormat.F32.panelSize(kc);
        if (!grid.keepsPackedB()) {
            packedCall = NO_CALL;
            packedB = memory.atLeast(packedB, F32Panels.size(n, KC));
            packBlock(p, packer, batch, pc, kc, jc, n, 0);
            right.set(packedB, 0, stride);
            return;
        }
        if (pc == 0) {
            packAll(p, packer, batch, jc, n);
        }
        right.set(packedB, (int) pc * Lanes.roundUp(n, NR), stride);
    }

    /** Packs all depth blocks of a task's columns of B, unless this thread packed them for an earlier task. */
    private void packAll(GemmProblem p, Packer packer, long batch, long jc, int n) {
        long start = p.transposed() == null
                ? block.matrix(p.b(), p.start(p.b(), batch), 0, jc).at()
                : jc;
        if (packedCall == p.call && packedStart == start && packedColumns == n) {
            return;
        }
        packedCall = NO_CALL;
        packedB = memory.atLeast(packedB, F32Panels.size(n, (int) p.k));
        for (long pc = 0; pc < p.k; pc += KC) {
            packBlock(p, packer, batch, pc, (int) Math.min(KC, p.k - pc), jc, n, (int) pc * Lanes.roundUp(n, NR));
        }
        packedCall = p.call;
        packedStart = start;
        packedColumns = n;
    }

    private void packBlock(GemmProblem p, Packer packer, long batch, long pc, int kc, long jc, int n, int to) {
        PackedMatrix panels = p.transposed();
        if (panels != null) {
            transposed.pack(panels, packer, pc, kc, jc, n, packedB, to);
            return;
        }
        block.matrix(p.b(), p.start(p.b(), batch), pc, jc);
        panelPacker.pack(packer, block, kc, n, packedB, to);
    }

    /**
     * Computes {@code C = f(alpha sums + beta C + bias)} for {@code m} rows of the task, from {@code first} on, whose sums are complete.
     * The computation is row by row, so that each row is read from L2 once.
     */
    private void finish(GemmProblem p, Packer packer, long batch, long ic, long jc, int first, int m, int n) {
        int padded = Lanes.roundUp(n, NR);
        long start = p.start(p.c(), batch);
        RowFunction function = p.function();
        for (int row = first; row < first + m; row++) {
            int at = row * ldc;
            if (p.alpha() != 1f) {
                RowOps.scale(sums, at, padded, p.alpha());
            }
            if (p.beta() != 0f) {
                packer.read(block.matrix(p.c(), start, ic + row, jc), 1, n, before, 0, padded);
                RowOps.addScaled(sums, at, padded, before, p.beta());
            }
            if (p.bias() != null) {
                RowOps.add(sums, at, padded, addend, 0);
            }
            if (function != null) {
                function.apply(sums, at, padded, buffer);
            }
        }
        packer.write(sums, first * ldc, ldc, m, n, block.matrix(p.c(), start, ic + first, jc));
    }
}
