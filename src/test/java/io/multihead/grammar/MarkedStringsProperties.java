package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.multihead.decoder.ToolCall;
import io.multihead.decoder.ToolCallFormat;
import io.multihead.support.Tries;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Calls in the form of Gemma's templates, with random schemas. Every complete call has valid arguments according to an
 * independent validator. Every schema's example can be written in the form of the template, and is read back unchanged.
 */
class MarkedStringsProperties {
    private static final int SCHEMAS = 1000;
    private static final String MARK = "<|\"|>";
    private static final String CALL = "<|tool_call>call:f%s<tool_call|>";
    private static final String RULES = "root ::= \"<|tool_call>call:f\" arguments \"<tool_call|>\"";

    private static Grammar grammar(String schema) {
        return Grammar.ofGbnf(RULES, Map.of("arguments", schema), Map.of(), Map.of("arguments", MARK));
    }

    /** Returns the schema of an object with one argument. */
    private static ObjectNode wrapped(ObjectNode of) {
        ObjectNode schema = JsonNodeFactory.instance.objectNode().put("type", "object");
        ObjectNode value = of.deepCopy();
        JsonNode definitions = value.remove("$defs");
        schema.putObject("properties").set("value", value);
        schema.putArray("required").add("value");
        schema.put("additionalProperties", false);
        return definitions == null ? schema : schema.set("$defs", definitions);
    }

    /**
     * Writes a value like {@code format_argument} of the template, which sorts names. Here, names that no schema has
     * are last.
     */
    private static String written(JsonNode value) {
        List<String> parts = new ArrayList<>();
        if (value.isTextual()) {
            return MARK + value.textValue() + MARK;
        }
        if (value.isArray()) {
            value.forEach(element -> parts.add(written(element)));
            return "[" + String.join(",", parts) + "]";
        }
        if (!value.isObject()) {
            return value.toString();
        }
        List<String> names = new ArrayList<>();
        value.fieldNames().forEachRemaining(names::add);
        Set<String> others = Set.of("other", "p_x");
        names.sort(Comparator.comparing((String name) -> others.contains(name))
                .thenComparing(name -> name.toLowerCase(Locale.ROOT)));
        names.forEach(name -> parts.add(name + ":" + written(value.get(name))));
        return "{" + String.join(",", parts) + "}";
    }

    private static JsonNode read(String text) throws Exception {
        List<ToolCall> calls = ToolCallFormat.GEMMA_4.parse(text).toolCalls();
        assertEquals(1, calls.size(), text);
        assertEquals("f", calls.getFirst().name(), text);
        return SchemaOracle.MAPPER.readTree(calls.getFirst().arguments());
    }

    @Test
    void callsAreValidAndExamplesAreAllowed() throws Exception {
        TokenVocabulary[] vocabularies = {
            new TokenVocabulary(new PlainVocabulary(258)), new TokenVocabulary(new PlainVocabulary(3000))
        };
        TokenVocabulary withToken = new TokenVocabulary(new PlainVocabulary(1000, MARK));
        int schemas = (int) Math.max(25, SCHEMAS * Tries.factor());
        int ended = 0;
        for (int seed = 0; seed < schemas; seed++) {
            Random random = new Random(seed);
            RandomSchema.Example example = RandomSchema.withPlainNames(random).root(3);
            String schema = wrapped(example.schema()).toString();
            String context = "seed " + seed + ": " + schema;
            SchemaOracle oracle = new SchemaOracle(schema);
            JsonNode wanted = JsonNodeFactory.instance.objectNode().set("value", example.value());
            Grammar grammar = grammar(schema);
            TokenVocabulary vocabulary = vocabularies[seed % vocabularies.length];
            String call = CALL.formatted(written(wanted));
            assertEquals("", GrammarWalk.force(grammar.begin(vocabulary), vocabulary, call), context + "\n" + call);
            assertEquals(SchemaOracle.MAPPER.readTree(wanted.toString()), read(call), context);
            for (int text = 0; text < 3; text++) {
                TokenVocabulary of = text == 0 ? withToken : vocabulary;
                GrammarWalk walk = new GrammarWalk(of, random);
                byte[] bytes = walk.run(grammar.begin(of), 500);
                if (walk.ended) {
                    ended++;
                    String made = new String(bytes, StandardCharsets.UTF_8);
                    assertEquals("", oracle.faults(read(made)), context + "\n" + made);
                }
            }
        }
        // the other texts are long strings, numbers and lists
        assertTrue(ended > schemas * 3 * 0.4, ended + " texts of " + schemas * 3 + " ended");
    }

    private static String refused(String schema) {
        return assertThrows(IllegalArgumentException.class, () -> grammar(schema), schema)
                .getMessage();
    }

    @Test
    void valuesThatHaveTheMarkAreRefusedByTheirPlace() {
        String property = "{\"type\": \"object\", \"properties\": {\"a\": {\"items\": %s}}}";
        String named = "{\"const\": \"x<|\\\"|>y\"}";
        assertTrue(
                refused(property.formatted(named)).contains("#/properties/a/items: x<|\"|>y; expected a text without"));
        String object = "{\"enum\": [{\"k\": [\"<|\\\"|>\"]}]}";
        assertTrue(refused(property.formatted(object)).contains("#/properties/a/items: "));
        for (String name : List.of("", "a b", "a:b", "a,b", "a}", "<a", "a\\n")) {
            String schema = "{\"properties\": {\"%s\": {\"type\": \"null\"}}}".formatted(name);
            String decoded = name.replace("\\n", "\n");
            String message = "#/properties/" + decoded + ": a name \"" + decoded
                    + "\"; expected one or more characters, none of them ";
            assertTrue(refused(schema).contains(message), schema);
            assertTrue(refused(property.formatted(schema)).contains("#/properties/a/items/properties/"), schema);
        }
        assertTrue(refused("{\"pattern\": \"^<\\\\|\\\"\\\\|>$\", \"type\": \"string\"}")
                .contains("no value conforms to this schema"));
    }

    @Test
    void stringsHaveNoMarkAndKeepWhatJsonEscapes() throws Exception {
        TokenVocabulary vocabulary = new TokenVocabulary(new PlainVocabulary(258));
        Grammar grammar = grammar("{\"properties\": {\"a\": {\"type\": \"string\"}, \"B\": {\"type\": \"null\"}}}");
        for (String text :
                List.of("", "\"", "\\", "{a:[1,2]}", " <|\"|", "<|<|", "<tool_call|>", "\n\t\u0001", "\ud83d\ude00")) {
            String call = CALL.formatted("{a:" + MARK + text + MARK + ",B:None}");
            assertEquals("", GrammarWalk.force(grammar.begin(vocabulary), vocabulary, call), call);
            assertEquals(text, read(call).path("a").textValue(), call);
            assertTrue(read(call).path("B").isNull(), call);
        }
        String closed = CALL.formatted("{a:" + MARK + "x" + MARK + "y" + MARK + "}");
        assertTrue(
                GrammarWalk.force(grammar.begin(vocabulary), vocabulary, closed).startsWith("after"), closed);
    }

    @Test
    void wrongMarksAreRefused() {
        Map<String, String> schemas = Map.of("arguments", "{}");
        for (Map<String, String> marks : List.of(Map.of("other", MARK), Map.of("arguments", ""))) {
            String message = assertThrows(
                            IllegalArgumentException.class, () -> Grammar.ofGbnf(RULES, schemas, Map.of(), marks))
                    .getMessage();
            assertTrue(message.startsWith("stringMarks."), message);
        }
    }
}
