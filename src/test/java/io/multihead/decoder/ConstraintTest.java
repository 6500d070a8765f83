package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.multihead.compute.Compute;
import io.multihead.grammar.Grammar;
import io.multihead.grammar.TokenConstraint;
import io.multihead.grammar.TokenRules;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A model with random weights generates valid JSON under a constraint, the same alone, in batches and with draft tokens. */
class ConstraintTest {
    private static final String SCHEMA = """
            {"type": "object", "properties": {
               "name": {"type": "string", "maxLength": 6},
               "kind": {"enum": ["a", "bb", null]},
               "sizes": {"type": "array", "items": {"type": "integer", "minimum": -5, "maximum": 99}, "maxItems": 3},
               "more": {"$ref": "#/properties/kind"}},
             "required": ["name", "sizes"]}
            """;
    private static final Grammar GRAMMAR = Grammar.ofJsonSchema(SCHEMA);
    private static final GenerationOptions JSON =
            GenerationOptions.DEFAULT.withMaxTokens(150).withConstraint(GRAMMAR);

    private static List<GenerationOptions> options() {
        List<GenerationOptions> options = new ArrayList<>();
        options.add(JSON);
        for (double temperature : new double[] {0.5, 1, 5}) {
            for (int seed = 0; seed < 4; seed++) {
                Sampling sampling = Sampling.of(temperature, seed);
                options.add(JSON.withSampling(
                        seed == 0 ? sampling : sampling.withTopK(5 * seed).withTopP(0.9)));
            }
        }
        return options;
    }

    @Test
    void everyTextThatEndedIsValidAloneAndInBatches() throws Exception {
        var schema = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(new ObjectMapper().readTree(SCHEMA));
        int ended = 0;
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = TinyDecoder.model(cpu, 3);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(20))) {
            List<GenerationOptions> options = options();
            List<Session> open = new ArrayList<>();
            for (int i = 0; i < options.size(); i++) {
                open.add(sessions.open().append("a{\"b\"}"));
            }
            List<GeneratedText> together = sessions.generate(open, options);
            for (int i = 0; i < options.size(); i++) {
                open.get(i).close();
                for (int draft : new int[] {0, 4}) {
                    try (Session session = sessions.open().append("a{\"b\"}")) {
                        GeneratedText alone = session.generate(options.get(i).withDraftTokens(draft));
                        assertArrayEquals(ids(together.get(i)), ids(alone), "text " + i + " with " + draft);
                    }
                }
                GeneratedText text = together.get(i);
                assertTrue(text.text().startsWith("{"), text.text());
                if (text.finish() == FinishReason.END_TOKEN) {
                    ended++;
                    JsonNode value = new ObjectMapper().readTree(text.text());
                    assertEquals(List.of(), schema.validate(value), text.text());
                } else {
                    assertEquals(FinishReason.MAX_TOKENS, text.finish());
                }
            }
        }
        assertTrue(ended >= 8, ended + " texts ended");
    }

    private static int[] ids(GeneratedText text) {
        return text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
    }

    private static GeneratedText generate(TokenConstraint constraint, Sampling sampling) {
        try (Compute cpu = Compute.serial();
                LanguageModel model = TinyDecoder.model(cpu, 3);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("abc")) {
            return session.generate(GenerationOptions.DEFAULT
                    .withMaxTokens(12)
                    .withSampling(sampling)
                    .withConstraint(constraint));
        }
    }

    @Test
    void tokensAreForcedForbiddenAndBiased() {
        int[] free = ids(generate(TokenConstraint.NONE, Sampling.GREEDY));
        int[] forbidden = ids(generate(TokenRules.forbidding(free[0]), Sampling.GREEDY));
        for (int id : forbidden) {
            assertTrue(id != free[0], "token " + id);
        }
        int[] forced = ids(generate(TokenRules.beginningWith('x', 'y', 'z'), Sampling.GREEDY));
        assertArrayEquals(new int[] {'x', 'y', 'z'}, java.util.Arrays.copyOf(forced, 3));
        for (Sampling sampling : List.of(Sampling.GREEDY, Sampling.of(2, 5))) {
            for (int id : ids(generate(TokenRules.biased(Map.of((int) 'q', 500f)), sampling))) {
                assertEquals('q', id);
            }
        }
        int[] both = ids(generate(
                TokenRules.biased(Map.of((int) 'q', 500f)).and(TokenRules.beginningWith('x')), Sampling.GREEDY));
        assertEquals('x', both[0]);
        assertEquals('q', both[1]);
        assertArrayEquals(free, ids(generate(TokenRules.forbidding(), Sampling.GREEDY)));
    }

    @Test
    void whatForbidsAllTokensFailsByName() {
        TokenConstraint none = TokenRules.beginningWith('a').and(TokenRules.forbidding('a'));
        IllegalStateException failure =
                assertThrows(IllegalStateException.class, () -> generate(none, Sampling.GREEDY));
        assertTrue(
                failure.getMessage().startsWith("constraint: no token of the vocabulary is allowed"),
                failure.toString());
        assertThrows(IllegalArgumentException.class, () -> TokenRules.biased(Map.of(3, Float.NaN)));
        assertThrows(IllegalArgumentException.class, () -> TokenRules.forbidding(-1));
    }

    @Test
    void aFilterOfTheCallerGoesOnWhereTheLastCallEnded() {
        try (Compute cpu = Compute.serial();
                LanguageModel model = TinyDecoder.model(cpu, 3);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session whole = sessions.open().append("abc");
                Session parts = sessions.open().append("abc")) {
            Sampling sampling = Sampling.of(1, 7);
            int[] expected = ids(whole.generate(JSON.withSampling(sampling)));
            var filter = GRAMMAR.begin(model.tokenVocabulary());
            List<Integer> actual = new ArrayList<>();
            FinishReason finish = FinishReason.MAX_TOKENS;
            while (finish == FinishReason.MAX_TOKENS && actual.size() < expected.length) {
                GeneratedText part = parts.generate(
                        JSON.withSampling(sampling).withMaxTokens(7).withConstraint(tokens -> filter));
                part.tokens().forEach(token -> actual.add(token.id()));
                finish = part.finish();
            }
            assertArrayEquals(
                    expected,
                    actual.stream().limit(expected.length).mapToInt(id -> id).toArray());
        }
    }
}
