package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.multihead.support.Tries;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The public test suite of JSON Schema, from the npm package json-schema-test-suite 0.0.10 (its license is next to it):
 * draft 4. Schemas with parts that draft 2020-12 changed are refused. Values that the suite calls invalid are never
 * allowed.
 */
class SchemaSuiteTest {
    private static final TokenVocabulary VOCABULARY = new TokenVocabulary(new PlainVocabulary(600));
    /** A schema in which a keyword has no effect in draft 4, but has an effect in draft 2020-12. */
    private static final String OTHER_MEANING = "ref overrides any sibling keywords";

    /** Groups of the suite that are refused, each with the location that the error names. */
    private static final List<String> REFUSED = List.of(
            "items: an array of schemas for items #/items",
            "maximum: exclusiveMaximum validation #/exclusiveMaximum",
            "minimum: exclusiveMinimum validation #/exclusiveMinimum",
            "not: not #/not",
            "not: not multiple types #/not",
            "not: not more complex schema #/not",
            "not: forbidden property #/properties/foo/not",
            "oneOf: oneOf #/oneOf",
            "oneOf: oneOf with base schema #/oneOf",
            "ref: relative pointer ref to array #/items",
            "ref: escaped pointer ref #/tilda~0field",
            "ref: remote ref, containing refs itself #/$ref",
            "uniqueItems: uniqueItems validation #/uniqueItems",
            "definitions: valid definition #/$ref",
            "definitions: invalid definition #/$ref");

    /**
     * Valid values that the grammar does not allow: they have properties that the schema does not describe, or
     * properties in an order that differs from the schema's.
     */
    private static final List<String> NOT_WRITTEN = List.of(
            "additionalProperties: additionalProperties are allowed by default, additional properties are allowed",
            "allOf: allOf with base schema, valid",
            "allOf: allOf, allOf",
            "patternProperties: regexes are not anchored by default and are case sensitive, non recognized members are ignored",
            "patternProperties: regexes are not anchored by default and are case sensitive, regexes are case sensitive",
            "properties: object properties validation, doesn't invalidate other properties");

    @Test
    void whatIsInvalidIsNotAllowed() throws Exception {
        int allowed = 0;
        int forbidden = 0;
        List<String> refused = new ArrayList<>();
        List<String> notWritten = new ArrayList<>();
        for (var file : suite().properties()) {
            for (JsonNode group : file.getValue()) {
                String name = file.getKey() + ": " + group.get("description").textValue();
                Grammar grammar = name.contains(OTHER_MEANING) ? null : compile(group.get("schema"), name, refused);
                if (grammar == null) {
                    continue;
                }
                walk(grammar, group.get("schema"), name);
                for (JsonNode test : group.get("tests")) {
                    String text = test.get("data").toString();
                    String fault = GrammarWalk.force(grammar.begin(VOCABULARY), VOCABULARY, text);
                    String context = name + ", " + test.get("description").textValue();
                    if (!test.get("valid").booleanValue()) {
                        assertFalse(fault.isEmpty(), context + ": " + text);
                        forbidden++;
                    } else if (fault.isEmpty()) {
                        allowed++;
                    } else {
                        notWritten.add(context);
                    }
                }
            }
        }
        assertEquals(REFUSED, refused);
        assertEquals(NOT_WRITTEN, notWritten.stream().sorted().toList());
        assertTrue(allowed >= 80 && forbidden >= 97, allowed + " and " + forbidden);
    }

    private static JsonNode suite() throws Exception {
        try (InputStream in = SchemaSuiteTest.class.getResourceAsStream("/json-schema-test-suite/draft4.json")) {
            return SchemaOracle.MAPPER.readTree(in);
        }
    }

    private static Grammar compile(JsonNode schema, String name, List<String> refused) {
        try {
            return Grammar.ofJsonSchema(schema.toString());
        } catch (IllegalArgumentException notSupported) {
            String message = notSupported.getMessage();
            refused.add(name + " " + message.substring(0, message.indexOf(": ")));
            return null;
        }
    }

    private static void walk(Grammar grammar, JsonNode schema, String name) throws Exception {
        SchemaOracle oracle = new SchemaOracle(schema.toString());
        int texts = (int) Math.max(5, 50 * Tries.factor());
        for (int seed = 0; seed < texts; seed++) {
            GrammarWalk walk = new GrammarWalk(VOCABULARY, new Random(seed));
            byte[] bytes = walk.run(grammar.begin(VOCABULARY), 200);
            if (walk.ended) {
                assertEquals("", oracle.faults(bytes), () -> name + ": " + walk.text());
            }
        }
    }
}
