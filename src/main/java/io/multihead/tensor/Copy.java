package io.multihead.tensor;

import io.multihead.internal.Checks;
import java.lang.foreign.MemorySegment;

/** Copies elements from view to view: at once where both are dense, else one by one. */
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
