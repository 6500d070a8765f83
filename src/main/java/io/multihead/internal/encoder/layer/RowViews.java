package io.multihead.internal.encoder.layer;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Rows of one length in an array that grows, as tensors. One caller at a time may use an object. */
public final class RowViews {
    private final int length;
    private float[] rows = {};
    /** The tensors by their number of rows. */
    private @Nullable Tensor[] views = {};

    public RowViews(int length) {
        this.length = length;
    }

    /** Makes room for at least this number of rows, usually more; their contents may be lost. */
    void reserve(int count) {
        if (count >= views.length) {
            allocate(Math.multiplyExact(2, count));
        }
    }

    /** Makes room for exactly {@code count} rows. */
    public RowViews of(int count) {
        allocate(count);
        return this;
    }

    private void allocate(int count) {
        rows = new float[Checks.product("rows x length", count, length)];
        views = new Tensor[count + 1];
    }

    /** Returns the first rows, {@code [count, length]}: the same tensor for the same count. */
    public Tensor get(int count) {
        reserve(count);
        Tensor view = views[count];
        if (view == null) {
            MemorySegment memory = MemorySegment.ofArray(rows).asSlice(0, (long) Float.BYTES * count * length);
            view = Tensor.view(memory, DType.F32, Shape.of(count, length));
            views[count] = view;
        }
        return view;
    }

    /** Returns the number of elements of a row. */
    public int length() {
        return length;
    }

    /** Returns the array of the rows, which is valid until more rows are reserved. */
    public float[] array() {
        return rows;
    }
}
