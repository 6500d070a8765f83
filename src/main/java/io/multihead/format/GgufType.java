package io.multihead.format;

import io.multihead.internal.base.Checks;

/**
 * The types of GGUF's metadata. The number that a file has for a type is its {@link #ordinal}.
 *
 * @see <a href="https://github.com/ggml-org/ggml/blob/master/docs/gguf.md">the format</a>
 */
public enum GgufType {
    /** An unsigned integer of 8 bits. */
    U8(1),
    /** A signed integer of 8 bits. */
    I8(1),
    /** An unsigned integer of 16 bits. */
    U16(2),
    /** A signed integer of 16 bits. */
    I16(2),
    /** An unsigned integer of 32 bits. */
    U32(4),
    /** A signed integer of 32 bits. */
    I32(4),
    /** An IEEE 754 binary32. */
    F32(4),
    /** A byte of 0 or 1. */
    BOOL(1),
    /** UTF-8 after its length in bytes, 64 bits. */
    STRING(0),
    /** Values of one type, which may be arrays, after that type and their number, 64 bits. */
    ARRAY(0),
    /** An unsigned integer of 64 bits. */
    U64(8),
    /** A signed integer of 64 bits. */
    I64(8),
    /** An IEEE 754 binary64. */
    F64(8);

    private static final GgufType[] ALL = values();

    private final int bytes;

    GgufType(int bytes) {
        this.bytes = bytes;
    }

    /** {@return whether values are integers, of any size} */
    public boolean isInteger() {
        return switch (this) {
            case U8, I8, U16, I16, U32, I32, U64, I64 -> true;
            case F32, BOOL, STRING, ARRAY, F64 -> false;
        };
    }

    /** Bytes of a value; 0 where they differ. */
    int bytes() {
        return bytes;
    }

    /** The fewest bytes of a value: an empty text has its length, an empty array its type and length too. */
    int leastBytes() {
        return this == STRING ? 8 : this == ARRAY ? 12 : bytes;
    }

    /** Returns the type of a number in a file. */
    static GgufType of(long id, String what) {
        if (id < 0 || id >= ALL.length) {
            throw Checks.fail(what, "type " + id, "expected 0 to " + (ALL.length - 1));
        }
        return ALL[(int) id];
    }
}
