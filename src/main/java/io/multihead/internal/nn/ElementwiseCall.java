package io.multihead.internal.nn;

import static io.multihead.internal.kernel.Lanes.PANEL;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.RowLoop;
import io.multihead.internal.call.SingleCall;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.ActivationOps;
import io.multihead.internal.kernel.Lanes;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** A call of an element-wise function, divided into chunks of rows; dense tensors are one row. */
public final class ElementwiseCall extends RowLoop {
    private static final ScratchKey<ElementwiseCall> CALL = ScratchKey.of(ElementwiseCall::new);

    /** The function, on a chunk in scratch. */
    public interface Function {
        /**
         * Changes values in place.
         *
         * @param values the elements, and zeros to a multiple of 32
         * @param inputs the second tensor's elements; arbitrary contents if there is none
         * @param buffer a buffer of {@link ActivationOps#bufferLength} floats, with arbitrary contents
         * @param columns the number of elements
         * @param first row-major index of the first element in the whole tensor
         */
        void apply(float[] values, float[] inputs, float[] buffer, int columns, long first);
    }

    /** The elements of a chunk, which stays in the first-level cache while it is read, changed and written. */
    private static final int CHUNK = 1024;

    private static final FloatsKey VALUES = new FloatsKey();
    private static final FloatsKey INPUTS = new FloatsKey();
    private static final FloatsKey BUFFER = new FloatsKey();

    private final RowView from = new RowView();
    private final RowView inputs = new RowView();
    private final RowView to = new RowView();
    private @Nullable Function function;
    private boolean hasInputs;
    private long chunksPerRow;

    private ElementwiseCall() {}

    /** Computes {@code to = function(from, inputs)}. */
    public static void run(Compute cpu, Function function, Tensor from, @Nullable Tensor inputs, Tensor to) {
        try (SingleCall running = SingleCall.open(cpu)) {
            ElementwiseCall call = running.workspace().get(CALL);
            try {
                call.bind(function, from, inputs, to);
                call.run(running, cpu, call.chunks());
            } finally {
                call.clear();
            }
        }
    }

    private void bind(Function by, Tensor read, @Nullable Tensor second, Tensor written) {
        boolean dense = read.isDense() && written.isDense() && (second == null || second.isDense());
        function = by;
        hasInputs = second != null;
        from.bind(read, axes(read, dense));
        if (second != null) {
            inputs.bind(second, axes(second, dense));
        }
        to.bind(written, axes(written, dense));
        chunksPerRow = Math.ceilDiv(from.length(), (long) CHUNK);
    }

    private void clear() {
        function = null;
        from.clear();
        inputs.clear();
        to.clear();
    }

    private static int axes(Tensor tensor, boolean dense) {
        return dense ? tensor.rank() : Math.min(1, tensor.rank());
    }

    private long chunks() {
        return from.count() * chunksPerRow;
    }

    @Override
    protected void rows(long first, long end, Workspace scratch) {
        Function by = Checks.notNull(function, "function");
        float[] values = scratch.floats(VALUES, RowView.bufferLength(CHUNK));
        float[] second = scratch.floats(INPUTS, RowView.bufferLength(CHUNK));
        float[] buffer = scratch.floats(BUFFER, ActivationOps.bufferLength(CHUNK));
        for (long chunk = first; chunk < end; chunk++) {
            long row = chunk / chunksPerRow;
            long column = chunk % chunksPerRow * CHUNK;
            int columns = (int) Math.min(CHUNK, from.length() - column);
            from.read(scratch.packer(), row, column, columns, values);
            if (hasInputs) {
                inputs.read(scratch.packer(), row, column, columns, second);
            }
            by.apply(values, second, buffer, columns, row * from.length() + column);
            to.write(scratch.packer(), row, column, columns, values);
        }
    }

    /** Returns the number of elements that kernels without tails work on. */
    public static int padded(int columns) {
        return Lanes.roundUp(columns, PANEL);
    }
}
