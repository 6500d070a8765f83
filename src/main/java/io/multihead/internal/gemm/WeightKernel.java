package io.multihead.internal.gemm;

import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;

/**
 * Loops 2 and 1 for B in any format. Panels narrower than f32 are widened in registers for a few rows of A. For more rows, they are
 * widened one after another in scratch, from which full tiles read them. Both methods give the same bits. Belongs to one thread.
 */
final class WeightKernel {
    private static final float[] NONE = {};

    private final Scratch memory;
    private final LeftRows left;
    private final MacroKernel macroKernel;
    private final BlockKernel blockKernel;
    private final Panels widened = new Panels();
    private PanelMemory panel = PanelMemory.NONE;

    private Panels right = widened;
    private float[] c = NONE;
    private int c0;
    private int ldc;

    /** Creates a kernel that multiplies the rows of A that were read last. */
    WeightKernel(Scratch memory, LeftRows left) {
        this.memory = memory;
        this.left = left;
        macroKernel = new MacroKernel(memory);
        blockKernel = new BlockKernel(memory, left);
    }

    /** Sets B, which must not change before it is multiplied. */
    WeightKernel right(Panels panels) {
        right = panels;
        return this;
    }

    /** Sets C: rows {@code stride} floats apart. */
    WeightKernel into(float[] rows, int at, int stride) {
        c = rows;
        c0 = at;
        ldc = stride;
        return this;
    }

    /** Releases B and C, so that their memory is not kept alive. */
    void release() {
        macroKernel.release();
        blockKernel.release();
        widened.clear();
        right(widened).into(NONE, 0, 0);
    }

    /**
     * Computes {@code C = A B}, or {@code C += A B} with {@code addToC}.
     *
     * @param m rows of A and C
     * @param n columns of C; B has as many, rounded up to whole panels
     * @param k columns of A, rows of B
     */
    void multiply(int m, int n, int k, boolean addToC) {
        if (right.format().isQuantized()) {
            blockKernel.operands(m, k, right).multiply(n, c, c0, ldc, addToC);
            return;
        }
        macroKernel.left(left.floats(), left.first() * ROW);
        if (right.format() == PanelFormat.F32 || m <= Blocking.ROWS_IN_REGISTERS) {
            macroKernel.right(right).into(c, c0, ldc).multiply(m, n, k, addToC);
            return;
        }
        panel = memory.atLeast(panel, Blocking.KC * PANEL);
        widened.set(panel, 0, PanelFormat.F32.panelSize(k));
        for (int jr = 0; jr < n; jr += PANEL) {
            right.widen(jr / PANEL, k, panel, 0);
            macroKernel.right(widened).into(c, c0 + jr, ldc).multiply(m, Math.min(PANEL, n - jr), k, addToC);
        }
    }
}
