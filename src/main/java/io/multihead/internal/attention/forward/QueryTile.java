package io.multihead.internal.attention.forward;

import static io.multihead.internal.attention.Blocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.Blocking;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;

/** The query rows of one task: which they are, and Q packed as a left operand. Belongs to one thread. */
final class QueryTile {
    private final Scratch memory;
    private final HeadGroup group = new HeadGroup();
    private float[] packed = new float[0];
    private long firstRow;
    private int rows;
    private int paddedRows;

    QueryTile(Scratch memory) {
        this.memory = memory;
    }

    /** Sets the rows: {@code newRows} of a head group from {@code newFirstRow} on. */
    void bind(AttentionProblem problem, int sequence, int keyValueHead, long newFirstRow, int newRows) {
        group.bind(problem, sequence, keyValueHead);
        firstRow = newFirstRow;
        rows = newRows;
    }

    void release() {
        group.release();
    }

    /** Packs the queries in chunks of headDim, {@link #chunk} floats apart. */
    void load(Tensor query, Packer packer) {
        int headDim = group.problem().headDim();
        float factor = group.problem().scores().queryFactor();
        paddedRows = Lanes.roundUp(rows, ROW_STEP) + ROW_STEP;
        packed = memory.atLeast(packed, Math.ceilDiv(Math.max(1, headDim), DIM_CHUNK) * paddedRows * ROW);
        for (int row = 0; row < rows; ) {
            int run = rowsOfHead(row);
            long at = position(query, row);
            for (int d = 0; d < headDim; d += DIM_CHUNK) {
                int depth = Math.min(DIM_CHUNK, headDim - d);
                int to = (d / DIM_CHUNK * paddedRows + row) * ROW;
                long from = at + d * query.stride(3);
                packer.read(query, from, query.stride(2), query.stride(3), run, depth, packed, to, ROW);
                for (int r = 0; factor != 1f && r < run; r++) {
                    RowOps.scale(packed, to + r * ROW, Lanes.roundUp(depth, PANEL), factor);
                }
            }
            row += run;
        }
    }

    /** Returns the packed queries, {@link Lanes#ROW} floats apart. */
    float[] packed() {
        return packed;
    }

    /** Returns how many floats the next 256 elements of a packed query are further. */
    int chunk() {
        return paddedRows * ROW;
    }

    HeadGroup group() {
        return group;
    }

    int rows() {
        return rows;
    }

    /** Returns the number of rows of the tile that starts at this row. */
    int tileRows(int tile) {
        return Math.min(Blocking.QUERY_TILE, rows - tile);
    }

    /** Returns the query head of a row. */
    long head(int row) {
        return group.head(firstRow + row);
    }

    /** Returns the query of a row, counted from the sequence's first. */
    long query(int row) {
        return group.query(firstRow + row);
    }

    /** Returns how many rows from this one on belong to the same query head. */
    int rowsOfHead(int row) {
        return group.rowsOfHead(firstRow + row, rows - row);
    }

    /** Returns the position of a row's first number in a tensor {@code [batch, queryHeads, queries, ...]}. */
    long position(Tensor tensor, int row) {
        return group.position(tensor, firstRow + row);
    }

    /** Writes scores or weights of a row, {@code keys} of them from a block's first key on. */
    void writeRow(Packer packer, float[] from, int at, int keys, Tensor to, int row, long firstKey) {
        long first = position(to, row) + firstKey * to.stride(3);
        packer.write(from, at, ROW, 1, keys, to, first, 0, to.stride(3));
    }

    long dropoutCounter(int row) {
        return group.dropoutCounter(firstRow + row);
    }
}
