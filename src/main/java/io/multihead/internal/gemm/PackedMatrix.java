package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.PanelPacker;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import io.multihead.tensor.Tensor;

/** All of B as F32 panels: one memory for each depth block of {@link Blocking#KC} rows. Immutable. */
public final class PackedMatrix {
    private final long k;
    private final int n;
    private final PanelMemory[] blocks;

    private PackedMatrix(long k, int n, PanelMemory[] blocks) {
        this.k = k;
        this.n = n;
        this.blocks = blocks;
    }

    /** Packs a matrix {@code [k, n]}, of which {@link Blocking#KC} rows fit a Java array and {@code k / KC} an int. */
    public static PackedMatrix of(Tensor matrix) {
        long k = matrix.dim(0);
        int n = (int) matrix.dim(1);
        PanelMemory[] blocks = new PanelMemory[(int) Math.ceilDiv(k, (long) KC)];
        Scratch memory = new Scratch();
        Packer packer = new Packer(memory);
        PanelPacker panelPacker = new PanelPacker(memory);
        StridedBlock block = new StridedBlock();
        for (int i = 0; i < blocks.length; i++) {
            long pc = (long) i * KC;
            int kc = (int) Math.min(KC, k - pc);
            blocks[i] = PanelMemory.allocate(PanelFormat.F32, F32Panels.size(n, kc));
            panelPacker.pack(packer, block.matrix(matrix, matrix.offset(), pc, 0), kc, n, blocks[i], 0);
        }
        return new PackedMatrix(k, n, blocks);
    }

    /** Returns the rows. */
    public long k() {
        return k;
    }

    /** Returns the columns. */
    public int n() {
        return n;
    }

    /**
     * Sets an operand to the panels of one depth block.
     *
     * @param pc first row, a multiple of {@link Blocking#KC}
     * @param jc first column, a multiple of {@link Blocking#NR}
     */
    public void block(long pc, int kc, long jc, Panels to) {
        to.set(blocks[(int) (pc / KC)], (int) jc * kc, PanelFormat.F32.panelSize(kc));
    }
}
