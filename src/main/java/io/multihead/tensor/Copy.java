package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import java.lang.foreign.MemorySegment;

/** Copies elements from view to view, or one number to all elements: as a whole if views are dense, otherwise one by one. */
final class Copy {
    private Copy() {}

    /** Checks the target, then copies. */
    static void elements(View from, View to) {
        if (!from.shape().equals(to.shape())) {
            throw TensorFaults.shape("target", to.shape(), from.shape());
        }
        requireTarget(to, from, "the source");
        unchecked(from, to);
    }

    /** Checks the target and all parts, then copies the parts one after another along an axis. */
    static void concat(int axis, View to, View... parts) {
        int at = to.shape().axis(axis);
        long end = 0;
        for (int i = 0; i < parts.length; i++) {
            requirePart(to, at, parts[i], i);
            if (parts[i].dim(at) > to.dim(at) - end) {
                throw Checks.fail(
                        "parts[" + i + "]",
                        "shape " + parts[i].shape(),
                        "expected at most " + (to.dim(at) - end) + " along axis " + at
                                + ", which the parts before leave of target " + to.shape());
            }
            end += parts[i].dim(at);
        }
        if (end != to.dim(at)) {
            throw Checks.fail(
                    "target",
                    "shape " + to.shape(),
                    "expected " + end + " along axis " + at + ", as the parts have together");
        }
        for (int i = 0; i < parts.length; i++) {
            requireTarget(to, parts[i], "parts[" + i + "]");
        }
        long from = 0;
        for (View part : parts) {
            unchecked(part, to.slice(at, from, from + part.dim(at)));
            from += part.dim(at);
        }
    }

    private static void requirePart(View to, int axis, View part, int index) {
        boolean fits = part.rank() == to.rank();
        for (int other = 0; fits && other < to.rank(); other++) {
            fits = other == axis || part.dim(other) == to.dim(other);
        }
        if (!fits) {
            throw Checks.fail(
                    "parts[" + index + "]",
                    "shape " + part.shape(),
                    "expected the sizes of target " + to.shape() + " but along axis " + axis);
        }
    }

    private static void requireTarget(View to, View from, String source) {
        if (from.overlaps(to)) {
            throw TensorFaults.overlap("target", to, source);
        }
        requireOwnStorage(to, "target");
    }

    private static void unchecked(View from, View to) {
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

    /** Fails unless the tensor can be written and every element has its own storage. */
    private static void requireOwnStorage(View to, String argument) {
        if (to.memory().isReadOnly()) {
            throw TensorFaults.readOnly(argument);
        }
        if (to.overlapsItself()) {
            throw TensorFaults.sharedStorage(argument, to);
        }
    }

    /** Checks a tensor, then stores one number in every element. */
    static void fill(View to, double value) {
        requireOwnStorage(to, "fill");
        if (to.shape().elements() == 0) {
            return;
        }
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

    private static void fillAxis(View to, double value, int axis, long at) {
        if (axis == to.rank()) {
            to.dtype().write(to.memory(), at * to.dtype().bytes(), value);
            return;
        }
        for (long i = 0; i < to.dim(axis); i++) {
            fillAxis(to, value, axis + 1, at + i * to.stride(axis));
        }
    }

    private static void axis(View from, View to, int axis, long source, long target) {
        if (axis == from.rank()) {
            double value =
                    from.dtype().read(from.memory(), source * from.dtype().bytes());
            to.dtype().write(to.memory(), target * to.dtype().bytes(), value);
            return;
        }
        int bytes = from.dtype().bytes();
        if (axis == from.rank() - 1 && from.dtype() == to.dtype() && from.stride(axis) == 1 && to.stride(axis) == 1) {
            MemorySegment.copy(from.memory(), source * bytes, to.memory(), target * bytes, from.dim(axis) * bytes);
            return;
        }
        for (long i = 0; i < from.dim(axis); i++) {
            axis(from, to, axis + 1, source + i * from.stride(axis), target + i * to.stride(axis));
        }
    }
}
