package io.multihead.internal.toolcall;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A tool by its name and the JSON schema of its arguments. */
public record Tool(String name, String parameters) {
    private static final Set<String> FLAT_KEYWORDS = Set.of(
            "type",
            "properties",
            "required",
            "additionalProperties",
            "$defs",
            "definitions",
            "description",
            "title",
            "$schema");
    private static final List<String> DEFINITIONS = List.of("$defs", "definitions");
    private static final String OBJECT = "object";

    /** Returns the keywords of the schema, with exact numbers. */
    @SuppressWarnings("unchecked")
    Map<String, @Nullable Object> schema() {
        Object schema = Json.exact("parameters", parameters.getBytes(StandardCharsets.UTF_8));
        return (Map<String, @Nullable Object>) Checks.notNull(schema, "parameters");
    }

    /** Returns the schema with the type of arguments, which are always an object. */
    String objectSchema() {
        Map<String, @Nullable Object> schema = new LinkedHashMap<>(schema());
        Object type = schema.getOrDefault("type", OBJECT);
        if (!OBJECT.equals(type) && !(type instanceof List<?> types && types.contains(OBJECT))) {
            throw new IllegalArgumentException("tools." + name + ".parameters.type: " + type + "; expected " + OBJECT
                    + ", as arguments of a call are one");
        }
        return OBJECT.equals(schema.put("type", OBJECT)) ? parameters : JsonWriter.write("parameters", schema);
    }

    /** Returns the schemas of arguments by their names, as far as the schema lists them. */
    Map<String, Map<?, ?>> properties() {
        Map<String, Map<?, ?>> properties = new LinkedHashMap<>();
        if (schema().get("properties") instanceof Map<?, ?> map) {
            map.forEach(
                    (name, schema) -> properties.put((String) name, schema instanceof Map<?, ?> of ? of : Map.of()));
        }
        return properties;
    }

    boolean isRequired(String property) {
        return schema().get("required") instanceof List<?> names && names.contains(property);
    }

    /** Fails unless the schema only lists arguments, so that each of them can be written separately. */
    void requireFlat() {
        for (String keyword : schema().keySet()) {
            if (!FLAT_KEYWORDS.contains(keyword)) {
                throw new IllegalArgumentException(
                        "tools." + name + ".parameters." + keyword
                                + ": a keyword beside properties; expected none, as calls of this model write each argument alone");
            }
        }
        if (schema().get("required") instanceof List<?> names
                && !properties().keySet().containsAll(names)) {
            throw new IllegalArgumentException(
                    "tools." + name + ".parameters.required: " + names + "; expected names of properties");
        }
    }

    /** Returns the schema of one argument as JSON, with the definitions to which it may refer. */
    String property(String name) {
        Map<String, @Nullable Object> alone = new LinkedHashMap<>();
        properties().getOrDefault(name, Map.of()).forEach((key, value) -> alone.put((String) key, value));
        Map<String, @Nullable Object> all = schema();
        DEFINITIONS.stream().filter(all::containsKey).forEach(key -> alone.put(key, all.get(key)));
        return JsonWriter.write("parameters", alone);
    }

    /** Returns whether the schema states that an argument is a text; an argument without a schema is not a text. */
    static boolean isText(List<Tool> tools, String tool, String argument) {
        return tools.stream()
                .filter(each -> each.name.equals(tool))
                .map(each -> each.properties().getOrDefault(argument, Map.of()))
                .anyMatch(Tool::isText);
    }

    /** Returns whether all values that a schema names are texts. */
    static boolean isText(Map<?, ?> schema) {
        boolean named =
                schema.get("enum") instanceof List<?> values && values.stream().allMatch(String.class::isInstance);
        return "string".equals(schema.get("type")) || named || schema.get("const") instanceof String;
    }
}
