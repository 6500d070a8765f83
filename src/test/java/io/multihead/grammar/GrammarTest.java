package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.CpuTime;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The texts that grammars allow, byte by byte, and the errors that name unsupported parts. */
class GrammarTest {
    private static final TokenVocabulary BYTES = new TokenVocabulary(new PlainVocabulary(258));
    private static final int FIRST_BYTE = 2;

    static boolean allows(Grammar grammar, String text) {
        return allows(grammar, text.getBytes(StandardCharsets.UTF_8));
    }

    private static boolean allows(Grammar grammar, byte[] text) {
        TokenFilter filter = grammar.begin(BYTES);
        for (byte value : text) {
            int token = FIRST_BYTE + (value & 0xff);
            boolean allowed = mask(filter).allows(token);
            if (allowed) {
                filter.accept(token);
            } else {
                assertThrows(IllegalArgumentException.class, () -> filter.accept(token));
                return false;
            }
        }
        return mask(filter).allows(PlainVocabulary.END);
    }

    private static TokenMask mask(TokenFilter filter) {
        TokenMask mask = new TokenMask(BYTES.size());
        filter.restrict(mask);
        return mask;
    }

    static void refused(String expected, String schema) {
        String message = assertThrows(IllegalArgumentException.class, () -> Grammar.ofJsonSchema(schema), schema)
                .getMessage();
        assertTrue(message.contains(expected), message + " has no " + expected);
    }

    @Test
    void stringsAreJsonStrings() {
        Grammar grammar = Grammar.ofJsonSchema("{\"type\": \"string\"}");
        for (String valid : List.of(
                "\"\"",
                "\"aé中😀\"",
                "\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t\"",
                "\"\\u00e9\\uD83D\\uDE00\"",
                "\"\\uffff\\u007F\"")) {
            assertTrue(allows(grammar, valid), valid);
        }
        for (String wrong : List.of(
                "",
                "\"",
                "\"a",
                "a",
                "\"\n\"",
                "\"\t\"",
                "\"\u0000\"",
                "\"\\x\"",
                "\"\\u12\"",
                "\"\\ud83d\"",
                "\"\\ude00\"",
                "\"\\ud83d\\u0041\"",
                "\"a\"b",
                " \"a\"",
                "\"a\" ",
                "'a'")) {
            assertFalse(allows(grammar, wrong), wrong);
        }
        byte[][] noUtf8 = {
            {'"', (byte) 0xc0, (byte) 0xaf, '"'}, {'"', (byte) 0xed, (byte) 0xa0, (byte) 0x80, '"'},
            {'"', (byte) 0xf4, (byte) 0x90, (byte) 0x80, (byte) 0x80, '"'}, {'"', (byte) 0xe4, (byte) 0xb8, '"'},
            {'"', (byte) 0x80, '"'}, {'"', (byte) 0xff, '"'}
        };
        for (byte[] bytes : noUtf8) {
            assertFalse(allows(grammar, bytes), java.util.HexFormat.of().formatHex(bytes));
        }
    }

    @Test
    void lengthsCountCodePoints() {
        Grammar grammar = Grammar.ofJsonSchema("{\"type\": \"string\", \"minLength\": 2, \"maxLength\": 3}");
        assertFalse(allows(grammar, "\"😀\""));
        assertTrue(allows(grammar, "\"😀😀\""));
        assertTrue(allows(grammar, "\"a\\n\\ud83d\\ude00\""));
        assertFalse(allows(grammar, "\"abcd\""));
        Grammar matching = Grammar.ofJsonSchema("{\"type\": \"string\", \"pattern\": \"^[é😀]+$\", \"maxLength\": 2}");
        assertTrue(allows(matching, "\"é😀\""));
        assertFalse(allows(matching, "\"é😀é\""));
    }

    @Test
    void numbersAreComparedDigitByDigit() {
        List<String> bounds = List.of("0", "1", "-1", "0.5", "-0.25", "99.95", "100", "-120.001", "7e2", "-13");
        List<String> numbers = List.of(
                "0",
                "-0",
                "0.0",
                "1",
                "-1",
                "0.4999",
                "0.5",
                "0.50",
                "0.500001",
                "-0.25",
                "-0.250",
                "-0.2500001",
                "-0.24",
                "99.9",
                "99.95",
                "99.9500",
                "99.951",
                "100",
                "99",
                "101",
                "-120.001",
                "-120.0010",
                "-120.0011",
                "-121",
                "700",
                "699.999",
                "700.00001",
                "1000",
                "-13",
                "-12.9",
                "-13.1",
                "5",
                "50",
                "999999999999999999");
        for (String bound : bounds) {
            for (String keyword : List.of("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")) {
                Grammar grammar = Grammar.ofJsonSchema("{\"type\": \"number\", \"" + keyword + "\": " + bound + "}");
                for (String number : numbers) {
                    int order = new BigDecimal(number).compareTo(new BigDecimal(bound));
                    boolean expected = keyword.contains("in")
                                    && keyword.toLowerCase(java.util.Locale.ROOT)
                                            .contains("minimum")
                            ? order > 0 || order == 0 && keyword.equals("minimum")
                            : order < 0 || order == 0 && keyword.equals("maximum");
                    assertEquals(expected, allows(grammar, number), keyword + " " + bound + ": " + number);
                }
            }
        }
        Grammar free = Grammar.ofJsonSchema("{\"type\": \"number\"}");
        for (String number : List.of("1e5", "-1.5E-07", "0.1e+3", "0")) {
            assertTrue(allows(free, number), number);
        }
        for (String wrong : List.of("", "-", "01", "1.", ".5", "+1", "1e", "1e999", "0x1", "NaN", "1 ", "--1")) {
            assertFalse(allows(free, wrong), wrong);
        }
    }

    @Test
    void multiplesAreExact() {
        Random random = new Random(1);
        for (String step : List.of("7", "0.25", "0.01", "12", "1000", "0.007", "30")) {
            Grammar grammar = Grammar.ofJsonSchema("{\"type\": \"number\", \"multipleOf\": " + step + "}");
            for (int i = 0; i < 100; i++) {
                BigDecimal number = i % 2 == 0
                        ? new BigDecimal(step).multiply(BigDecimal.valueOf(random.nextInt(100_000) - 50_000))
                        : BigDecimal.valueOf(random.nextInt(1_000_000), new BigDecimal(step).scale());
                boolean multiple = number.remainder(new BigDecimal(step)).signum() == 0;
                assertEquals(multiple, allows(grammar, number.toPlainString()), number + " of " + step);
            }
        }
        Grammar both = Grammar.ofJsonSchema("{\"type\":\"integer\",\"allOf\":[{\"multipleOf\":4},{\"multipleOf\":6}]}");
        assertTrue(allows(both, "36"));
        assertFalse(allows(both, "18"));
        assertFalse(allows(both, "16"));
    }

    @Test
    void patternsMatchAsTheJdkDoes() {
        List<String> patterns = List.of(
                "a",
                "^a",
                "a$",
                "^(a|b)*c?$",
                "^a{2,3}b{0}c{1,}$",
                "[a-b]c|^c",
                "^[^a]*$",
                "(^a|b$)",
                "^(?:ab)+?$",
                "a.c",
                "^$",
                "^(a(b(c)?)?)?$",
                "\\w\\d?$",
                "^(a|ab)(c|bcd)(d*)$");
        Random random = new Random(2);
        for (String pattern : patterns) {
            Dfa dfa = PatternParser.parse("pattern", pattern);
            Pattern expected = Pattern.compile(pattern);
            for (int i = 0; i < 200; i++) {
                StringBuilder text = new StringBuilder();
                for (int length = random.nextInt(6); length > 0; length--) {
                    text.append("abcd1".charAt(random.nextInt(5)));
                }
                boolean found = expected.matcher(text).find();
                assertEquals(found, dfa.matches(text.toString()), pattern + " in \"" + text + "\"");
            }
        }
    }

    @Test
    void datesAreThoseOfTheCalendar() {
        Grammar grammar = Grammar.ofJsonSchema("{\"type\": \"string\", \"format\": \"date\"}");
        for (int year : new int[] {1900, 2000, 2023, 2024, 2100}) {
            for (int month = 0; month <= 13; month++) {
                for (int day = 0; day <= 32; day++) {
                    String date = "%04d-%02d-%02d".formatted(year, month, day);
                    boolean exists = true;
                    try {
                        LocalDate.parse(date);
                    } catch (java.time.DateTimeException none) {
                        exists = false;
                    }
                    assertEquals(exists, allows(grammar, "\"" + date + "\""), date);
                }
            }
        }
    }

    @Test
    void whatIsNotSupportedIsRefusedByItsPlace() {
        refused("#/properties/a/not", "{\"type\":\"object\",\"properties\":{\"a\":{\"not\":{}}}}");
        refused("#/uniqueItems", "{\"type\":\"array\",\"uniqueItems\":true}");
        refused("#/minLenght", "{\"type\":\"string\",\"minLenght\":3}");
        refused("#/minLenght: \"\"; expected a keyword", "{\"type\":\"string\",\"minLenght\":\"\"}");
        refused("#/format", "{\"type\":\"string\",\"format\":\"iri\"}");
        refused("#/pattern", "{\"type\":\"string\",\"pattern\":\"(?=a)b\"}");
        refused("#/pattern", "{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}");
        refused("#/pattern", "{\"type\":\"string\",\"pattern\":\"\\\\bword\"}");
        refused("#/pattern", "{\"type\":\"string\",\"pattern\":\"\\\\p{L}\"}");
        refused("#/items", "{\"type\":\"array\",\"items\":[{}]}");
        refused("#/$ref", "{\"$ref\":\"https://example.org/s.json\"}");
        refused("#/$ref", "{\"$ref\":\"#/$defs/none\"}");
        refused("#/type", "{\"type\":\"text\"}");
        refused("#/maxLength", "{\"type\":\"string\",\"maxLength\":-1}");
        refused("#/oneOf", "{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":3}]}");
        refused("#/multipleOf", "{\"type\":\"integer\",\"multipleOf\":1001}");
        refused("#/minProperties", "{\"type\":\"object\",\"minProperties\":2}");
        refused("#/properties/b", "{\"type\":\"object\",\"properties\":{\"b\":3}}");
        refused("schema", "[1");
        refused("#: 3", "3");
    }

    @Test
    void deadAlternativesAreNotBegun() {
        // a filter without this check could open an object that nothing closes
        Grammar grammar = Grammar.ofJsonSchema("{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\","
                + "\"properties\":{\"a\":{\"$ref\":\"#/anyOf/1\"}},\"required\":[\"a\"]}]}");
        assertTrue(allows(grammar, "null"));
        assertFalse(mask(grammar.begin(BYTES)).allows(FIRST_BYTE + '{'));
    }

    @Test
    void keywordsHoldTogether() {
        Grammar grammar = Grammar.ofJsonSchema("""
                {"$defs": {"base": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}},
                 "allOf": [{"$ref": "#/$defs/base"}], "type": "object",
                 "properties": {"id": {"minimum": 5}, "kind": {"oneOf": [{"const": "x"}, {"enum": ["y", 3]}]}},
                 "patternProperties": {"^s_": {"type": "string"}}, "additionalProperties": {"type": "null"}, "maxProperties": 3}
                """);
        assertTrue(allows(grammar, "{\"id\":5}"));
        assertTrue(allows(grammar, "{\"id\":5, \"kind\": \"y\",\"s_\":\"\"}"));
        assertTrue(allows(grammar, "{\n  \"id\": 17,\n  \"kind\": 3,\n  \"t\": null\n}"));
        assertFalse(allows(grammar, "{\"id\":4}"));
        assertFalse(allows(grammar, "{\"id\":5,\"s_\":null}"));
        assertFalse(allows(grammar, "{\"id\":5,\"t\":\"\"}"));
        assertFalse(allows(grammar, "{\"id\":5,\"id\":6}"));
        assertFalse(allows(grammar, "{\"id\":5,\"a\":null,\"b\":null,\"c\":null}"));
        assertFalse(allows(grammar, "{\"id\":5,}"));
        assertFalse(allows(grammar, "{\"kind\":\"x\"}"));
    }

    @Test
    void grammarsOfGbnfAreReadAsLlamaCppReadsThem() {
        Grammar grammar = Grammar.ofGbnf("""
                # a list of moves
                root ::= "1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n")*
                move ::= (pawn | nonpawn | castle) [+#]?
                pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
                nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
                castle ::= "O-O" "-O"{0,1}
                """);
        assertTrue(allows(grammar, "1. e4 e5\n2. Nf3 Nc6\n10. O-O-O exd8=Q+\n"));
        assertFalse(allows(grammar, "1. e4 e9\n"));
        Grammar classes = Grammar.ofGbnf("root ::= [^\\x00-\\x1f\"\\]é]{2,3} | \"\\u4e2d\" .+\n");
        assertTrue(allows(classes, "a😀"));
        assertTrue(allows(classes, "中x\n"));
        assertFalse(allows(classes, "aé"));
        assertFalse(allows(classes, "abcd"));
        Grammar nested = Grammar.ofGbnf("root ::= \"(\" root \")\" root |\n  \"\"");
        assertTrue(allows(nested, "(()(()))".repeat(300)));
        assertFalse(allows(nested, "(()"));
        Grammar right = Grammar.ofGbnf("root ::= \"a\" root | \"b\"");
        assertTrue(allows(right, "a".repeat(20_000) + "b"));
    }

    @Test
    void wrongGrammarsAreRefused() {
        for (String wrong : List.of(
                "",
                "a ::= \"x\"",
                "root ::= x",
                "root ::= \"x",
                "root ::= [a",
                "root ::= (\"a\"",
                "root ::= \"a\"{3,2}",
                "root ::= \"a\"{20000}",
                "root ::= root \"a\" | \"b\"",
                "root ::= a root\na ::= \"\"",
                "root ::= \"a\" root",
                "root ::= \"a\"\nroot ::= \"b\"",
                "root ::= <[12]>",
                "root ::= [b-a]",
                "root ::= \"\\q\"",
                "root = \"a\"",
                "root ::= \"\\ud800\"")) {
            String message = assertThrows(IllegalArgumentException.class, () -> Grammar.ofGbnf(wrong), wrong)
                    .getMessage();
            assertTrue(message.startsWith("grammar: "), message);
        }
    }

    @Test
    void tokensAreRolledBackAndFiltersAreForked() {
        TokenVocabulary vocabulary = new TokenVocabulary(new PlainVocabulary(3000));
        Grammar grammar = Grammar.ofJsonSchema(
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"maxLength\":30},\"b\":{}},\"required\":[\"a\",\"b\"]}");
        for (int seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            TokenFilter filter = grammar.begin(vocabulary);
            GrammarWalk walk = new GrammarWalk(vocabulary, random);
            walk.run(filter, 1 + random.nextInt(60));
            TokenMask before = new TokenMask(vocabulary.size());
            filter.restrict(before);
            TokenFilter fork = filter.fork();
            int more = walk.tokens.size();
            walk.run(fork, more + 10);
            int taken = walk.tokens.size() - more;
            assertSame(before, filter);
            fork.rollBack(taken);
            assertSame(before, fork);
            filter.rollBack(more);
            assertSame(maskOf(grammar.begin(vocabulary)), filter);
            assertThrows(IllegalArgumentException.class, () -> filter.rollBack(1));
        }
    }

    private static TokenMask maskOf(TokenFilter filter) {
        TokenMask mask = new TokenMask(3000);
        filter.restrict(mask);
        return mask;
    }

    private static void assertSame(TokenMask expected, TokenFilter filter) {
        TokenMask actual = maskOf(filter);
        for (int id = 0; id < actual.size(); id++) {
            assertEquals(expected.allows(id), actual.allows(id), "token " + id);
        }
    }

    @Test
    void masksAreThoseOfTheBytesOneByOne() {
        TokenVocabulary vocabulary = new TokenVocabulary(new PlainVocabulary(3000));
        Grammar grammar = Grammar.ofJsonSchema(
                "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"string\",\"maxLength\":9},"
                        + "{\"type\":\"number\"},{\"type\":\"object\",\"additionalProperties\":{\"pattern\":\"^(ab|[c-e])*$\"}}]}}");
        for (int seed = 0; seed < 10; seed++) {
            TokenFilter filter = grammar.begin(vocabulary);
            new GrammarWalk(vocabulary, new Random(seed)).run(filter, seed * 3);
            TokenMask mask = maskOf(filter);
            for (int id = 0; id < vocabulary.size(); id++) {
                TokenFilter fork = filter.fork();
                boolean accepted = true;
                try {
                    fork.accept(id);
                } catch (IllegalArgumentException refused) {
                    accepted = false;
                }
                assertEquals(accepted, mask.allows(id), "token " + id);
            }
        }
    }

    @Test
    void hostileSchemasAndGrammarsEndByName() throws Exception {
        CpuTime.within(60, () -> {
            compileHostileSchemasAndGrammars();
            return true;
        });
    }

    private static void compileHostileSchemasAndGrammars() {
        StringBuilder doubled = new StringBuilder("{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
        for (int i = 0; i < 60; i++) {
            String next = "{\"$ref\":\"#/$defs/d" + (i + 1) + "\"}";
            doubled.append("\"d")
                    .append(i)
                    .append("\":{\"allOf\":[")
                    .append(next)
                    .append(',')
                    .append(next)
                    .append("]},");
        }
        refused("more than", doubled + "\"d60\":{\"type\":\"null\"}}}");
        refused("more than", "{\"type\":\"string\",\"pattern\":\"(a|b)*a(a|b){40}\"}");
        refused("more than", "{\"type\":\"string\",\"pattern\":\"((a{100}){100}){100}\"}");
        refused("expected at most", "{\"type\":\"string\",\"maxLength\":100000000}");
        refused("expected at most", "{\"type\":\"array\",\"minItems\":100000000}");
        assertThrows(
                IllegalArgumentException.class,
                () -> Grammar.ofGbnf("root ::= ((((\"a\"{9999}){9999}){9999}){9999}) | (\"abcdefghijkl\"{9999}){9999}"
                        + " | [a-z]{9999} [b-z]{9999}".repeat(40)));
        // without a bound, each letter would add a position
        TokenFilter filter = Grammar.ofGbnf("root ::= \"a\" root \"a\"? | \"\"").begin(BYTES);
        IllegalStateException many = assertThrows(IllegalStateException.class, () -> {
            for (int i = 0; i < 20_000; i++) {
                filter.accept(FIRST_BYTE + 'a');
            }
        });
        assertTrue(many.getMessage().contains("places"), many.getMessage());
    }

    @Test
    void aGrammarOfManyPlacesIsWalkedInBoundedMemory() throws Exception {
        CpuTime.within(60, () -> {
            walkAGrammarOfManyPlaces();
            return true;
        });
    }

    private static void walkAGrammarOfManyPlaces() {
        // each byte of a token leads to another configuration of hundreds of positions
        TokenVocabulary vocabulary = new TokenVocabulary(new PlainVocabulary(20_000));
        StringBuilder rules = new StringBuilder("root ::= ");
        for (int i = 0; i < 200; i++) {
            rules.append(i == 0 ? "" : " | ")
                    .append("[a-z0-9 ]{")
                    .append(i)
                    .append(",} \"")
                    .append(i)
                    .append("x\"");
        }
        Grammar grammar = Grammar.ofGbnf(rules.toString());
        TokenFilter filter = grammar.begin(vocabulary);
        TokenMask mask = new TokenMask(vocabulary.size());
        for (int i = 0; i < 5; i++) {
            mask.allowAll();
            filter.restrict(mask);
            assertTrue(mask.allows(FIRST_BYTE + 'a'));
            assertFalse(mask.allows(FIRST_BYTE + 'A'));
            filter.accept(FIRST_BYTE + 'a');
        }
    }
}
