package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * A position in the bytes of a GGUF file. It never passes their end, because each length is first compared with the number of remaining bytes.
 */
final class GgufCursor {
    static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** The largest number of bytes of the name of a key or a tensor: the specification's limit for keys. */
    private static final long LONGEST_NAME = 65535;

    /** The largest depth of nested arrays. Each level takes a stack frame of the reader. */
    private static final int DEEPEST = 8;

    private final MemorySegment memory;
    private long at;

    GgufCursor(MemorySegment memory) {
        this.memory = memory;
    }

    long at() {
        return at;
    }

    /** Fails unless this number of bytes is left; an unsigned number that is too large for a long is negative, and fails. */
    private void require(long bytes, String what) {
        long left = memory.byteSize() - at;
        if (bytes < 0 || bytes > left) {
            throw Checks.fail(
                    what,
                    Long.toUnsignedString(bytes) + " bytes at byte " + at,
                    "expected at most " + left + ", where the file ends" + (bytes < 0 ? "" : Downloads.CUT));
        }
    }

    void skip(long bytes, String what) {
        require(bytes, what);
        at += bytes;
    }

    long read32(String what) {
        skip(Integer.BYTES, what);
        return Integer.toUnsignedLong(memory.get(INT, at - Integer.BYTES));
    }

    long read64(String what) {
        skip(Long.BYTES, what);
        return memory.get(LONG, at - Long.BYTES);
    }

    /**
     * Reads a count of items, each of which takes at least {@code leastBytes} bytes. A count of more items than the remaining bytes can hold is
     * refused before it is used.
     */
    long readCount(int leastBytes, String what) {
        long count = read64(what);
        long most = (memory.byteSize() - at) / leastBytes;
        if (count < 0 || count > most) {
            throw Checks.fail(
                    what,
                    Long.toUnsignedString(count) + " at byte " + (at - Long.BYTES),
                    "expected at most " + most + ", which the rest of the file could hold");
        }
        return count;
    }

    String readName(String what) {
        long length = read64(what);
        if (length < 0 || length > LONGEST_NAME) {
            throw Checks.fail(what, Long.toUnsignedString(length) + " bytes", "expected at most " + LONGEST_NAME);
        }
        skip(length, what);
        Utf8.require(memory, at - length, at, what);
        return Utf8.text(memory, at - length, at);
    }

    /** Skips a value and returns its bytes. */
    MemorySegment readValue(GgufType type, String what) {
        long from = at;
        skipValue(type, 0, what);
        return memory.asSlice(from, at - from);
    }

    /** Skips a value, and checks all lengths and booleans in it. */
    private void skipValue(GgufType type, int depth, String what) {
        switch (type) {
            case STRING -> skip(read64(what), what);
            case BOOL -> skipBools(1, what);
            case ARRAY -> {
                if (depth == DEEPEST) {
                    throw Checks.fail(what, "arrays more than " + DEEPEST + " deep", "expected at most " + DEEPEST);
                }
                GgufType elements = GgufType.of(read32(what), what);
                skipElements(elements, readCount(elements.leastBytes(), what), depth + 1, what);
            }
            default -> skip(type.bytes(), what);
        }
    }

    private void skipElements(GgufType type, long count, int depth, String what) {
        if (type == GgufType.BOOL) {
            skipBools(count, what);
        } else if (type.bytes() > 0) {
            skip(count * type.bytes(), what);
        } else {
            for (long i = 0; i < count; i++) {
                skipValue(type, depth, what);
            }
        }
    }

    private void skipBools(long count, String what) {
        skip(count, what);
        for (long i = at - count; i < at; i++) {
            int value = memory.get(ValueLayout.JAVA_BYTE, i);
            if (value != 0 && value != 1) {
                throw Checks.fail(what, "truth value " + value, "expected 0 or 1");
            }
        }
    }
}
