package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/** Reads and writes a tensor of any strides as rows, row-major: its last axes are one row, its leading ones count them. Immutable. */
public final class RowView {
    private final Tensor runs;
    private final long count;
    private final long length;
    private final long pieces;

    private RowView(Tensor runs, long count, long length) {
        this.runs = runs;
        this.count = count;
        this.length = length;
        this.pieces = length == 0 ? 0 : length / runs.dim(-1);
    }

    /** RowView of the last {@code axes} axes; none means rows of one element. */
    public static RowView of(Tensor tensor, int axes) {
        int lead = tensor.rank() - axes;
        long count = 1;
        long length = 1;
        for (int axis = 0; axis < tensor.rank(); axis++) {
            count *= axis < lead ? tensor.dim(axis) : 1;
            length *= axis < lead ? 1 : tensor.dim(axis);
        }
        Tensor runs = tensor;
        if (Views.collapses(tensor, lead, tensor.rank())) {
            long[] dims = Arrays.copyOf(tensor.shape().toArray(), lead + 1);
            dims[lead] = length;
            runs = tensor.reshape(dims);
        }
        return new RowView(runs, count, length);
    }

    /** Returns the number of rows. */
    public long count() {
        return count;
    }

    /** Returns the elements of a row. */
    public long length() {
        return length;
    }

    /** Returns how many floats of scratch a row needs: its elements, rounded up to panels, and a panel. */
    public static int room(int length) {
        return Lanes.roundUp(length, PANEL) + PANEL;
    }

    /** Narrows the length of a row of which scratch has {@code copies} one after another, or fails naming it. */
    public static int requireLength(long length, int copies, String argument) {
        // of each, with what room adds
        long most = Checks.MAX_ARRAY_LENGTH / copies - 2L * PANEL;
        if (length < 0 || length > most) {
            throw Checks.fail(argument, String.valueOf(length), "expected 0 to " + most);
        }
        return (int) length;
    }

    /** Reads a row, and zeros to the next multiple of 32. */
    public void read(Packer packer, long row, float[] to) {
        int run = (int) runs.dim(-1);
        for (int piece = 0; piece < pieces; piece++) {
            packer.read(runs, start(row * pieces + piece), 0, runs.stride(-1), 1, run, to, piece * run, 0);
        }
        Arrays.fill(to, (int) length, Lanes.roundUp((int) length, PANEL), 0f);
    }

    /** Reads a part of a row that is one piece, and zeros to the next multiple of 32. */
    public void read(Packer packer, long row, long column, int columns, float[] to) {
        packer.read(runs, start(row) + column * runs.stride(-1), 0, runs.stride(-1), 1, columns, to, 0, 0);
    }

    /** Writes a row. */
    public void write(Packer packer, long row, float[] from) {
        int run = (int) runs.dim(-1);
        for (int piece = 0; piece < pieces; piece++) {
            packer.write(from, piece * run, 0, 1, run, runs, start(row * pieces + piece), 0, runs.stride(-1));
        }
    }

    /** Writes a part of a row that is one piece. */
    public void write(Packer packer, long row, long column, int columns, float[] from) {
        packer.write(from, 0, 0, 1, columns, runs, start(row) + column * runs.stride(-1), 0, runs.stride(-1));
    }

    /** Returns the position of a run's first element. */
    private long start(long run) {
        return Positions.ofRow(runs, run);
    }
}
