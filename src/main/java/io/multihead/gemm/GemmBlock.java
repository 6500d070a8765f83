package io.multihead.gemm;

import static io.multihead.internal.kernel.Lanes.DEPTH;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;

import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.Packer;
import io.multihead.internal.kernel.Panels;
import io.multihead.internal.kernel.Product;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.kernel.Scratch;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A block of C while depth blocks of 256 pass (Goto and van de Geijn 2008). Belongs to one thread.
 *
 * <p>C stays in f32 scratch until its sum is complete, so a narrow C is rounded once.
 */
final class GemmBlock {
    private static final long NOTHING = -1;

    /** Rows of A packed at a time: 108 KiB, which L2 holds beside the panels in use. */
    private static final int A_ROWS = 96;

    private final Scratch memory;
    private final Product product;
    private final PanelPacker panelPacker;
    private float[] left = new float[0];
    private float[] panels = new float[0];
    /**
     * Whose columns {@link #panels} hold, all depth blocks of them, where in B's memory they begin, and how many: columns of
     * stride 0 all begin at one place.
     */
    private long panelsTag = NOTHING;

    private long panelsStart;
    private int panelsColumns;
    private float[] sums = new float[0];
    private float[] other = new float[0];

    private GemmCall call;
    private Packer packer;
    private long batch;
    private long firstRow;
    private long firstColumn;
    private int rows;
    private int columns;
    private int stride;

    GemmBlock(Scratch memory) {
        this.memory = memory;
        product = new Product(memory);
        panelPacker = new PanelPacker(memory);
    }

    void compute(
            GemmCall newCall, Packer newPacker, long newBatch, long row, long column, int newRows, int newColumns) {
        call = newCall;
        packer = newPacker;
        batch = newBatch;
        firstRow = row;
        firstColumn = column;
        rows = newRows;
        columns = newColumns;
        // one panel more than needed, so that rows do not fall into the same cache sets
        stride = Lanes.roundUp(columns, PANEL) + PANEL;
        left = memory.atLeast(left, Lanes.roundUp(Math.min(rows, A_ROWS), Lanes.ROW_STEP) * ROW);
        sums = memory.atLeast(sums, Lanes.roundUp(rows, Lanes.ROW_STEP) * stride);
        if (call.depth == 0) {
            Arrays.fill(sums, 0, rows * stride, 0f);
        }
        packRight();
        for (long k = 0; k < call.depth; k += DEPTH) {
            multiplyDepth(k, (int) Math.min(DEPTH, call.depth - k));
        }
        finish();
        product.release();
        call = null;
        packer = null;
    }

    private void multiplyDepth(long k, int depth) {
        nameRight(k, depth);
        Tensor a = call.a();
        long at = call.start(a, batch) + firstRow * a.stride(-2) + k * a.stride(-1);
        for (int row = 0; row < rows; row += A_ROWS) {
            int high = Math.min(A_ROWS, rows - row);
            packer.read(a, at + row * a.stride(-2), a.stride(-2), a.stride(-1), high, depth, left, 0, ROW);
            product.left(left, 0).into(sums, row * stride, stride).multiply(high, columns, depth, k > 0);
        }
    }

    /** Packs the unit's columns of B, all depth blocks of them, unless they still are. */
    private void packRight() {
        if (call.packed() != null || !call.keepsPanels()) {
            return;
        }
        long start = rightStart();
        if (panelsTag == call.tag && panelsStart == start && panelsColumns == columns) {
            return;
        }
        panelsTag = NOTHING;
        panels = memory.atLeast(panels, Panels.size(columns, (int) call.depth));
        for (long k = 0; k < call.depth; k += DEPTH) {
            packDepth(k, (int) Math.min(DEPTH, call.depth - k), panelsAt(k));
        }
        panelsTag = call.tag;
        panelsStart = start;
        panelsColumns = columns;
    }

    private long rightStart() {
        Tensor b = call.b();
        return call.start(b, batch) + firstColumn * b.stride(-1);
    }

    private int panelsAt(long k) {
        return (int) k * Lanes.roundUp(columns, PANEL);
    }

    private void packDepth(long k, int depth, int to) {
        Tensor b = call.b();
        panelPacker.pack(packer, b, rightStart() + k * b.stride(-2), depth, columns, panels, to);
    }

    /** Names the right operand of this depth block: panels packed long ago, or before, or now. */
    private void nameRight(long k, int depth) {
        PackedWeights weights = call.packed();
        if (weights != null) {
            product.right(weights.block((int) (k / DEPTH)), (int) firstColumn * depth, PANEL * depth);
        } else if (call.keepsPanels()) {
            product.right(panels, panelsAt(k), PANEL * depth);
        } else {
            panelsTag = NOTHING;
            panels = memory.atLeast(panels, Panels.size(columns, DEPTH));
            packDepth(k, depth, 0);
            product.right(panels, 0, PANEL * depth);
        }
    }

    /** {@code C = alpha * sums + beta * C + bias}. */
    private void finish() {
        GemmOptions options = call.options;
        Tensor c = call.c();
        long at = call.start(c, batch) + firstRow * c.stride(-2) + firstColumn * c.stride(-1);
        int padded = Lanes.roundUp(columns, PANEL);
        other = memory.atLeast(other, padded);
        if (options.alpha() != 1f) {
            for (int row = 0; row < rows; row++) {
                RowOps.scale(sums, row * stride, padded, options.alpha());
            }
        }
        if (options.beta() != 0f) {
            for (int row = 0; row < rows; row++) {
                packer.read(c, at + row * c.stride(-2), c.stride(-2), c.stride(-1), 1, columns, other, 0, padded);
                RowOps.addScaled(sums, row * stride, padded, other, options.beta());
            }
        }
        @Nullable Tensor bias = options.bias();
        if (bias != null) {
            packer.read(
                    bias,
                    bias.offset() + firstColumn * bias.stride(0),
                    0,
                    bias.stride(0),
                    1,
                    columns,
                    other,
                    0,
                    padded);
            for (int row = 0; row < rows; row++) {
                RowOps.addScaled(sums, row * stride, padded, other, 1f);
            }
        }
        packer.write(sums, 0, stride, rows, columns, c, at, c.stride(-2), c.stride(-1));
    }
}
