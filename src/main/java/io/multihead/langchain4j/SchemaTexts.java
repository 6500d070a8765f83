package io.multihead.langchain4j;

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.json.JsonAnyOfSchema;
import dev.langchain4j.model.chat.request.json.JsonArraySchema;
import dev.langchain4j.model.chat.request.json.JsonBooleanSchema;
import dev.langchain4j.model.chat.request.json.JsonEnumSchema;
import dev.langchain4j.model.chat.request.json.JsonIntegerSchema;
import dev.langchain4j.model.chat.request.json.JsonNullSchema;
import dev.langchain4j.model.chat.request.json.JsonNumberSchema;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.request.json.JsonReferenceSchema;
import dev.langchain4j.model.chat.request.json.JsonSchemaElement;
import dev.langchain4j.model.chat.request.json.JsonStringSchema;
import io.multihead.decoder.ToolDefinition;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Converts langchain4j's schemas to JSON, with their descriptions. */
final class SchemaTexts {
    private static final String ANY_OBJECT = "{\"type\":\"object\"}";

    private SchemaTexts() {}

    /** Returns a tool in the form that a model's template writes; a tool without parameters has an object without properties. */
    static ToolDefinition tool(ToolSpecification tool) {
        String parameters =
                tool.parameters() == null ? "{\"type\":\"object\",\"properties\":{}}" : of(tool.parameters());
        return new ToolDefinition(tool.name(), tool.description() == null ? "" : tool.description(), parameters);
    }

    /** Returns the schema of a format in JSON. */
    static String of(ResponseFormat format) {
        return format.jsonSchema() == null ? ANY_OBJECT : of(format.jsonSchema().rootElement());
    }

    static String of(JsonSchemaElement element) {
        String json = plain(element);
        // compared by its name, since the oldest cores do not have the class
        boolean isRaw = element.getClass().getSimpleName().equals("JsonRawSchema");
        String description = isRaw ? null : element.description();
        if (description == null || description.isEmpty()) {
            return json;
        }
        return json.substring(0, json.length() - 1) + ",\"description\":" + quoted(description) + "}";
    }

    private static String plain(JsonSchemaElement element) {
        if (element instanceof JsonObjectSchema object) {
            return object(object);
        }
        if (element instanceof JsonArraySchema array) {
            return array.items() == null ? type("array") : "{\"type\":\"array\",\"items\":" + of(array.items()) + "}";
        }
        if (element instanceof JsonEnumSchema values) {
            return "{\"enum\":" + strings(values.enumValues()) + "}";
        }
        if (element instanceof JsonAnyOfSchema any) {
            return any.anyOf().stream().map(SchemaTexts::of).collect(Collectors.joining(",", "{\"anyOf\":[", "]}"));
        }
        if (element instanceof JsonReferenceSchema reference) {
            return "{\"$ref\":" + quoted("#/$defs/" + pointer(reference.reference())) + "}";
        }
        if (element instanceof JsonStringSchema) {
            return type("string");
        }
        if (element instanceof JsonIntegerSchema) {
            return type("integer");
        }
        if (element instanceof JsonNumberSchema) {
            return type("number");
        }
        if (element instanceof JsonBooleanSchema) {
            return type("boolean");
        }
        if (element instanceof JsonNullSchema) {
            return type("null");
        }
        // the last comparison, since the oldest cores do not have this class
        if (element instanceof JsonRawSchema raw) {
            return raw.schema();
        }
        throw new UnsupportedFeatureException(
                "jsonSchema: " + element.getClass().getName() + "; expected langchain4j's own elements");
    }

    private static String object(JsonObjectSchema object) {
        List<String> members = new ArrayList<>(List.of("\"type\":\"object\""));
        if (object.properties() != null) {
            members.add("\"properties\":" + members(object.properties()));
        }
        if (object.required() != null && !object.required().isEmpty()) {
            members.add("\"required\":" + strings(object.required()));
        }
        if (object.additionalProperties() != null) {
            members.add("\"additionalProperties\":" + object.additionalProperties());
        }
        if (object.definitions() != null && !object.definitions().isEmpty()) {
            members.add("\"$defs\":" + members(object.definitions()));
        }
        return "{" + String.join(",", members) + "}";
    }

    private static String members(Map<String, JsonSchemaElement> elements) {
        return elements.entrySet().stream()
                .map(member -> quoted(member.getKey()) + ":" + of(member.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static String type(String name) {
        return "{\"type\":" + quoted(name) + "}";
    }

    private static String strings(List<String> texts) {
        return texts.stream().map(SchemaTexts::quoted).collect(Collectors.joining(",", "[", "]"));
    }

    /** Returns a name as a part of a JSON pointer in a URI fragment (RFC 6901, section 3). */
    private static String pointer(String name) {
        return name.replace("~", "~0").replace("/", "~1");
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\' || c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
