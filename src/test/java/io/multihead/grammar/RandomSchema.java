package io.multihead.grammar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.util.List;
import java.util.Random;

/** Random schemas, each with a valid value whose members have the order of the schema's properties. */
final class RandomSchema {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final List<String> NAMES = List.of(
            "id", "name", "a", "ab", "abc", "größe", "x\"y", "back\\slash", "tags", "中文", "line\nfeed", "id2", "");
    private static final List<List<String>> PATTERNS = List.of(
            List.of("^[a-c]{2,4}$", "abca"),
            List.of("ab", "xxabyy"),
            List.of("^(foo|ba[rz])+$", "foobarbaz"),
            List.of("^\\d{3}-\\d{4}$", "555-0199"),
            List.of("^[^\"]*$", "äöü\\"),
            List.of("^a|b$", "b"),
            List.of("^\\u00e9+[\\w\\-]?$", "éé_"));
    private static final List<List<String>> FORMATS = List.of(
            List.of("date", "2024-02-29"),
            List.of("date-time", "2023-12-31T23:59:59.5+01:00"),
            List.of("time", "08:30:00Z"),
            List.of("ipv4", "192.168.0.255"),
            List.of("uuid", "123e4567-e89b-12d3-a456-426614174000"));

    /** A schema and a value. */
    record Example(ObjectNode schema, JsonNode value) {}

    private final Random random;
    private final List<String> names;

    RandomSchema(Random random) {
        this(random, NAMES);
    }

    private RandomSchema(Random random, List<String> names) {
        this.random = random;
        this.names = names;
    }

    /** Returns schemas with names that can be written without quotation marks. */
    static RandomSchema withPlainNames(Random random) {
        return new RandomSchema(
                random, NAMES.stream().filter(name -> name.matches("\\S+")).toList());
    }

    /**
     * Returns a schema with at most {@code depth} levels of nesting. The outermost schema sometimes has a recursive
     * definition.
     */
    Example root(int depth) {
        Example example = any(depth);
        if (random.nextInt(4) > 0 || example.schema.has("$defs")) {
            return example;
        }
        ObjectNode list = JSON.objectNode().put("type", "object").put("additionalProperties", false);
        ObjectNode properties = list.putObject("properties");
        properties.set("value", example.schema);
        properties.putObject("next").put("$ref", "#/$defs/list");
        list.putArray("required").add("value");
        ObjectNode schema = JSON.objectNode().put("$ref", "#/$defs/list");
        schema.putObject("$defs").set("list", list);
        ObjectNode inner = JSON.objectNode();
        inner.set("value", example.value);
        ObjectNode outer = JSON.objectNode();
        outer.set("value", example.value);
        outer.set("next", inner);
        return new Example(schema, random.nextBoolean() ? outer : inner);
    }

    private Example any(int depth) {
        return switch (random.nextInt(depth > 0 ? 13 : 8)) {
            case 0 -> new Example(JSON.objectNode().put("type", "null"), JSON.nullNode());
            case 1 -> new Example(JSON.objectNode().put("type", "boolean"), JSON.booleanNode(random.nextBoolean()));
            case 2 -> integer();
            case 3 -> decimal();
            case 4, 5 -> string();
            case 6, 7 -> named();
            case 8, 9, 10 -> object(depth);
            case 11 -> array(depth);
            default -> combined(depth);
        };
    }

    private Example integer() {
        ObjectNode schema = JSON.objectNode().put("type", "integer");
        long value = random.nextInt(2000) - 1000;
        if (random.nextBoolean()) {
            schema.put("minimum", value - random.nextInt(50));
        }
        if (random.nextBoolean()) {
            schema.put("exclusiveMaximum", value + 1 + random.nextInt(500));
        }
        if (random.nextInt(3) == 0) {
            int step = random.nextInt(9) + 1;
            schema.put("multipleOf", step);
            value = value * step;
            schema.remove("exclusiveMaximum");
            // the validator divides in double, which is exact for these values only
            schema.put("minimum", -1_000_000).put("maximum", value);
        }
        return new Example(schema, JSON.numberNode(value));
    }

    private Example decimal() {
        ObjectNode schema = JSON.objectNode().put("type", "number");
        BigDecimal value = BigDecimal.valueOf(random.nextInt(20000) - 10000, random.nextInt(4));
        switch (random.nextInt(4)) {
            case 0 -> schema.put("minimum", value.subtract(BigDecimal.valueOf(random.nextInt(300), 2)));
            case 1 -> schema.put("maximum", value.add(BigDecimal.valueOf(random.nextInt(300), 2)));
            case 2 -> {
                schema.put("exclusiveMinimum", value.subtract(new BigDecimal("0.001")));
                schema.put("exclusiveMaximum", value.add(new BigDecimal("12.5")));
            }
            default -> {
                value = BigDecimal.valueOf(25L * random.nextInt(100), 2);
                schema.put("multipleOf", new BigDecimal("0.25"));
                schema.put("minimum", -1000).put("maximum", 1e6);
            }
        }
        return new Example(schema, JSON.numberNode(value));
    }

    private Example string() {
        ObjectNode schema = JSON.objectNode().put("type", "string");
        String value = "täxt \ud83d\ude00 \"quoted\"".substring(0, random.nextInt(5));
        switch (random.nextInt(4)) {
            case 0 -> {
                List<String> pattern = PATTERNS.get(random.nextInt(PATTERNS.size()));
                schema.put("pattern", pattern.get(0));
                value = pattern.get(1);
            }
            case 1 -> {
                List<String> format = FORMATS.get(random.nextInt(FORMATS.size()));
                schema.put("format", format.get(0));
                value = format.get(1);
            }
            case 2 -> {
                int length = value.length();
                schema.put("minLength", random.nextInt(length + 1)).put("maxLength", length + random.nextInt(30));
            }
            default -> {}
        }
        return new Example(schema, JSON.textNode(value));
    }

    private Example named() {
        ArrayNode values = JSON.arrayNode()
                .add("red")
                .add("re")
                .add(7)
                .add(false)
                .addNull()
                .add("gr\u00fcn\n");
        values.addObject().put("k", 1.5).putArray("l").add("m");
        JsonNode value = values.get(random.nextInt(values.size()));
        ObjectNode schema = JSON.objectNode();
        if (random.nextBoolean()) {
            schema.set("const", value);
        } else {
            schema.set("enum", values);
        }
        return new Example(schema, value);
    }

    private Example object(int depth) {
        ObjectNode schema = JSON.objectNode().put("type", "object");
        ObjectNode properties = schema.putObject("properties");
        ArrayNode required = JSON.arrayNode();
        ObjectNode value = JSON.objectNode();
        for (String name : names) {
            if (random.nextInt(4) == 0) {
                Example example = any(depth - 1);
                properties.set(name, example.schema);
                boolean needed = random.nextBoolean();
                if (needed) {
                    required.add(name);
                }
                if (needed || random.nextBoolean()) {
                    value.set(name, example.value);
                }
            }
        }
        schema.set("required", required);
        switch (random.nextInt(5)) {
            case 0 -> schema.put("additionalProperties", false);
            case 1 -> {
                Example other = any(depth - 1);
                schema.set("additionalProperties", other.schema);
                value.set("other", other.value);
            }
            case 2 -> {
                schema.putObject("patternProperties").putObject("^p_").put("type", "integer");
                value.put("p_x", 3);
            }
            default -> {}
        }
        if (random.nextInt(4) == 0) {
            schema.put("maxProperties", value.size() + random.nextInt(2));
        }
        if (random.nextInt(4) == 0) {
            schema.put("minProperties", Math.min(value.size(), properties.size()));
        }
        return new Example(schema, value);
    }

    private Example array(int depth) {
        ObjectNode schema = JSON.objectNode().put("type", "array");
        ArrayNode value = JSON.arrayNode();
        Example item = any(depth - 1);
        if (random.nextInt(3) == 0) {
            Example first = any(depth - 1);
            schema.putArray("prefixItems").add(first.schema);
            value.add(first.value);
        }
        schema.set("items", item.schema);
        for (int i = random.nextInt(3); i > 0; i--) {
            value.add(item.value);
        }
        if (random.nextBoolean()) {
            schema.put("minItems", random.nextInt(value.size() + 1));
        }
        if (random.nextBoolean()) {
            schema.put("maxItems", value.size() + random.nextInt(3));
        }
        return new Example(schema, value);
    }

    private Example combined(int depth) {
        ObjectNode schema = JSON.objectNode();
        Example one = any(depth - 1);
        Example other = any(depth - 1);
        if (random.nextBoolean()) {
            schema.putArray("anyOf").add(one.schema).add(other.schema);
            return new Example(schema, random.nextBoolean() ? one.value : other.value);
        }
        ObjectNode first = JSON.objectNode().put("type", "object");
        first.putObject("properties").set("first", one.schema);
        ObjectNode second = JSON.objectNode();
        second.putObject("properties").set("second", other.schema);
        second.putArray("required").add("second");
        schema.putArray("allOf").add(first).add(second);
        ObjectNode value = JSON.objectNode();
        value.set("first", one.value);
        value.set("second", other.value);
        return new Example(schema, value);
    }
}
