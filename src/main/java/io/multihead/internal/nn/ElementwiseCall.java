package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** One call of an element-wise function, divided into chunks of rows; dense tensors are one row of everything. */
public final class ElementwiseCall extends RowLoop {
    /** The function, on a chunk in scratch. */
    public interface Function {
        /**
         * Changes values in place.
         *
         * @param values the elements, and zeros to a multiple of 32
         * @param inputs the second tensor's elements; anything without one
         * @param room anything, {@link ActivationOps#room} floats for the elements
         * @param columns how many elements there are
         * @param first row-major index of the first one in the whole tensor
         */
        void apply(float[] values, float[] inputs, float[] room, int columns, long first);
    }

    /** Reading, changing and writing a chunk stays in the first-level cache. */
    private static final int CHUNK = 1024;

    private static final FloatsKey VALUES = new FloatsKey();
    private static final FloatsKey INPUTS = new FloatsKey();
    private static final FloatsKey ROOM = new FloatsKey();

    private final Function function;
    private final RowView from;
    private final @Nullable RowView inputs;
    private final RowView to;
    private final long chunksPerRow;

    private ElementwiseCall(Function function, Tensor from, @Nullable Tensor inputs, Tensor to) {
        boolean dense = from.isDense() && to.isDense() && (inputs == null || inputs.isDense());
        this.function = function;
        this.from = rows(from, dense);
        this.inputs = inputs == null ? null : rows(inputs, dense);
        this.to = rows(to, dense);
        this.chunksPerRow = Math.ceilDiv(this.from.length(), (long) CHUNK);
    }

    /** Computes {@code to = function(from, inputs)}. */
    public static void run(Compute cpu, Function function, Tensor from, @Nullable Tensor inputs, Tensor to) {
        ElementwiseCall call = new ElementwiseCall(function, from, inputs, to);
        call.run(cpu, call.chunks());
    }

    private static RowView rows(Tensor tensor, boolean dense) {
        return RowView.of(tensor, dense ? tensor.rank() : Math.min(1, tensor.rank()));
    }

    private long chunks() {
        return from.count() * chunksPerRow;
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        float[] values = scratch.floats(VALUES, RowView.room(CHUNK));
        float[] second = scratch.floats(INPUTS, RowView.room(CHUNK));
        float[] room = scratch.floats(ROOM, ActivationOps.room(CHUNK));
        for (long chunk = first; chunk < end; chunk++) {
            long row = chunk / chunksPerRow;
            long column = chunk % chunksPerRow * CHUNK;
            int columns = (int) Math.min(CHUNK, from.length() - column);
            from.read(scratch.packer(), row, column, columns, values);
            if (inputs != null) {
                inputs.read(scratch.packer(), row, column, columns, second);
            }
            function.apply(values, second, room, columns, row * from.length() + column);
            to.write(scratch.packer(), row, column, columns, values);
        }
    }

    /** Returns the number of elements that kernels without tails work on. */
    public static int padded(int columns) {
        return Lanes.roundUp(columns, PANEL);
    }
}
