package io.multihead.internal.attention.forward;

import static io.multihead.internal.attention.AttentionBlocking.DIM_CHUNK;
import static io.multihead.internal.kernel.Lanes.PANEL;
import static io.multihead.internal.kernel.Lanes.ROW;
import static io.multihead.internal.kernel.Lanes.ROW_STEP;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.attention.AttentionProblem;
import io.multihead.internal.attention.HeadGroup;
import io.multihead.internal.attention.HeadRows;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.kernel.RowOps;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Scratch;
import io.multihead.tensor.Tensor;

/** The query rows of one task: their indices, and Q packed as a left operand. Belongs to one thread. */
final class QueryTile {
    private final HeadGroup group = new HeadGroup();
    private final HeadRows packed;
    private long firstRow;
    private int rows;
    private int paddedRows;
    /** The largest number of heads whose rows are read together. */
    private int mostHeads;

    QueryTile(Scratch memory) {
        packed = new HeadRows(memory);
    }

    /**
     * Sets the rows: {@code newRows} of a head group from {@code newFirstRow} on.
     *
     * @param newMostHeads the largest number of heads whose rows are worth reading together: the number of tasks of this thread
     */
    void bind(
            AttentionProblem problem, int sequence, int keyValueHead, long newFirstRow, int newRows, int newMostHeads) {
        group.bind(problem, sequence, keyValueHead);
        mostHeads = newMostHeads;
        firstRow = newFirstRow;
        rows = newRows;
    }

    void release() {
        group.release();
    }

    /**
     * Packs the queries in chunks of headDim, {@link #chunk} floats apart, unless they were read together with the queries of another head.
     */
    void load(Tensor query, Packer packer) {
        int headDim = group.problem().headDim();
        if (packed.moveTo(group.tag(), headDim)) {
            return;
        }
        boolean whole = rows == group.queries() && group.rows() == rows;
        int heads = whole ? Math.min(mostHeads, HeadRows.adjacent(query, group.keyValueHead())) : 1;
        read(query, packer, heads * headDim);
        packed.hold(group.tag(), heads);
    }

    /** Reads {@code width} elements of each row: the elements of one head, or of several heads that are one chunk together. */
    private void read(Tensor query, Packer packer, int width) {
        float factor = group.problem().scores().queryFactor();
        paddedRows = Lanes.roundUp(rows, ROW_STEP) + ROW_STEP;
        float[] to = packed.reserve(Math.ceilDiv(Math.max(1, width), DIM_CHUNK) * paddedRows);
        for (int row = 0; row < rows; ) {
            int run = rowsOfHead(row);
            long at = position(query, row);
            for (int d = 0; d < width; d += DIM_CHUNK) {
                int depth = Math.min(DIM_CHUNK, width - d);
                int first = (d / DIM_CHUNK * paddedRows + row) * ROW;
                long from = at + d * query.stride(3);
                packer.read(query, from, query.stride(2), query.stride(3), run, depth, to, first, ROW);
                for (int r = 0; factor != 1f && r < run; r++) {
                    RowOps.scale(to, first + r * ROW, Lanes.roundUp(depth, PANEL), factor);
                }
            }
            row += run;
        }
    }

    /** Returns the packed queries, {@link Lanes#ROW} floats apart. */
    float[] packed() {
        return packed.rows();
    }

    /** Returns the index of the first element of a packed query. */
    int packedAt(int row) {
        return row * ROW + packed.column();
    }

    /** Returns the distance, in floats, to the next 256 elements of a packed query. */
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
        return Math.min(AttentionBlocking.QUERY_TILE, rows - tile);
    }

    long head(int row) {
        return group.head(firstRow + row);
    }

    /** Returns the query of a row, counted from the first query of the sequence. */
    long query(int row) {
        return group.query(firstRow + row);
    }

    /** Returns the number of rows, from this one on, that belong to the same query head. */
    int rowsOfHead(int row) {
        return group.rowsOfHead(firstRow + row, rows - row);
    }

    /** Returns the position of a row's first number in a tensor {@code [batch, queryHeads, queries, ...]}. */
    long position(Tensor tensor, int row) {
        return group.position(tensor, firstRow + row);
    }

    /** Writes {@code keys} scores or weights of a row, from a block's first key on. */
    void writeRow(Packer packer, float[] from, int at, int keys, Tensor to, int row, long firstKey) {
        long first = position(to, row) + firstKey * to.stride(3);
        packer.write(from, at, ROW, 1, keys, to, first, 0, to.stride(3));
    }

    long dropoutCounter(int row) {
        return group.dropoutCounter(firstRow + row);
    }
}
