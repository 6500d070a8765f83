package io.multihead.internal.base;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The members of a JSON object by name and type; a member of another type is an error that names the member. Null counts as absent. */
public final class JsonObject {
    private final String name;
    private final Map<?, ?> members;

    /** Wraps a result of {@link Json#object}; {@code name} is its name in messages. */
    public JsonObject(String name, Map<?, ?> members) {
        this.name = name;
        this.members = members;
    }

    /** Wraps an element of an array, which must be an object. */
    public static JsonObject of(String name, @Nullable Object value) {
        if (!(value instanceof Map<?, ?> map)) {
            throw Checks.fail(name, String.valueOf(value), "expected an object");
        }
        return new JsonObject(name, map);
    }

    /** Returns the name of this object in messages. */
    public String name() {
        return name;
    }

    public Set<?> names() {
        return members.keySet();
    }

    /** Returns whether a member exists and is not null. */
    public boolean has(String member) {
        return members.get(member) != null;
    }

    /** Returns a member, or null. */
    public @Nullable Object get(String member) {
        return members.get(member);
    }

    /** Returns a string, or null if there is none. */
    public @Nullable String find(String member) {
        Object value = members.get(member);
        if (value != null && !(value instanceof String)) {
            throw fail(member, "a string");
        }
        return (String) value;
    }

    /** Returns a string that must exist. */
    public String text(String member) {
        String value = find(member);
        if (value == null) {
            throw fail(member, "a string");
        }
        return value;
    }

    /** Returns a boolean, or a default. */
    public boolean flag(String member, boolean otherwise) {
        Object value = members.get(member);
        if (value != null && !(value instanceof Boolean)) {
            throw fail(member, "true or false");
        }
        return value == null ? otherwise : (Boolean) value;
    }

    /** Returns a boolean that must exist. */
    public boolean flag(String member) {
        if (!(members.get(member) instanceof Boolean value)) {
            throw fail(member, "true or false");
        }
        return value;
    }

    /** Returns an integer that must exist and be within a range. */
    public int integer(String member, int least, int most) {
        Object value = members.get(member);
        if (!(value instanceof Long number) || number < least || number > most) {
            throw fail(member, "an integer from " + least + " to " + most);
        }
        return number.intValue();
    }

    /** Returns an integer within a range, or a default. */
    public int integer(String member, int least, int most, int otherwise) {
        return has(member) ? integer(member, least, most) : otherwise;
    }

    /** Returns a finite number that must exist. */
    public double number(String member) {
        if (!(members.get(member) instanceof Number number) || !Double.isFinite(number.doubleValue())) {
            throw fail(member, "a number");
        }
        return number.doubleValue();
    }

    /** Returns an object that must exist. */
    public JsonObject object(String member) {
        if (!(members.get(member) instanceof Map<?, ?> map)) {
            throw fail(member, "an object");
        }
        return new JsonObject(name + "." + member, map);
    }

    @SuppressWarnings("unchecked") // names of members of a JSON object are strings
    public Map<String, @Nullable Object> members() {
        return (Map<String, @Nullable Object>) members;
    }

    /** Returns all members, which must be strings, in the order of the text. */
    public Map<String, String> texts() {
        Map<String, String> texts = new LinkedHashMap<>();
        names().forEach(member -> texts.put((String) member, text((String) member)));
        return texts;
    }

    /** Returns an array that must exist. */
    public List<?> array(String member) {
        if (!(members.get(member) instanceof List<?> list)) {
            throw fail(member, "an array");
        }
        return list;
    }

    /** Returns an array of strings that must exist. */
    public List<String> strings(String member) {
        return elements(member, String.class, "an array of strings");
    }

    /** Returns an array of integers that must exist. */
    public List<Long> integers(String member) {
        return elements(member, Long.class, "an array of integers");
    }

    private <T> List<T> elements(String member, Class<T> type, String expected) {
        if (!(members.get(member) instanceof List<?> list) || !list.stream().allMatch(type::isInstance)) {
            throw fail(member, expected);
        }
        return list.stream().map(type::cast).toList();
    }

    /** Fails unless a member is absent or has this value. */
    public void require(String member, @Nullable Object expected) {
        Object value = members.get(member);
        if (value != null && !Objects.equals(value, expected)) {
            throw fail(member, String.valueOf(expected));
        }
    }

    /** Fails unless the member {@code type} has this value. */
    public void requireType(String type) {
        if (!text("type").equals(type)) {
            throw fail("type", type);
        }
    }

    /**
     * Returns the parts of a member: the member itself, or the parts and sequences in its array {@code parts} if it has the type
     * {@code Sequence}; none if it is absent.
     */
    public List<JsonObject> parts(String member, String parts) {
        List<JsonObject> list = new ArrayList<>();
        if (has(member)) {
            object(member).addParts(parts, list);
        }
        return list;
    }

    private void addParts(String parts, List<JsonObject> to) {
        if (!"Sequence".equals(find("type"))) {
            to.add(this);
            return;
        }
        for (Object part : array(parts)) {
            of(name + "." + parts, part).addParts(parts, to);
        }
    }

    public IllegalArgumentException fail(String member, String expected) {
        Object value = members.get(member);
        String actual = "".equals(value) ? "an empty text" : String.valueOf(value);
        return Checks.fail(
                name + "." + member,
                actual.length() > 100 ? actual.substring(0, 100) + " ..." : actual,
                "expected " + expected);
    }
}
