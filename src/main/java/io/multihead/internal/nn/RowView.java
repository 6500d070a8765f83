package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.internal.base.Checks;
import io.multihead.internal.kernel.Lanes;
import io.multihead.internal.layout.Packer;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes a tensor of any strides as rows, row-major: its last axes are one row, and its leading axes number the rows. A reusable
 * call binds the same view to different tensors, which allocates nothing; threads may share a bound view.
 */
public final class RowView {
    private @Nullable Tensor tensor;
    private long count;
    private long length;
    /**
     * The number of leading axes that count runs. These are the axes that count rows or, if the last axes cannot be viewed as one, all
     * axes but the last.
     */
    private int runAxes;

    private long run;
    private long step;

    public RowView() {}

    /** Returns a view of the last {@code axes} axes as rows; none means rows of one element. */
    public static RowView of(Tensor tensor, int axes) {
        RowView view = new RowView();
        view.bind(tensor, axes);
        return view;
    }

    /** Views the last {@code axes} axes; none means rows of one element. */
    public void bind(Tensor of, int axes) {
        tensor = of;
        int lead = of.rank() - axes;
        count = elements(of, 0, lead);
        length = elements(of, lead, of.rank());
        boolean isOneRun = Views.collapses(of, lead, of.rank());
        runAxes = isOneRun ? lead : of.rank() - 1;
        run = isOneRun ? length : of.dim(-1);
        step = isOneRun ? innerStride(of, lead) : of.stride(-1);
    }

    /** Releases the tensor. */
    public void clear() {
        tensor = null;
    }

    private static long elements(Tensor tensor, int from, int to) {
        long elements = 1;
        for (int axis = from; axis < to; axis++) {
            elements *= tensor.dim(axis);
        }
        return elements;
    }

    /** Returns the stride of the innermost of the last axes that has more than one element. */
    private static long innerStride(Tensor tensor, int lead) {
        for (int axis = tensor.rank() - 1; axis >= lead; axis--) {
            if (tensor.dim(axis) != 1) {
                return tensor.stride(axis);
            }
        }
        return 1;
    }

    private Tensor tensor() {
        return Checks.notNull(tensor, "tensor");
    }

    /** Returns the number of rows. */
    public long count() {
        return count;
    }

    /** Returns the elements of a row. */
    public long length() {
        return length;
    }

    /** Returns the number of floats of scratch for a row: its elements, rounded up to panels, and one panel more. */
    public static int bufferLength(int length) {
        return Lanes.roundUp(length, PANEL) + PANEL;
    }

    /** Narrows the length of a row, of which scratch has {@code copies} one after another, or fails with an error that names it. */
    public static int requireLength(long length, int copies, String argument) {
        // the largest length of each copy, including the additional room
        long most = Checks.MAX_ARRAY_LENGTH / copies - 2L * PANEL;
        if (length < 0 || length > most) {
            throw Checks.fail(argument, String.valueOf(length), "expected 0 to " + most);
        }
        return (int) length;
    }

    /** Reads a row, and writes zeros up to the next multiple of 32. */
    public void read(Packer packer, long row, float[] to) {
        for (int piece = 0; piece < pieces(); piece++) {
            packer.read(tensor(), start(row * pieces() + piece), 0, step, 1, (int) run, to, piece * (int) run, 0);
        }
        Arrays.fill(to, (int) length, Lanes.roundUp((int) length, PANEL), 0f);
    }

    /** Reads a part of a row that is one run, and writes zeros up to the next multiple of 32. */
    public void read(Packer packer, long row, long column, int columns, float[] to) {
        packer.read(tensor(), start(row) + column * step, 0, step, 1, columns, to, 0, 0);
    }

    public void write(Packer packer, long row, float[] from) {
        for (int piece = 0; piece < pieces(); piece++) {
            packer.write(from, piece * (int) run, 0, 1, (int) run, tensor(), start(row * pieces() + piece), 0, step);
        }
    }

    /** Writes a part of a row that is one run. */
    public void write(Packer packer, long row, long column, int columns, float[] from) {
        packer.write(from, 0, 0, 1, columns, tensor(), start(row) + column * step, 0, step);
    }

    private int pieces() {
        return length == 0 ? 0 : (int) (length / run);
    }

    /** Returns the position of a run's first element. */
    private long start(long number) {
        Tensor of = tensor();
        long at = of.offset();
        long rest = number;
        for (int axis = runAxes - 1; axis >= 0; axis--) {
            at += rest % of.dim(axis) * of.stride(axis);
            rest /= of.dim(axis);
        }
        return at;
    }
}
