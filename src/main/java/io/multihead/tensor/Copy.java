package io.multihead.tensor;

import io.multihead.internal.Checks;
import java.lang.foreign.MemorySegment;

/** Copies elements from view to view, or one number to all elements: at once where views are dense, else one by one. */
final class Copy {
    private Copy() {}

    /** Checks the target, then copies. */
    static void elements(Tensor from, Tensor to) {
        if (!from.shape().equals(to.shape())) {
            throw Checks.fail("target", "shape " + to.shape(), "expected " + from.shape());
        }
        if (from.overlaps(to)) {
            throw Checks.fail("target", "overlaps the source", "expected memory of its own");
        }
        if (to.overlapsItself()) {
            throw Checks.fail("target", to.toString(), "expected an element of its own for every position");
        }
        if (to.memory().isReadOnly()) {
            throw Checks.fail("target", "read-only memory", "expected memory to write to");
        }
        if (from.shape().elements() == 0) {
            return;
        }
        if (from.dtype() == to.dtype() && from.isDense() && to.isDense()) {
            int bytes = from.dtype().bytes();
            MemorySegment.copy(
                    from.memory(),
                    from.offset() * bytes,
                    to.memory(),
                    to.offset() * bytes,
                    from.shape().elements() * bytes);
            return;
        }
        axis(from, to, 0, from.offset(), to.offset());
    }

    /** Stores one number in every element of a tensor that has some. */
    static void fill(Tensor to, double value) {
        int bytes = to.dtype().bytes();
        if (!to.isDense()) {
            fillAxis(to, value, 0, to.offset());
            return;
        }
        long start = to.offset() * bytes;
        long size = to.shape().elements() * bytes;
        to.dtype().write(to.memory(), start, value);
        for (long done = bytes; done < size; done *= 2) {
            MemorySegment.copy(to.memory(), start, to.memory(), start + done, Math.min(done, size - done));
        }
    }

    private static void fillAxis(Tensor to, double value, int axis, long at) {
        if (axis == to.rank()) {
            to.dtype().write(to.memory(), at * to.dtype().bytes(), value);
            return;
        }
        for (long i = 0; i < to.dim(axis); i++) {
            fillAxis(to, value, axis + 1, at + i * to.stride(axis));
        }
    }

    private static void axis(Tensor from, Tensor to, int axis, long source, long target) {
        if (axis == from.rank()) {
            double value =
                    from.dtype().read(from.memory(), source * from.dtype().bytes());
            to.dtype().write(to.memory(), target * to.dtype().bytes(), value);
            return;
        }
        for (long i = 0; i < from.dim(axis); i++) {
            axis(from, to, axis + 1, source + i * from.stride(axis), target + i * to.stride(axis));
        }
    }
}
