package io.multihead.demo.serve;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The members of a JSON object of a request. Null is treated as absent, since clients send null for members that they
 * do not use. An unknown member is an error at the end, so that no member is ignored.
 */
final class Fields {
    private final String path;
    private final JsonNode node;
    private final Set<String> read = new HashSet<>();

    /**
     * Creates the members of an object.
     *
     * @param path prefix of the names of members in errors, which is empty for the request
     */
    Fields(String path, JsonNode node) {
        if (!node.isObject()) {
            throw path.isEmpty()
                    ? ApiException.wrong(400, "expected a JSON object")
                    : ApiException.wrong(path, "expected an object");
        }
        this.path = path.isEmpty() ? "" : path + ".";
        this.node = node;
    }

    /** Returns a member, or null if it is absent. */
    @Nullable
    JsonNode find(String name) {
        read.add(name);
        JsonNode member = node.get(name);
        return member == null || member.isNull() ? null : member;
    }

    /** Returns a required member. */
    JsonNode require(String name) {
        JsonNode member = find(name);
        if (member == null) {
            throw wrong(name, "is required");
        }
        return member;
    }

    String text(String name) {
        return text(name, require(name));
    }

    String text(String name, String otherwise) {
        JsonNode member = find(name);
        return member == null ? otherwise : text(name, member);
    }

    private String text(String name, JsonNode member) {
        if (!member.isTextual()) {
            throw wrong(name, "expected a string");
        }
        return member.textValue();
    }

    boolean flag(String name, boolean otherwise) {
        JsonNode member = find(name);
        if (member != null && !member.isBoolean()) {
            throw wrong(name, "expected true or false");
        }
        return member == null ? otherwise : member.booleanValue();
    }

    double number(String name, double least, double most, double otherwise) {
        JsonNode member = find(name);
        if (member == null) {
            return otherwise;
        }
        double value = member.isNumber() ? member.doubleValue() : Double.NaN;
        if (!(value >= least && value <= most)) {
            throw wrong(name, member + "; expected a number from " + least + " to " + most);
        }
        return value;
    }

    long integer(String name, long least, long most, long otherwise) {
        JsonNode member = find(name);
        if (member == null) {
            return otherwise;
        }
        if (!member.isIntegralNumber()
                || !member.canConvertToLong()
                || member.longValue() < least
                || member.longValue() > most) {
            throw wrong(name, member + "; expected an integer from " + least + " to " + most);
        }
        return member.longValue();
    }

    /** Returns the texts of a member, which is a text or a list of texts, or no texts if it is absent. */
    List<String> texts(String name, int most) {
        JsonNode member = find(name);
        if (member == null) {
            return List.of();
        }
        if (member.isTextual()) {
            return List.of(member.textValue());
        }
        if (!member.isArray() || member.size() > most) {
            throw wrong(name, "expected a string, or a list of at most " + most);
        }
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < member.size(); i++) {
            texts.add(text(name + "[" + i + "]", member.get(i)));
        }
        return texts;
    }

    /** Returns the integers of a list, or none if it is absent. */
    int[] integers(String name, long least, long most, int mostElements) {
        JsonNode member = find(name);
        if (member == null) {
            return new int[0];
        }
        if (!member.isArray() || member.size() > mostElements) {
            throw wrong(name, "expected a list of at most " + mostElements + " integers");
        }
        int[] values = new int[member.size()];
        for (int i = 0; i < values.length; i++) {
            JsonNode element = member.get(i);
            if (!element.canConvertToInt()
                    || !element.isIntegralNumber()
                    || element.intValue() < least
                    || element.intValue() > most) {
                throw wrong(name + "[" + i + "]", element + "; expected an integer from " + least + " to " + most);
            }
            values[i] = element.intValue();
        }
        return values;
    }

    /** Returns the elements of a list of objects, or none if it is absent. Fails if an object has an unknown member. */
    <T> List<T> objects(String name, Function<Fields, T> reader) {
        JsonNode member = find(name);
        if (member != null && !member.isArray()) {
            throw wrong(name, "expected a list");
        }
        List<T> all = new ArrayList<>();
        for (int i = 0; member != null && i < member.size(); i++) {
            Fields element = new Fields(path + name + "[" + i + "]", member.get(i));
            all.add(reader.apply(element));
            element.end();
        }
        return all;
    }

    /** Reads an object, or returns {@code otherwise} if it is absent. Fails if the object has an unknown member. */
    <T> T object(String name, Function<Fields, T> reader, T otherwise) {
        JsonNode member = find(name);
        if (member == null) {
            return otherwise;
        }
        Fields fields = new Fields(path + name, member);
        T value = reader.apply(fields);
        fields.end();
        return value;
    }

    /** Accepts members that do not affect answers, such as an identifier of the user. */
    Fields without(String... names) {
        read.addAll(List.of(names));
        return this;
    }

    /** Fails if a member is unknown. */
    void end() {
        node.properties().forEach(member -> {
            if (!member.getValue().isNull() && !read.contains(member.getKey())) {
                throw wrong(member.getKey(), "is not supported");
            }
        });
    }

    /** Returns the name of a member in errors. */
    String path(String name) {
        return path + name;
    }

    ApiException wrong(String name, String message) {
        return ApiException.wrong(path(name), message);
    }
}
