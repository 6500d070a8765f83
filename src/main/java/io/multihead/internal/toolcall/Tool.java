package io.multihead.internal.toolcall;

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
    private static final Set<String> SCALARS = Set.of("integer", "number", "boolean", "null");

    private static final List<String> DEFINITIONS = List.of("$defs", "definitions");

    Map<String, @Nullable Object> schema() {
        return Json.object("parameters", parameters.getBytes(StandardCharsets.UTF_8));
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

    /** Fails unless the schema lists arguments and nothing else, so that each of them can be written alone. */
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

    /** Returns the schema of one argument as JSON, with the definitions that it may refer to. */
    String property(String name) {
        Map<String, @Nullable Object> alone = new LinkedHashMap<>();
        properties().getOrDefault(name, Map.of()).forEach((key, value) -> alone.put((String) key, value));
        Map<String, @Nullable Object> all = schema();
        DEFINITIONS.stream().filter(all::containsKey).forEach(key -> alone.put(key, all.get(key)));
        return JsonWriter.write("parameters", alone);
    }

    /** Returns whether an argument is a text, as far as the schema says so; one without a schema is not. */
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

    /** Returns whether all values that a schema allows are numbers, booleans or null, as far as its types say so. */
    static boolean isScalar(Map<?, ?> schema) {
        Object type = schema.get("type");
        return type instanceof List<?> types ? SCALARS.containsAll(types) : type != null && SCALARS.contains(type);
    }
}
