package io.multihead.internal.gemm;

import static io.multihead.internal.gemm.Blocking.KC;

import io.multihead.internal.kernel.F32Panels;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.PanelFormat;
import io.multihead.internal.layout.PanelMemory;
import io.multihead.internal.layout.PanelPacker;
import io.multihead.internal.layout.Panels;
import io.multihead.internal.layout.Scratch;
import io.multihead.internal.layout.StridedBlock;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

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

    /** Packs a matrix {@code [k, n]}, of which {@link Blocking#KC} rows have 2^31 elements at most and {@code k / KC} fits an int. */
    public static PackedMatrix of(Tensor matrix, Arena arena) {
        long k = matrix.dim(0);
        int n = (int) matrix.dim(1);
        PanelMemory[] blocks = new PanelMemory[blocks(k, n)];
        Scratch memory = new Scratch();
        Packer packer = new Packer(memory);
        PanelPacker panelPacker = PanelPacker.ofWeights(memory);
        StridedBlock block = new StridedBlock();
        for (int i = 0; i < blocks.length; i++) {
            long pc = (long) i * KC;
            int kc = (int) Math.min(KC, k - pc);
            blocks[i] = PanelMemory.allocate(arena, PanelFormat.F32, F32Panels.size(n, kc));
            panelPacker.pack(packer, block.matrix(matrix, matrix.offset(), pc, 0), kc, n, blocks[i], 0);
        }
        return new PackedMatrix(k, n, blocks);
    }

    /** Returns the matrix whose panels, all blocks in order, are in memory of the caller's, which must have their size. */
    public static PackedMatrix in(MemorySegment panels, long k, int n) {
        PanelMemory[] blocks = new PanelMemory[blocks(k, n)];
        for (int i = 0; i < blocks.length; i++) {
            long pc = (long) i * KC;
            long bytes = bytes(Math.min(KC, k - pc), n);
            blocks[i] = PanelMemory.of(PanelFormat.F32, panels.asSlice(bytes(pc, n), bytes), "panels");
        }
        return new PackedMatrix(k, n, blocks);
    }

    /** Returns the number of depth blocks: none without columns, whose rows take no memory and may be as many as a file says. */
    private static int blocks(long k, int n) {
        return n == 0 ? 0 : (int) Math.ceilDiv(k, (long) KC);
    }

    /** Returns the bytes of the panels of {@code k} rows and {@code n} columns. */
    public static long bytes(long k, long n) {
        long columns = Math.ceilDiv(n, (long) Lanes.PANEL) * Lanes.PANEL;
        return Math.multiplyExact(Math.multiplyExact(k, columns), Float.BYTES);
    }

    /** Returns the memory of the depth blocks in order. */
    public List<MemorySegment> segments() {
        return Arrays.stream(blocks).map(PanelMemory::segment).toList();
    }

    /** Returns memory that stands for all of it when access is checked. */
    public MemorySegment segment() {
        return blocks.length == 0 ? MemorySegment.NULL : blocks[0].segment();
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
