package io.multihead.format;

import io.multihead.internal.base.Checks;

/**
 * The types of GGUF's metadata. The {@link #ordinal} of a type is its number in files.
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
    /** A length in bytes (64 bits), then UTF-8. */
    STRING(0),
    /** A type and the number of values (64 bits), then values of this type, which may be arrays. */
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

    /** Returns the number of bytes of a value; 0 if values differ in size. */
    int bytes() {
        return bytes;
    }

    /** Returns the smallest number of bytes of a value: an empty string has its length, and an empty array has its type and length. */
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
