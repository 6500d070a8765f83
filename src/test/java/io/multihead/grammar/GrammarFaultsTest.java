package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Tries;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/**
 * Schemas, grammars and patterns with small mutations are read, or refused with a message. No other error is thrown.
 */
class GrammarFaultsTest {
    private static final String SCHEMA_PARTS =
            "{}[]:,\"0123.-e\\ntypeobjectstringintegernumbernullarraybooleanpropertiesrequireditemsenumconst$ref#/$defsanyOfallOf";
    private static final List<String> GRAMMARS = List.of(
            "root ::= \"1. \" move \" \" [a-h]{2,3} (\"x\" | \"y\"? \"z\"+)* # text\nmove ::= [^\\x00-\\x1f\\\"]* \"\\u4e2d\" .",
            "root ::= item (\",\" item)*\nitem ::= \"(\" root \")\" | [0-9]+ | \"\"\n");
    private static final List<String> PATTERNS = List.of(
            "^(?:[a-z]+\\d{2,4}|\\u00e9\\x41[^\\]\\-b-d]*?)(x|y$)+\\.\\/$", "(?<name>a|b{0,3})*\\W\\cA\\0[\\b]");

    private static String mutated(Random random, String text, String alphabet) {
        StringBuilder changed = new StringBuilder(text);
        for (int i = 1 + random.nextInt(3); i > 0 && changed.length() > 1; i--) {
            int at = random.nextInt(changed.length());
            int end = Math.min(changed.length(), at + 1 + random.nextInt(6));
            switch (random.nextInt(4)) {
                case 0 -> changed.delete(at, end);
                case 1 -> changed.insert(random.nextInt(changed.length()), changed.substring(at, end));
                case 2 -> changed.setCharAt(at, alphabet.charAt(random.nextInt(alphabet.length())));
                default -> changed.setLength(end);
            }
        }
        return changed.toString();
    }

    private static void tryAll(int tries, Function<Random, String> texts, Function<String, Object> reader) {
        int read = 0;
        int refused = 0;
        for (int seed = 0; seed < tries; seed++) {
            String text = texts.apply(new Random(seed));
            try {
                assertNotNull(reader.apply(text));
                read++;
            } catch (IllegalArgumentException expected) {
                assertNotNull(expected.getMessage(), text);
                assertTrue(expected.getMessage().contains(": "), expected + " for " + text);
                refused++;
            } catch (RuntimeException | StackOverflowError other) {
                throw new AssertionError(text, other);
            }
        }
        assertTrue(read > 0 && refused > 0, read + " read, " + refused + " refused");
    }

    private static int tries(int all) {
        return (int) Math.max(100, all * Tries.factor());
    }

    @Test
    void schemasNearlyRight() {
        tryAll(
                tries(5000),
                random -> mutated(
                        random, new RandomSchema(random).root(2).schema().toString(), SCHEMA_PARTS),
                Grammar::ofJsonSchema);
    }

    @Test
    void grammarsNearlyRight() {
        tryAll(
                tries(20_000),
                random ->
                        mutated(random, GRAMMARS.get(random.nextInt(GRAMMARS.size())), "()[]{}|*+?\"\\:=^-#\nxrot1, "),
                Grammar::ofGbnf);
    }

    @Test
    void patternsNearlyRight() {
        tryAll(
                tries(20_000),
                random -> mutated(random, PATTERNS.get(random.nextInt(PATTERNS.size())), "()[]{}|*+?\\^$-.xu0d,:<>"),
                text -> PatternParser.parse("pattern", text));
    }

    @Test
    void deepOnesAreRefused() {
        for (String deep : List.of("[".repeat(50_000), "{\"items\":".repeat(50_000), "{\"allOf\":[".repeat(30))) {
            assertThrows(IllegalArgumentException.class, () -> Grammar.ofJsonSchema(deep));
        }
        String groups = "(".repeat(50_000);
        assertThrows(IllegalArgumentException.class, () -> PatternParser.parse("pattern", groups));
        assertThrows(IllegalArgumentException.class, () -> Grammar.ofGbnf("root ::= " + groups));
    }
}
