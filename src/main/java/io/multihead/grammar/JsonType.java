package io.multihead.grammar;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The types of JSON's values; an integer is a number, too. */
enum JsonType {
    NULL,
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    ARRAY,
    OBJECT;

    /** Returns the type of a value; a number without fraction is an integer. */
    static JsonType of(@Nullable Object value) {
        return switch (value) {
            case null -> NULL;
            case Boolean truth -> BOOLEAN;
            case Number number -> decimal(number).stripTrailingZeros().scale() <= 0 ? INTEGER : NUMBER;
            case String text -> STRING;
            case List<?> list -> ARRAY;
            default -> OBJECT;
        };
    }

    static BigDecimal decimal(Number number) {
        return number instanceof BigDecimal decimal ? decimal : BigDecimal.valueOf(number.longValue());
    }

    /** Returns the types that a schema allows by {@code type}; a number includes the integer. */
    static Set<JsonType> of(SchemaNode node) {
        Set<JsonType> types = EnumSet.noneOf(JsonType.class);
        if (!node.has("type")) {
            return EnumSet.allOf(JsonType.class);
        }
        Object names = node.keywords().get("type");
        for (Object name : names instanceof List<?> list ? list : List.of(names == null ? "" : names)) {
            boolean known = false;
            for (JsonType type : values()) {
                if (type.name().toLowerCase(Locale.ROOT).equals(name)) {
                    types.add(type);
                    known = true;
                }
            }
            if (!known) {
                throw node.fail("type", "expected names of JSON's types");
            }
        }
        if (types.contains(NUMBER)) {
            types.add(INTEGER);
        }
        return types;
    }

    /** Returns whether two values are equal as JSON Schema compares them: numbers by value, objects without order. */
    static boolean same(@Nullable Object one, @Nullable Object other) {
        if (one instanceof Number a && other instanceof Number b) {
            return decimal(a).compareTo(decimal(b)) == 0;
        }
        if (one instanceof List<?> a && other instanceof List<?> b) {
            boolean same = a.size() == b.size();
            for (int i = 0; same && i < a.size(); i++) {
                same = same(a.get(i), b.get(i));
            }
            return same;
        }
        if (one instanceof Map<?, ?> a && other instanceof Map<?, ?> b) {
            return a.keySet().equals(b.keySet())
                    && a.entrySet().stream().allMatch(entry -> same(entry.getValue(), b.get(entry.getKey())));
        }
        return one == null ? other == null : one.equals(other);
    }

    /** Returns the values that a schema names by {@code const} and {@code enum}; null if it names none. */
    static @Nullable List<@Nullable Object> named(SchemaNode node) {
        List<@Nullable Object> values = null;
        if (node.has("enum")) {
            values = node.list("enum");
        }
        if (node.has("const")) {
            Object single = node.keywords().get("const");
            List<@Nullable Object> one = new ArrayList<>();
            if (values == null || values.stream().anyMatch(value -> same(value, single))) {
                one.add(single);
            }
            values = one;
        }
        return values;
    }
}
