package io.multihead.format;

import io.multihead.internal.base.Checks;
import java.lang.foreign.MemorySegment;
import java.util.AbstractList;
import java.util.Objects;
import java.util.RandomAccess;

/**
 * The texts of an array in the memory of its file. The list stores an offset for each text, and converts a text to a string when it is
 * requested.
 */
final class GgufStrings extends AbstractList<String> implements RandomAccess {
    private final MemorySegment memory;
    private final long[] starts;

    /** Finds and checks {@code count} texts from a byte of the memory on; their lengths have been checked. */
    GgufStrings(MemorySegment memory, long from, long count, String what) {
        this.memory = memory;
        starts = new long[Checks.fitsInt(count, what)];
        long at = from;
        for (int i = 0; i < starts.length; i++) {
            long end = at + Long.BYTES + memory.get(GgufCursor.LONG, at);
            Utf8.require(memory, at + Long.BYTES, end, what);
            starts[i] = at;
            at = end;
        }
    }

    @Override
    public String get(int index) {
        long start = starts[Objects.checkIndex(index, starts.length)];
        return Utf8.text(memory, start + Long.BYTES, start + Long.BYTES + memory.get(GgufCursor.LONG, start));
    }

    @Override
    public int size() {
        return starts.length;
    }
}
