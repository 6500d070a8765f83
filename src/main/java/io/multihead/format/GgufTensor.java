package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.tensor.Shape;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One tensor as the header describes it.
 *
 * @param type null for a number that was not in ggml when this class was written
 * @param from first byte, counted from the start of the file
 * @param bytes number of bytes; 1 if the type is unknown, since there is at least one element
 */
record GgufTensor(String name, long id, @Nullable GgmlType type, Shape shape, long from, long bytes) {
    private static final int MOST_AXES = 4;

    /** A tensor as the header describes it, before the offset of the data is known. */
    record Described(String name, Shape shape, long id, long offset) {}

    /** Reads name, sizes, type and offset. */
    static Described read(GgufCursor cursor, long index) {
        String name = cursor.readName("tensor " + index + " name");
        String what = what(name);
        long axes = cursor.read32(what);
        if (axes < 1 || axes > MOST_AXES) {
            throw Checks.fail(what, axes + " dimensions", "expected 1 to " + MOST_AXES);
        }
        long[] dims = new long[(int) axes];
        for (int axis = dims.length - 1; axis >= 0; axis--) {
            dims[axis] = cursor.read64(what);
        }
        long id = cursor.read32(what);
        return new Described(name, shape(dims, what), id, cursor.read64(what));
    }

    private static Shape shape(long[] dims, String what) {
        try {
            Shape shape = Shape.of(dims);
            if (shape.elements() > 0) {
                return shape;
            }
        } catch (IllegalArgumentException negativeOrTooLarge) {
            // named below
        }
        String sizes = Arrays.toString(
                Arrays.stream(dims).mapToObj(Long::toUnsignedString).toArray());
        throw Checks.fail(what, "sizes " + sizes, "expected at least 1 each and a product below 2^63");
    }

    /** Checks the location of a tensor. The data begins at byte {@code dataStart} of a file of {@code fileSize} bytes. */
    static GgufTensor place(Described described, long dataStart, long fileSize, long alignment) {
        String what = what(described.name);
        if (Long.remainderUnsigned(described.offset, alignment) != 0) {
            throw Checks.fail(
                    what,
                    "offset " + Long.toUnsignedString(described.offset),
                    "expected a multiple of the alignment, " + alignment);
        }
        long available = fileSize - dataStart - described.offset;
        if (described.offset < 0 || available <= 0) {
            throw Checks.fail(
                    what,
                    "offset " + Long.toUnsignedString(described.offset),
                    "expected less than " + Math.max(0, fileSize - dataStart) + ", the bytes of data in the file"
                            + (described.offset < 0 ? "" : Downloads.CUT));
        }
        GgmlType type = GgmlType.of(described.id);
        long bytes = type == null ? 1 : bytes(described, type, available);
        return new GgufTensor(described.name, described.id, type, described.shape, dataStart + described.offset, bytes);
    }

    private static long bytes(Described described, GgmlType type, long available) {
        String what = what(described.name);
        if (described.shape.dim(-1) % type.elements() != 0) {
            throw Checks.fail(
                    what,
                    "shape " + described.shape,
                    "expected rows of a multiple of " + type.elements() + ", as " + type + " has blocks");
        }
        long blocks = described.shape.elements() / type.elements();
        if (blocks > available / type.bytes()) {
            throw Checks.fail(
                    what,
                    type + " " + described.shape + " at offset " + described.offset,
                    "expected at most " + available + " bytes, where the file ends" + Downloads.CUT);
        }
        return blocks * type.bytes();
    }

    long end() {
        return from + bytes;
    }

    /** Returns the type's name, or its number if the type is unknown. */
    String typeName() {
        return type == null ? "ggml type " + id : type.toString();
    }

    String what() {
        return what(name);
    }

    private static String what(String name) {
        return "tensor \"" + name + "\"";
    }
}
