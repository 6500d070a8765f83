package io.multihead.position;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A dictionary from a file, with typed values. The class records the keys that were requested. A null value means an absent
 * value.
 */
final class RopeDictionary {
    private final Map<String, @Nullable Object> entries;
    private final Set<String> read = new LinkedHashSet<>();

    RopeDictionary(Map<String, @Nullable Object> entries) {
        this.entries = entries;
    }

    /** Returns {@code rope_type}, or its older name {@code type}; {@code mrope} is the default type with sections. */
    String type() {
        Object type = value("rope_type");
        Object older = value("type");
        if (type != null && older != null && !type.equals(older) && !older.equals("mrope")) {
            throw Checks.fail("type", older.toString(), "expected " + type + ", as rope_type, or none");
        }
        Object given = type == null ? older : type;
        if (given == null || given.equals("mrope")) {
            return "default";
        }
        if (!(given instanceof String name)) {
            throw Checks.fail("rope_type", given.toString(), "expected a string");
        }
        return name;
    }

    /** Returns the sections of {@code mrope_section}, or null. */
    @Nullable
    RopeSections sections() {
        boolean interleaved = flag("mrope_interleaved", false);
        if (value("mrope_section") == null) {
            return null;
        }
        List<Double> numbers = numbers("mrope_section");
        int[] sizes = new int[numbers.size()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = Checks.fitsInt(whole(numbers.get(i), "mrope_section[" + i + "]"), "mrope_section[" + i + "]");
        }
        return interleaved ? RopeSections.interleaved(sizes) : RopeSections.consecutive(sizes);
    }

    /** Returns the number of a required key. */
    double number(String key) {
        return toNumber(required(key), key);
    }

    double number(String key, double otherwise) {
        Object value = value(key);
        return value == null ? otherwise : toNumber(value, key);
    }

    long integer(String key, long otherwise) {
        Object value = value(key);
        return value == null ? otherwise : whole(toNumber(value, key), key);
    }

    boolean flag(String key, boolean otherwise) {
        Object value = value(key);
        if (value == null) {
            return otherwise;
        }
        if (!(value instanceof Boolean flag)) {
            throw Checks.fail(key, value.toString(), "expected true or false");
        }
        return flag;
    }

    /** Returns the numbers of a required key. */
    List<Double> numbers(String key) {
        if (!(required(key) instanceof List<?> list)) {
            throw Checks.fail(key, required(key).toString(), "expected a list of numbers");
        }
        List<Double> numbers = new ArrayList<>();
        for (Object element : list) {
            numbers.add(toNumber(element, key + "[" + numbers.size() + "]"));
        }
        return numbers;
    }

    /** Fails with an error that names the first key that was not requested. */
    void requireAllRead(String type) {
        for (String key : entries.keySet()) {
            if (entries.get(key) != null && !read.contains(key)) {
                throw Checks.fail(
                        String.valueOf(key),
                        String.valueOf(entries.get(key)),
                        "has no meaning here for rope_type " + type + "; expected only " + String.join(", ", read));
            }
        }
    }

    private @Nullable Object value(String key) {
        read.add(key);
        return entries.get(key);
    }

    private Object required(String key) {
        Object value = value(key);
        if (value == null) {
            throw Checks.fail(key, "not in the dictionary", "expected a value");
        }
        return value;
    }

    private static double toNumber(@Nullable Object value, String key) {
        if (!(value instanceof Number number) || !Double.isFinite(number.doubleValue())) {
            throw Checks.fail(key, String.valueOf(value), "expected a finite number");
        }
        return number.doubleValue();
    }

    private static long whole(double number, String key) {
        long whole = (long) number;
        if (whole != number || Math.abs(whole) > 1L << 53) {
            throw Checks.fail(key, String.valueOf(number), "expected a whole number");
        }
        return whole;
    }
}
