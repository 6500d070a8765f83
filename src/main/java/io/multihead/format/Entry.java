package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.tensor.Shape;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One tensor as the header describes it: bytes {@code from} to {@code to - 1} of the data. */
record Entry(String name, String dtype, Shape shape, long from, long to) {
    /** The bytes of an element of each known type; a file may have tensors of other types, too. */
    private static final Map<String, Integer> BYTES = Map.ofEntries(
            Map.entry("BOOL", 1),
            Map.entry("U8", 1),
            Map.entry("I8", 1),
            Map.entry("F8_E5M2", 1),
            Map.entry("F8_E4M3", 1),
            Map.entry("I16", 2),
            Map.entry("U16", 2),
            Map.entry("F16", 2),
            Map.entry("BF16", 2),
            Map.entry("I32", 4),
            Map.entry("U32", 4),
            Map.entry("F32", 4),
            Map.entry("F64", 8),
            Map.entry("I64", 8),
            Map.entry("U64", 8));

    /** Reads and checks one entry; {@code available} is the size of the data. */
    static Entry of(String name, @Nullable Object described, long available) {
        String what = "tensor \"" + name + "\"";
        if (!(described instanceof Map)) {
            throw Checks.fail(what, "not an object", "expected dtype, shape and data_offsets");
        }
        Map<?, ?> fields = (Map<?, ?>) described;
        Object dtype = fields.get("dtype");
        if (!(dtype instanceof String)) {
            throw Checks.fail(what, "dtype " + dtype, "expected a string");
        }
        long[] sizes = longs(fields.get("shape"), what, "shape");
        Shape shape;
        try {
            shape = Shape.of(sizes);
        } catch (IllegalArgumentException wrong) {
            throw Checks.fail(
                    what, "shape " + fields.get("shape"), "expected at most 64 sizes whose product is below 2^63");
        }
        long[] offsets = longs(fields.get("data_offsets"), what, "data_offsets");
        boolean isRange = offsets.length == 2 && offsets[0] <= offsets[1];
        if (!isRange || offsets[1] > available) {
            throw Checks.fail(
                    what,
                    "data_offsets " + fields.get("data_offsets"),
                    "expected a range within " + available + " bytes" + (isRange ? Downloads.CUT : ""));
        }
        Entry entry = new Entry(name, (String) dtype, shape, offsets[0], offsets[1]);
        entry.requireBytes(what);
        return entry;
    }

    /**
     * Fails unless the number of bytes fits the shape. If the size of an element is unknown, a tensor must have bytes if it has elements, and
     * no bytes otherwise.
     */
    private void requireBytes(String what) {
        long bytes = to - from;
        Integer size = BYTES.get(dtype);
        boolean fits = size == null
                ? (shape.elements() == 0) == (bytes == 0)
                : shape.elements() <= Long.MAX_VALUE / size && shape.elements() * size == bytes;
        if (!fits) {
            throw Checks.fail(
                    what,
                    bytes + " bytes",
                    "expected shape " + shape + " of " + dtype + (size == null ? "" : ", " + size + " bytes each"));
        }
    }

    private static long[] longs(@Nullable Object value, String what, String field) {
        if (!(value instanceof List)) {
            throw Checks.fail(what, field + " " + value, "expected an array of integers");
        }
        return ((List<?>) value).stream().mapToLong(element -> (Long) element).toArray();
    }
}
