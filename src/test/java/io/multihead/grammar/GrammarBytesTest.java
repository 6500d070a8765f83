package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

/** The retained memory of a grammar, which consists of its states and of masks of a vocabulary. */
class GrammarBytesTest {
    private static final int VOCABULARY = 151_936;
    private static final long BAR = 10_000_000;

    private static Grammar fiftyProperties() {
        StringBuilder schema = new StringBuilder("{\"type\":\"object\",\"properties\":{");
        for (int i = 0; i < 50; i++) {
            String[] kinds = {
                "{\"type\":\"string\"}",
                "{\"type\":\"integer\"}",
                "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}",
                "{\"enum\":[\"red\",\"green\"]}",
                "{\"type\":\"string\",\"format\":\"date\"}"
            };
            schema.append(i == 0 ? "" : ",")
                    .append("\"property")
                    .append(i)
                    .append("\":")
                    .append(kinds[i % 5]);
        }
        return Grammar.ofJsonSchema(schema + "},\"additionalProperties\":false}");
    }

    @Test
    void aSchemaOfFiftyPropertiesIsSmall() throws Exception {
        Grammar grammar = fiftyProperties();
        long arrays = 9L * grammar.states() + 16L * grammar.moves();
        long bytes = RetainedBytes.of(grammar);
        assertTrue(bytes < BAR / 10, bytes + " bytes");
        assertEquals(arrays, bytes, 1000, "bytes of the arrays, and with all else");
    }

    @Test
    void masksOfALargeVocabularyHaveABound() throws Exception {
        TokenVocabulary vocabulary = new TokenVocabulary(new PlainVocabulary(VOCABULARY));
        Grammar grammar = fiftyProperties();
        long most = 0;
        for (int text = 0; text < 30; text++) {
            GrammarWalk walk = new GrammarWalk(vocabulary, new Random(text));
            TokenFilter filter = grammar.begin(vocabulary);
            for (int tokens = 50; tokens <= 400 && !walk.ended; tokens += 50) {
                walk.run(filter, tokens);
                most = Math.max(most, RetainedBytes.of(grammar));
            }
        }
        assertTrue(most < BAR, most + " bytes");
        assertTrue(most > BAR / 10, "masks are kept: " + most + " bytes");
    }
}
