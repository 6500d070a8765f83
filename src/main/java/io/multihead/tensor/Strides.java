package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The arithmetic of views: the strides of a reshaped or repeated view, and whether views share elements. */
final class Strides {
    private Strides() {}

    /** Returns the sizes with a single -1 replaced by the remaining number of elements. */
    static long[] resolve(long[] dims, Shape from) {
        long[] resolved = dims.clone();
        int open = -1;
        long known = 1;
        for (int axis = 0; axis < dims.length; axis++) {
            if (dims[axis] == -1 && open < 0) {
                open = axis;
            } else {
                long size = Checks.atLeast(dims[axis], 0, "reshape axis", axis);
                // a product beyond 2^63 is not the number of elements of any shape: exclude it
                known = size > 0 && known > Long.MAX_VALUE / size ? Long.MAX_VALUE : known * size;
            }
        }
        if (open >= 0 && known > 0 && from.elements() % known == 0) {
            resolved[open] = from.elements() / known;
            known = from.elements();
        }
        if (known != from.elements() || (open >= 0 && resolved[open] == -1)) {
            throw Checks.fail("reshape", Arrays.toString(dims), "expected as many elements as shape " + from);
        }
        return resolved;
    }

    /** Returns the strides of a view with {@code target}'s sizes, or null if the elements' order allows none. */
    static long @Nullable [] reshaped(Shape shape, long[] strides, Shape target) {
        if (shape.elements() == 0) {
            return target.denseStrides();
        }
        long[] result = target.denseStrides();
        int from = shape.rank() - 1;
        int to = target.rank() - 1;
        while (to >= 0) {
            while (from >= 0 && shape.dim(from) == 1) {
                from--;
            }
            if (target.dim(to) == 1) {
                to--;
                continue;
            }
            // One run: the smallest number of trailing axes on both sides with equally many elements.
            long step = strides[from];
            long taken = shape.dim(from);
            long given = 1;
            while (given != taken) {
                if (given < taken) {
                    result[to] = step * given;
                    given *= target.dim(to--);
                } else {
                    long expected = strides[from] * shape.dim(from);
                    do {
                        from--;
                    } while (shape.dim(from) == 1);
                    if (strides[from] != expected) {
                        return null;
                    }
                    taken *= shape.dim(from);
                }
            }
            from--;
        }
        return result;
    }

    /** Returns the strides of {@code shape} repeated to {@code target}: 0 along every repeated axis. */
    static long[] broadcast(Shape shape, long[] strides, Shape target) {
        int added = target.rank() - shape.rank();
        long[] result = new long[target.rank()];
        for (int axis = 0; axis < shape.rank(); axis++) {
            long wanted = added < 0 ? -1 : target.dim(axis + added);
            if (added < 0 || (shape.dim(axis) != wanted && shape.dim(axis) != 1)) {
                throw Checks.fail("broadcast", "shape " + shape, "cannot be repeated to " + target);
            }
            result[axis + added] = shape.dim(axis) == wanted ? strides[axis] : 0;
        }
        return result;
    }

    /** Returns whether every element has its own storage: sorted by stride, each axis steps over the extent of the finer axes. */
    static boolean distinct(Shape shape, long[] strides) {
        if (shape.elements() == 0) {
            return true;
        }
        for (int axis = 0; axis < strides.length; axis++) {
            if (shape.dim(axis) > 1 && strides[axis] <= reachBelow(shape, strides, axis)) {
                return false;
            }
        }
        return true;
    }

    /** Returns the extent of the axes with finer strides than {@code axis} (ties: later axes). */
    private static long reachBelow(Shape shape, long[] strides, int axis) {
        long reach = 0;
        for (int other = 0; other < strides.length; other++) {
            boolean finer = strides[other] < strides[axis] || (strides[other] == strides[axis] && other > axis);
            if (other != axis && shape.dim(other) > 1 && finer) {
                reach += (shape.dim(other) - 1) * strides[other];
            }
        }
        return reach;
    }

    /**
     * Returns whether two views whose ranges overlap share no element because, modulo some common period, they have different residues:
     * slices of one wider row.
     *
     * @param distance first element of the second view minus first element of the first
     */
    static boolean interleaved(Shape a, long[] stridesA, Shape b, long[] stridesB, long distance) {
        return interleavedByPeriodOf(a, stridesA, b, stridesB, distance)
                || interleavedByPeriodOf(b, stridesB, a, stridesA, -distance);
    }

    private static boolean interleavedByPeriodOf(Shape a, long[] stridesA, Shape b, long[] stridesB, long distance) {
        for (int axis = 0; axis < stridesA.length; axis++) {
            long period = stridesA[axis];
            if (a.dim(axis) > 1 && period > 1) {
                long widthA = residueWidth(a, stridesA, period);
                long widthB = residueWidth(b, stridesB, period);
                long shift = Math.floorMod(distance, period);
                if (widthA > 0 && widthB > 0 && shift >= widthA && shift + widthB <= period) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Returns the number of neighboring residues modulo {@code period} that a view occupies; 0 if it cannot be determined. */
    private static long residueWidth(Shape shape, long[] strides, long period) {
        long width = 1;
        for (int axis = 0; axis < strides.length; axis++) {
            if (shape.dim(axis) > 1 && strides[axis] % period != 0) {
                width += (shape.dim(axis) - 1) * strides[axis];
            }
        }
        return width <= period ? width : 0;
    }

    /** Returns whether two segments are both native memory, or may be in the same Java array. */
    static boolean sameMemory(MemorySegment a, MemorySegment b) {
        if (a.isNative() || b.isNative()) {
            return a.isNative() && b.isNative();
        }
        // a read-only segment hides heapBase, but this method compares arrays; the addresses have been compared before
        return a.asOverlappingSlice(b).isPresent();
    }

    static long[] without(long[] values, int at) {
        long[] rest = new long[values.length - 1];
        System.arraycopy(values, 0, rest, 0, at);
        System.arraycopy(values, at + 1, rest, at, rest.length - at);
        return rest;
    }

    /** Returns the distance of the farthest element from the first, in elements; -1 if there is none. */
    static long reach(Shape shape, long[] strides) {
        if (shape.elements() == 0) {
            return -1;
        }
        long reach = 0;
        for (int axis = 0; axis < strides.length; axis++) {
            reach = Math.addExact(reach, Math.multiplyExact(shape.dim(axis) - 1, strides[axis]));
        }
        return reach;
    }

    static void requireInside(MemorySegment memory, DType dtype, Shape shape, long offset, long[] strides) {
        long available = memory.byteSize() / dtype.bytes();
        try {
            if (Math.addExact(offset, reach(shape, strides)) < available && offset <= available) {
                return;
            }
        } catch (ArithmeticException overflow) {
            // a position beyond 2^63 is certainly outside the memory, and fails below
        }
        throw Checks.fail(
                "memory",
                memory.byteSize() + " bytes (" + available + " of " + dtype + ")",
                "too small for shape " + shape + " with offset " + offset + " and strides " + Arrays.toString(strides));
    }

    /** Returns whether the elements follow each other row-major without gaps. */
    static boolean dense(Shape shape, long[] strides) {
        long step = 1;
        for (int axis = strides.length - 1; axis >= 0; axis--) {
            if (shape.dim(axis) != 1 && strides[axis] != step) {
                return shape.elements() == 0;
            }
            step *= shape.dim(axis);
        }
        return true;
    }

    /** Returns the position of an element, in elements from the start of the memory; fails if the index is outside the shape. */
    static long position(Shape shape, long offset, long[] strides, long[] index) {
        if (Checks.notNull(index, "index").length != shape.rank()) {
            throw Checks.fail("index", Arrays.toString(index), "expected one position per axis of shape " + shape);
        }
        long position = offset;
        for (int axis = 0; axis < index.length; axis++) {
            if (index[axis] < 0 || index[axis] >= shape.dim(axis)) {
                throw Checks.fail("index", Arrays.toString(index), "expected a position inside shape " + shape);
            }
            position += index[axis] * strides[axis];
        }
        return position;
    }
}
