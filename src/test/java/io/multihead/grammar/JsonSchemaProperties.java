package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Tries;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * Every complete text is valid according to an independent validator, and the grammar of every schema allows the
 * schema's example.
 */
class JsonSchemaProperties {
    private static final int SCHEMAS = 2000;

    @Test
    void textsAreValidAndExamplesAreAllowed() throws Exception {
        TokenVocabulary[] vocabularies = {
            new TokenVocabulary(new PlainVocabulary(258)),
            new TokenVocabulary(new PlainVocabulary(512)),
            new TokenVocabulary(new PlainVocabulary(5000))
        };
        int schemas = (int) Math.max(25, SCHEMAS * Tries.factor());
        int ended = 0;
        for (int seed = 0; seed < schemas; seed++) {
            Random random = new Random(seed);
            RandomSchema.Example example = new RandomSchema(random).root(3);
            String schema = example.schema().toString();
            String context = "seed " + seed + ": " + schema;
            SchemaOracle oracle = new SchemaOracle(schema);
            String wanted = example.value().toString();
            assertEquals("", oracle.faults(wanted.getBytes(StandardCharsets.UTF_8)), context);
            Grammar grammar = Grammar.ofJsonSchema(schema);
            TokenVocabulary vocabulary = vocabularies[seed % vocabularies.length];
            assertEquals("", GrammarWalk.force(grammar.begin(vocabulary), vocabulary, wanted), context + "\n" + wanted);
            for (int text = 0; text < 3; text++) {
                GrammarWalk walk = new GrammarWalk(vocabulary, random);
                byte[] bytes = walk.run(grammar.begin(vocabulary), 400);
                if (walk.ended) {
                    ended++;
                    String faults = oracle.faults(bytes);
                    assertEquals("", faults, () -> context + "\n" + new String(bytes, StandardCharsets.UTF_8));
                }
            }
        }
        // the other texts are long strings, numbers and lists
        assertTrue(ended > schemas * 3 * 0.6, ended + " texts of " + schemas * 3 + " ended");
    }

    @Test
    void threadsShareAGrammar() throws Exception {
        TokenVocabulary vocabulary = new TokenVocabulary(new PlainVocabulary(3000));
        String schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[a-c]+\"},\"maxItems\":9}";
        Grammar shared = Grammar.ofJsonSchema(schema);
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<List<Integer>>> texts = new ArrayList<>();
            for (int seed = 0; seed < 16; seed++) {
                GrammarWalk walk = new GrammarWalk(vocabulary, new Random(seed));
                texts.add(threads.submit(() -> {
                    walk.run(shared.begin(vocabulary), 100);
                    return walk.tokens;
                }));
            }
            for (int seed = 0; seed < texts.size(); seed++) {
                GrammarWalk alone = new GrammarWalk(vocabulary, new Random(seed));
                alone.run(Grammar.ofJsonSchema(schema).begin(vocabulary), 100);
                assertEquals(alone.tokens, texts.get(seed).get(), "text " + seed);
            }
        }
    }
}
