package io.multihead.grammar;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The types of JSON's values. An integer is also a number. */
enum JsonType {
    NULL,
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    ARRAY,
    OBJECT;

    /** Returns the type of a value. A number without a fraction is an integer. */
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

    /** Returns the types that the keyword {@code type} of a schema allows. The type {@code number} includes integers. */
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

    /**
     * Returns a key of a value. Two keys are equal if JSON Schema defines the values as equal. Numbers are compared by value, and objects
     * without regard to order.
     */
    static Object key(@Nullable Object value) {
        return switch (value) {
            case null -> NULL;
            case Number number -> decimal(number).stripTrailingZeros();
            case List<?> list -> list.stream().map(JsonType::key).toList();
            case Map<?, ?> map -> {
                Map<Object, Object> keys = new HashMap<>();
                map.forEach((name, member) -> keys.put(name, key(member)));
                yield keys;
            }
            default -> value;
        };
    }

    /** Returns the {@link #key} of each value. */
    static Set<Object> keys(List<@Nullable Object> values) {
        return values.stream().map(JsonType::key).collect(Collectors.toSet());
    }

    /** Returns the values that {@code const} and {@code enum} of a schema name; null if there are none. */
    static @Nullable List<@Nullable Object> named(SchemaNode node) {
        List<@Nullable Object> values = null;
        if (node.has("enum")) {
            values = node.list("enum");
        }
        if (node.has("const")) {
            Object single = node.keywords().get("const");
            List<@Nullable Object> one = new ArrayList<>();
            if (values == null || keys(values).contains(key(single))) {
                one.add(single);
            }
            values = one;
        }
        return values;
    }
}
