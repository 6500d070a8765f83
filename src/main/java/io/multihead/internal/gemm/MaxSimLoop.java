package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;
import static io.multihead.internal.gemm.Blocking.MC;
import static io.multihead.internal.gemm.Blocking.NR;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowMaxima;
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
 * Scores of consecutive passages, as computed by one thread. The query is packed as panels, with a column for each of its tokens; rows of
 * passages are multiplied by the panels block by block, across the ends of passages, and each column keeps its largest product until the
 * passage ends. Therefore products are stored for at most one block, which is in L2, and short passages cost no more than long ones.
 *
 * <p>Every product is a sum of chains as in {@link LoopNest}, a maximum does not round, and the maxima are added in double in the order of
 * the query's tokens. Therefore bits do not depend on blocks.
 */
public final class MaxSimLoop {
    private static final long NO_CALL = -1;

    private final Scratch memory;
    private final MacroKernel kernel;
    private final PanelPacker panelPacker;
    private final StridedBlock block = new StridedBlock();
    private final Panels right = new Panels();
    private final float[] score = new float[1];
    private float[] rows = new float[0];
    private float[] products = new float[0];
    private float[] best = new float[0];
    private PanelMemory packed = PanelMemory.NONE;
    /** The call whose query is packed. */
    private long packedCall = NO_CALL;

    /** Sizes of the call: tokens of the query, and elements of a vector. */
    private int n;

    private int k;
    private int ldc;

    /** Creates a loop, which allocates its buffers from {@code memory} at the first use. */
    public MaxSimLoop(Scratch memory) {
        this.memory = memory;
        kernel = new MacroKernel(memory);
        panelPacker = new PanelPacker(memory);
    }

    /** Computes the scores of a task's passages. */
    public void run(MaxSimProblem problem, Packer packer, long task) {
        int first = problem.firstPassage(task);
        int end = problem.firstPassage(task + 1);
        if (first == end) {
            return;
        }
        try {
            pack(problem, packer);
            compute(problem, packer, first, end);
        } finally {
            kernel.release();
            right.clear();
            block.clear();
        }
    }

    private void pack(MaxSimProblem problem, Packer packer) {
        Tensor query = problem.query();
        n = (int) query.dim(0);
        k = (int) query.dim(1);
        ldc = Lanes.roundUp(n, NR) + NR;
        rows = memory.atLeast(rows, MC * ROW);
        products = memory.atLeast(products, Lanes.roundUp(MC, ROW_STEP) * ldc);
        best = memory.atLeast(best, Lanes.roundUp(n, NR));
        if (packedCall == problem.call) {
            return;
        }
        packedCall = NO_CALL;
        packed = memory.atLeast(packed, F32Panels.size(n, k));
        long step = query.stride(1);
        for (int pc = 0; pc < k; pc += KC) {
            block.set(query, query.offset() + pc * step, step, query.stride(0));
            panelPacker.pack(packer, block, Math.min(KC, k - pc), n, packed, pc * Lanes.roundUp(n, NR));
        }
        packedCall = problem.call;
    }

    private void compute(MaxSimProblem problem, Packer packer, int first, int end) {
        int padded = Lanes.roundUp(n, NR);
        int passage = first;
        long last = problem.offset(end);
        Arrays.fill(best, 0, padded, Float.NEGATIVE_INFINITY);
        for (long row = problem.offset(first); row < last; ) {
            int m = (int) Math.min(MC, last - row);
            multiply(problem.tokens(), packer, row, m);
            for (int done = 0; done < m; ) {
                long ends = problem.offset(passage + 1);
                int count = (int) Math.min(m - done, ends - row - done);
                RowMaxima.add(best, products, done * ldc, ldc, count, padded);
                done += count;
                if (row + done == ends) {
                    write(problem.scores(), packer, passage++);
                    Arrays.fill(best, 0, padded, Float.NEGATIVE_INFINITY);
                }
            }
            row += m;
        }
    }

    private void multiply(Tensor tokens, Packer packer, long row, int m) {
        for (int pc = 0; pc < k; pc += KC) {
            int kc = Math.min(KC, k - pc);
            packer.read(block.matrix(tokens, tokens.offset(), row, pc), m, kc, rows, 0, ROW);
            right.set(packed, pc * Lanes.roundUp(n, NR), PanelFormat.F32.panelSize(kc));
            kernel.left(rows, 0).right(right).into(products, 0, ldc).multiply(m, n, kc, pc > 0);
        }
    }

    private void write(Tensor scores, Packer packer, int passage) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += best[i];
        }
        score[0] = (float) sum;
        long step = scores.stride(0);
        packer.write(score, 0, 1, 1, 1, block.set(scores, scores.offset() + passage * step, step, step));
    }
}
