package io.multihead.grammar;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Tries;
import io.multihead.text.SharedModels;
import io.multihead.text.SpecialIds;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Vocabularies of published models: byte pairs, and SentencePiece with byte fallback, of 512 to 50,257 tokens. */
class RealVocabulariesTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "vocab/ggml-vocab-gpt-2.gguf",
                "vocab/ggml-vocab-deepseek-llm.gguf",
                "vocab/ggml-vocab-llama-spm.gguf",
                "stories260K/stories260K.f32.gguf"
            })
    void textsAreValidAndExamplesAreAllowed(String file) throws Exception {
        TokenVocabulary vocabulary = new TokenVocabulary(SharedModels.tokenizer(file));
        SpecialIds special = vocabulary.tokenizer().specialIds();
        assertTrue(!special.stopTokens().isEmpty(), "no token ends a text");
        int schemas = (int) Math.max(25, 300 * Tries.factor());
        int ended = 0;
        for (int seed = 10_000; seed < 10_000 + schemas; seed++) {
            Random random = new Random(seed);
            RandomSchema.Example example = new RandomSchema(random).root(3);
            String schema = example.schema().toString();
            String context = "seed " + seed + ": " + schema;
            SchemaOracle oracle = new SchemaOracle(schema);
            Grammar grammar = Grammar.ofJsonSchema(schema);
            GrammarWalk walk = new GrammarWalk(vocabulary, random);
            byte[] bytes = walk.run(grammar.begin(vocabulary), 300);
            if (walk.ended) {
                ended++;
                // the text that a user sees consists of the checked bytes
                assertEquals(
                        new String(bytes, StandardCharsets.UTF_8), walk.text().stripLeading(), context);
                assertEquals("", oracle.faults(bytes), () -> context + "\n" + walk.text());
            }
        }
        assertTrue(ended > schemas / 2, ended + " of " + schemas + " ended");
    }
}
