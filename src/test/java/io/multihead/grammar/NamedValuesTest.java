package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.CpuTime;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Values that schemas list in {@code enum} and {@code const}. */
class NamedValuesTest {
    /** A comparison of each value with all others would take minutes. */
    @Test
    void manyNamedValuesAreComparedByTheirKeys() throws Exception {
        CpuTime.within(60, () -> {
            compareManyNamedValues();
            return true;
        });
    }

    private static void compareManyNamedValues() {
        int count = 100_000;
        String all = IntStream.range(0, count).mapToObj(i -> "\"v" + i + "\"").collect(Collectors.joining(","));
        String odd = IntStream.range(0, count / 2)
                .mapToObj(i -> "\"v" + (2 * i + 1) + "\"")
                .collect(Collectors.joining(","));
        Grammar grammar = Grammar.ofJsonSchema("{\"allOf\":[{\"enum\":[" + all
                + "],\"pattern\":\"^v[0-9]*$\"},{\"enum\":[" + odd + "],\"minLength\":2}]}");
        assertTrue(GrammarTest.allows(grammar, "\"v99999\""));
        assertFalse(GrammarTest.allows(grammar, "\"v99998\""));
        String items = IntStream.range(0, 20_000).mapToObj(String::valueOf).collect(Collectors.joining(","));
        Grammar list = Grammar.ofJsonSchema("{\"const\":[" + items + "],\"items\":{\"enum\":[" + items + "]}}");
        assertTrue(GrammarTest.allows(list, "[" + items + "]"));
        GrammarTest.refused(
                "no value conforms to this schema",
                "{\"const\":[" + items + ",-1],\"items\":{\"enum\":[" + items + "]}}");
    }

    /**
     * Numbers are compared by value, and objects without regard to order. Values of different JSON types are never
     * equal.
     */
    @Test
    void namedValuesAreEqualAsJson() {
        String schema = "{\"allOf\":[{\"enum\":%s},{\"enum\":%s}]}";
        for (String[] same : new String[][] {
            {"[1.0]", "[1]"},
            {"[100]", "[1e2]"},
            {"[0]", "[-0.00]"},
            {"[{\"a\":1,\"b\":[2]}]", "[{\"b\":[2.0],\"a\":1}]"},
            {"[null]", "[null]"},
            {"[[]]", "[[]]"}
        }) {
            Grammar.ofJsonSchema(schema.formatted(same[0], same[1]));
        }
        for (String[] other : new String[][] {
            {"[1]", "[\"1\"]"},
            {"[1]", "[true]"},
            {"[0]", "[false]"},
            {"[null]", "[\"NULL\"]"},
            {"[{}]", "[[]]"},
            {"[{\"a\":1}]", "[{\"a\":1,\"b\":1}]"},
            {"[[1,2]]", "[[2,1]]"}
        }) {
            GrammarTest.refused("no value conforms to this schema", schema.formatted(other[0], other[1]));
        }
    }
}
