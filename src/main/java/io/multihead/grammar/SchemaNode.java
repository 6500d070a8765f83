package io.multihead.grammar;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A schema within a schema, with its JSON pointer. Two nodes are equal if their pointers are equal.
 *
 * @param path the pointer, beginning with {@code #}
 * @param value the map of keywords, or a boolean
 */
record SchemaNode(String path, Object value) implements Comparable<SchemaNode> {
    /** Reads the text of a whole schema. */
    static SchemaNode root(String schema) {
        return of("#", Json.exact("schema", schema.getBytes(StandardCharsets.UTF_8)));
    }

    static SchemaNode of(String path, @Nullable Object value) {
        if (!(value instanceof Map || value instanceof Boolean)) {
            throw Checks.fail(path, String.valueOf(value), "expected a schema: an object or a boolean");
        }
        return new SchemaNode(path, value);
    }

    @SuppressWarnings("unchecked")
    Map<String, @Nullable Object> keywords() {
        return value instanceof Map ? (Map<String, @Nullable Object>) value : new LinkedHashMap<>();
    }

    boolean isFalse() {
        return Boolean.FALSE.equals(value);
    }

    String path(String keyword) {
        return pointer(path, keyword);
    }

    /** Returns the JSON pointer of a member (RFC 6901, section 3). */
    static String pointer(String path, String member) {
        return path + "/" + member.replace("~", "~0").replace("/", "~1");
    }

    IllegalArgumentException fail(String keyword, String expected) {
        return Checks.fail(path(keyword), String.valueOf(keywords().get(keyword)), expected);
    }

    boolean has(String keyword) {
        return keywords().containsKey(keyword);
    }

    SchemaNode child(String keyword) {
        return of(path(keyword), keywords().get(keyword));
    }

    SchemaNode child(String keyword, String name) {
        return of(pointer(path(keyword), name), map(keyword).get(name));
    }

    SchemaNode child(String keyword, int index) {
        return of(path(keyword) + "/" + index, list(keyword).get(index));
    }

    @SuppressWarnings("unchecked")
    Map<String, @Nullable Object> map(String keyword) {
        if (!has(keyword)) {
            return Map.of();
        }
        if (!(keywords().get(keyword) instanceof Map<?, ?> map)) {
            throw fail(keyword, "expected an object");
        }
        return (Map<String, @Nullable Object>) map;
    }

    @SuppressWarnings("unchecked")
    List<@Nullable Object> list(String keyword) {
        if (!(keywords().get(keyword) instanceof List<?> list)) {
            throw fail(keyword, "expected an array");
        }
        return (List<@Nullable Object>) list;
    }

    String string(String keyword) {
        if (!(keywords().get(keyword) instanceof String string)) {
            throw fail(keyword, "expected a string");
        }
        return string;
    }

    /** Returns the length or count of a keyword, or {@code absent} if the schema does not have the keyword. */
    int count(String keyword, int absent) {
        if (!has(keyword)) {
            return absent;
        }
        Object value = keywords().get(keyword);
        if (value instanceof BigDecimal number && number.stripTrailingZeros().scale() <= 0 && number.precision() < 18) {
            value = number.longValue();
        }
        if (!(value instanceof Long number) || number < 0 || number > Integer.MAX_VALUE) {
            throw fail(keyword, "expected an integer from 0 to " + Integer.MAX_VALUE);
        }
        return number.intValue();
    }

    @Override
    public int compareTo(SchemaNode other) {
        return path.compareTo(other.path);
    }

    @Override
    public boolean equals(@Nullable Object object) {
        return object instanceof SchemaNode other && path.equals(other.path);
    }

    @Override
    public int hashCode() {
        return path.hashCode();
    }
}
