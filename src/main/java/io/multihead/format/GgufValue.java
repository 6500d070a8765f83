package io.multihead.format;

import io.multihead.internal.base.Checks;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * One value of GGUF's metadata: its type, and its bytes as stored in the file. Values are converted only when they are requested, so a
 * vocabulary of 256,000 tokens takes only its space in the file.
 *
 * <p>Immutable and thread-safe; a value that was read from a mapped file lives as long as the arena of the mapping, and a value for a {@link
 * GgufWriter} as long as it is referenced.
 */
public final class GgufValue {
    /** The bytes before an array's elements: the type and the number of the elements. */
    private static final int ARRAY_HEAD = 12;

    /** The name in errors of a value that is not from a file. */
    private static final String VALUE = "value";

    /** The largest number of bytes of a text in {@link #toString}. */
    private static final long MOST_SHOWN = 100;

    private final String what;
    private final GgufType type;
    private final MemorySegment bytes;

    /** Keeps bytes whose lengths have been checked; {@code what} is the value's name in errors. */
    GgufValue(String what, GgufType type, MemorySegment bytes) {
        this.what = what;
        this.type = type;
        this.bytes = bytes;
    }

    /** Returns the name in errors of a value from a file: its key. */
    static String what(String key) {
        return key.isEmpty() ? "key \"\"" : key;
    }

    /** Returns this value under another name in errors. */
    GgufValue named(String name) {
        return new GgufValue(name, type, bytes);
    }

    /** Returns the bytes as in a file, after the type. */
    MemorySegment bytes() {
        return bytes;
    }

    /**
     * {@return an integer}
     *
     * @param type one of the eight types of integers
     * @param value the number; a {@link GgufType#U64} is at most 2<sup>63</sup> - 1
     * @throws IllegalArgumentException if the type is not a type of integers, or cannot hold the number
     */
    public static GgufValue ofInteger(GgufType type, long value) {
        requireFits(Checks.notNull(type, "type"), value, VALUE);
        return new GgufValue(
                VALUE, type, new GgufEncoder().integer(value, type.bytes()).toSegment());
    }

    /**
     * {@return a {@link GgufType#F32}}
     *
     * @param value the number
     */
    public static GgufValue ofF32(float value) {
        return new GgufValue(
                VALUE,
                GgufType.F32,
                new GgufEncoder().u32(Float.floatToRawIntBits(value)).toSegment());
    }

    /**
     * {@return a {@link GgufType#F64}}
     *
     * @param value the number
     */
    public static GgufValue ofF64(double value) {
        return new GgufValue(
                VALUE,
                GgufType.F64,
                new GgufEncoder().u64(Double.doubleToRawLongBits(value)).toSegment());
    }

    /**
     * {@return a {@link GgufType#BOOL}}
     *
     * @param value the boolean
     */
    public static GgufValue ofBool(boolean value) {
        return new GgufValue(
                VALUE,
                GgufType.BOOL,
                new GgufEncoder().integer(value ? 1 : 0, 1).toSegment());
    }

    /**
     * {@return a {@link GgufType#STRING}}
     *
     * @param text any text
     * @throws IllegalArgumentException if it has an unpaired surrogate
     */
    public static GgufValue ofString(String text) {
        return new GgufValue(
                VALUE,
                GgufType.STRING,
                new GgufEncoder().text(Checks.notNull(text, "text"), "text").toSegment());
    }

    /**
     * {@return an array of strings}
     *
     * @param texts any texts
     * @throws IllegalArgumentException if a string has an unpaired surrogate
     */
    public static GgufValue ofStrings(List<String> texts) {
        GgufEncoder to = new GgufEncoder()
                .array(GgufType.STRING, Checks.notNull(texts, "texts").size());
        int index = 0;
        for (String text : texts) {
            String what = "texts[" + index++ + "]";
            to.text(Checks.notNull(text, what), what);
        }
        return new GgufValue(VALUE, GgufType.ARRAY, to.toSegment());
    }

    /**
     * {@return an array of integers}
     *
     * @param elements one of the eight types of integers
     * @param values the numbers; a {@link GgufType#U64} is at most 2<sup>63</sup> - 1
     * @throws IllegalArgumentException if the type is not a type of integers, or cannot hold a number
     */
    public static GgufValue ofIntegers(GgufType elements, long... values) {
        Checks.notNull(elements, "elements");
        requireFits(elements, 0, VALUE);
        GgufEncoder to = new GgufEncoder().array(elements, Checks.notNull(values, "values").length);
        for (int i = 0; i < values.length; i++) {
            requireFits(elements, values[i], "values[" + i + "]");
            to.integer(values[i], elements.bytes());
        }
        return new GgufValue(VALUE, GgufType.ARRAY, to.toSegment());
    }

    /**
     * {@return an array of f32}
     *
     * @param values the numbers
     */
    public static GgufValue ofFloats(float... values) {
        GgufEncoder to = new GgufEncoder().array(GgufType.F32, Checks.notNull(values, "values").length);
        for (float value : values) {
            to.u32(Float.floatToRawIntBits(value));
        }
        return new GgufValue(VALUE, GgufType.ARRAY, to.toSegment());
    }

    /**
     * {@return an array of values of one type, for example of booleans or of arrays}
     *
     * @param elements the type
     * @param values the values
     * @throws IllegalArgumentException if a value has another type
     */
    public static GgufValue ofValues(GgufType elements, List<GgufValue> values) {
        Checks.notNull(elements, "elements");
        GgufEncoder to = new GgufEncoder()
                .array(elements, Checks.notNull(values, "values").size());
        int index = 0;
        for (GgufValue value : values) {
            String what = "values[" + index++ + "]";
            if (Checks.notNull(value, what).type != elements) {
                throw Checks.fail(what, value.toString(), "expected " + elements);
            }
            to.append(value.bytes.toArray(ValueLayout.JAVA_BYTE));
        }
        return new GgufValue(VALUE, GgufType.ARRAY, to.toSegment());
    }

    private static void requireFits(GgufType type, long value, String what) {
        if (!type.isInteger()) {
            throw Checks.fail("type", type.toString(), "expected a type of integers");
        }
        int bits = 8 * type.bytes();
        boolean signed = type == GgufType.I8 || type == GgufType.I16 || type == GgufType.I32 || type == GgufType.I64;
        long least = signed ? -1L << bits - 1 : 0;
        long most = bits == 64 ? Long.MAX_VALUE : (1L << (signed ? bits - 1 : bits)) - 1;
        if (value < least || value > most) {
            throw Checks.fail(
                    what, String.valueOf(value), "expected " + least + " to " + most + ", as " + type + " holds");
        }
    }

    /** {@return the type} */
    public GgufType type() {
        return type;
    }

    /**
     * {@return the type of the elements of an array}
     *
     * @throws IllegalArgumentException if this is not an array
     */
    public GgufType elementType() {
        require(type == GgufType.ARRAY, "an array");
        return GgufType.of(bytes.get(GgufCursor.INT, 0), what);
    }

    /**
     * {@return the number of elements of an array}
     *
     * @throws IllegalArgumentException if this is not an array
     */
    public long length() {
        require(type == GgufType.ARRAY, "an array");
        return bytes.get(GgufCursor.LONG, Integer.BYTES);
    }

    /**
     * {@return the text of a {@link GgufType#STRING}}
     *
     * @throws IllegalArgumentException if this is not a string, or it is not UTF-8
     */
    public String string() {
        require(type == GgufType.STRING, "a string");
        Utf8.require(bytes, Long.BYTES, bytes.byteSize(), what);
        return Utf8.text(bytes, Long.BYTES, bytes.byteSize());
    }

    /**
     * {@return an integer of any of the eight types}
     *
     * @throws IllegalArgumentException if this is not an integer, or a {@link GgufType#U64} above 2<sup>63</sup> - 1
     */
    public long integer() {
        require(type.isInteger(), "an integer");
        return integer(type, 0);
    }

    /**
     * {@return a {@link GgufType#F32}, widened exactly, or a {@link GgufType#F64}}
     *
     * @throws IllegalArgumentException if this is neither
     */
    public double real() {
        require(type == GgufType.F32 || type == GgufType.F64, "an f32 or f64");
        return real(type, 0);
    }

    /**
     * {@return a {@link GgufType#BOOL}}
     *
     * @throws IllegalArgumentException if this is not a boolean
     */
    public boolean bool() {
        require(type == GgufType.BOOL, "a bool");
        return bytes.get(ValueLayout.JAVA_BYTE, 0) != 0;
    }

    /**
     * Returns the strings of an array. All strings are checked immediately. Each access to an element of the list converts its
     * bytes again.
     *
     * @return an unmodifiable list on the memory of the file, which takes eight more bytes for each text
     * @throws IllegalArgumentException if this is not an array of strings, or a string is not UTF-8
     */
    public List<String> strings() {
        requireElements("strings", type == GgufType.ARRAY && elementType() == GgufType.STRING);
        return new GgufStrings(bytes, ARRAY_HEAD, length(), what);
    }

    /**
     * {@return the integers of an array, of any of the eight types, as a new array}
     *
     * @throws IllegalArgumentException if this is not an array of integers, or an integer is above
     *     2<sup>63</sup>
     *     - 1
     */
    public long[] integers() {
        requireElements("integers", type == GgufType.ARRAY && elementType().isInteger());
        GgufType elements = elementType();
        long[] values = new long[Checks.fitsInt(length(), what)];
        for (int i = 0; i < values.length; i++) {
            values[i] = integer(elements, ARRAY_HEAD + (long) i * elements.bytes());
        }
        return values;
    }

    /**
     * {@return the elements of an array of f32, as a new array}
     *
     * @throws IllegalArgumentException if this is not an array of f32
     */
    public float[] floats() {
        requireElements("f32", type == GgufType.ARRAY && elementType() == GgufType.F32);
        float[] values = new float[Checks.fitsInt(length(), what)];
        MemorySegment.copy(bytes, GgufCursor.FLOAT, ARRAY_HEAD, values, 0, values.length);
        return values;
    }

    /**
     * {@return the elements of an array of f32, widened exactly, or of f64, as a new array}
     *
     * @throws IllegalArgumentException if this is neither
     */
    public double[] reals() {
        boolean reals = type == GgufType.ARRAY && (elementType() == GgufType.F32 || elementType() == GgufType.F64);
        requireElements("f32 or f64", reals);
        GgufType elements = elementType();
        double[] values = new double[Checks.fitsInt(length(), what)];
        for (int i = 0; i < values.length; i++) {
            values[i] = real(elements, ARRAY_HEAD + (long) i * elements.bytes());
        }
        return values;
    }

    /**
     * Returns the elements of an array of any type, such as an array of arrays. It creates an object
     * for each element.
     *
     * @return an unmodifiable list of values on the same memory
     * @throws IllegalArgumentException if this is not an array
     */
    public List<GgufValue> values() {
        GgufType elements = elementType();
        List<GgufValue> values = new ArrayList<>();
        GgufCursor cursor = new GgufCursor(bytes);
        cursor.skip(ARRAY_HEAD, what);
        for (long i = length(); i > 0; i--) {
            values.add(new GgufValue(what, elements, cursor.readValue(elements, what)));
        }
        return List.copyOf(values);
    }

    private long integer(GgufType as, long at) {
        return switch (as) {
            case U8 -> bytes.get(ValueLayout.JAVA_BYTE, at) & 0xff;
            case I8 -> bytes.get(ValueLayout.JAVA_BYTE, at);
            case U16 -> bytes.get(GgufCursor.SHORT, at) & 0xffff;
            case I16 -> bytes.get(GgufCursor.SHORT, at);
            case U32 -> Integer.toUnsignedLong(bytes.get(GgufCursor.INT, at));
            case I32 -> bytes.get(GgufCursor.INT, at);
            case U64 -> fitting(bytes.get(GgufCursor.LONG, at));
            case I64 -> bytes.get(GgufCursor.LONG, at);
            default -> throw new IllegalStateException(as.toString());
        };
    }

    private long fitting(long value) {
        if (value < 0) {
            throw Checks.fail(what, "U64 " + Long.toUnsignedString(value), "expected at most 2^63 - 1");
        }
        return value;
    }

    private double real(GgufType as, long at) {
        return as == GgufType.F32 ? bytes.get(GgufCursor.FLOAT, at) : bytes.get(GgufCursor.DOUBLE, at);
    }

    private void require(boolean right, String expected) {
        if (!right) {
            throw Checks.fail(what, toString(), "expected " + expected);
        }
    }

    private void requireElements(String elements, boolean right) {
        require(right, "an array of " + elements);
    }

    /** Returns the type and the value. A string is represented by its beginning, and an array by the type and the number of its elements. */
    @Override
    public String toString() {
        return type
                + switch (type) {
                    case ARRAY -> " of " + length() + " " + elementType();
                    case STRING -> " \"" + beginning() + "\"";
                    case BOOL -> " " + bool();
                    case F32, F64 -> " " + real();
                    case U64 -> " " + Long.toUnsignedString(bytes.get(GgufCursor.LONG, 0));
                    default -> " " + integer();
                };
    }

    /** Returns the beginning of a text, which need not be UTF-8. */
    private String beginning() {
        long end = Math.min(bytes.byteSize(), Long.BYTES + MOST_SHOWN);
        return Utf8.text(bytes, Long.BYTES, end) + (end < bytes.byteSize() ? " ..." : "");
    }
}
