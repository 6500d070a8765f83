package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

/** Schemas to which no value conforms: the error names the part without values. */
class EmptySchemaTest {
    @Test
    void schemasThatNothingSatisfiesAreRefused() {
        String none = ": no value conforms to this schema; expected a schema to which at least one value conforms";
        GrammarTest.refused("#" + none, "false");
        GrammarTest.refused("#" + none, "{\"type\":\"string\",\"enum\":[1,2]}");
        GrammarTest.refused("#" + none, "{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}");
        String property =
                "{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"null\"},\"a\":%s},\"required\":[\"a\",\"b\"]}";
        String broken = "{\"type\":\"string\",\"minLength\":5,\"maxLength\":2}";
        GrammarTest.refused("#/properties/a" + none, property.formatted(broken));
        GrammarTest.refused(
                "#/properties/a/items" + none,
                property.formatted("{\"type\":\"array\",\"minItems\":1,\"items\":" + broken + "}"));
        GrammarTest.refused(
                "#/items" + none,
                "{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":\"#/$defs/x\"},\"$defs\":{\"x\":" + broken
                        + "}}");
        GrammarTest.refused("#" + none, "{\"anyOf\":[" + broken + ",false]}");
        GrammarTest.refused(
                "#" + none, "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}");
        GrammarTest.refused("#" + none, "{\"type\":\"string\",\"pattern\":\"^a$\",\"minLength\":2}");
        // a property that may be omitted need not have values
        String other = "{\"type\":\"object\",\"properties\":{\"b\":false,\"a\":%s},\"required\":[\"a\"]}";
        GrammarTest.refused("#/properties/a" + none, other.formatted(broken));
        assertTrue(GrammarTest.allows(Grammar.ofJsonSchema(other.formatted("true")), "{\"a\": 1}"));
        String two = "{\"type\":\"object\",\"properties\":{\"a\":%1$s,\"b\":%1$s},\"required\":[\"a\",\"b\"]}";
        GrammarTest.refused("#/properties/", two.formatted(broken));
        GrammarTest.refused(none, two.formatted(broken));
        String ofRule = assertThrows(
                        IllegalArgumentException.class,
                        () -> Grammar.ofGbnf(
                                "root ::= good bad",
                                Map.of("good", "true", "bad", property.formatted(broken)),
                                Map.of()))
                .getMessage();
        assertTrue(ofRule.startsWith("bad: #/properties/a" + none), ofRule);
        GrammarTest.refused("refers only to itself", "{\"$ref\":\"#\"}");
        GrammarTest.refused("refers only to itself", "{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"}]}");
    }
}
