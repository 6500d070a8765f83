package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The reported most probable tokens are the tokens with the largest logits, and requesting them does not change the text. */
class MostProbableTest {
    private static final int MOST = 7;

    @Test
    void theyAreThoseOfTheLargestLogits() {
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(12).withSampling(Sampling.of(2, 3));
        try (Compute cpu = Compute.serial();
                LanguageModel model = TinyDecoder.endless(cpu, 4);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session plain = sessions.open().append("ab");
                Session asked = sessions.open().append("ab");
                Session other = sessions.open().append("ab")) {
            GeneratedText expected = plain.generate(options.withLogProbabilities(true));
            GeneratedText text = asked.generate(options.withMostProbable(MOST));
            assertEquals(expected.text(), text.text());
            for (int i = 0; i < 12; i++) {
                GeneratedToken token = text.tokens().get(i);
                assertEquals(expected.tokens().get(i).logProbability(), token.logProbability());
                assertEquals(List.of(), expected.tokens().get(i).mostProbable());
                float[] logits = other.nextLogits();
                List<Integer> largest = IntStream.range(0, logits.length)
                        .boxed()
                        .sorted(Comparator.comparingDouble((Integer id) -> -logits[id]))
                        .limit(MOST)
                        .toList();
                List<TokenProbability> most = token.mostProbable();
                assertEquals(largest, most.stream().map(TokenProbability::id).toList(), "token " + i);
                for (TokenProbability each : most) {
                    // differences of logits equal differences of log-probabilities, except for rounding to f32
                    double apart = (double) logits[each.id()] - logits[token.id()];
                    assertEquals(apart, each.logProbability() - token.logProbability(), 1e-9);
                    assertTrue(each.logProbability() <= most.getFirst().logProbability());
                }
                other.append(token.id());
            }
        }
    }

    @Test
    void aVocabularyMayHaveFewer() {
        try (Compute cpu = Compute.serial();
                LanguageModel model = TinyDecoder.endless(cpu, 4);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open().append("ab")) {
            GenerationOptions all = GenerationOptions.DEFAULT.withMaxTokens(1).withMostProbable(Integer.MAX_VALUE);
            List<TokenProbability> tokens =
                    session.generate(all).tokens().getFirst().mostProbable();
            double sum = tokens.stream()
                    .mapToDouble(each -> Math.exp(each.logProbability()))
                    .sum();
            assertEquals(1, sum, 1e-5);
            assertEquals(
                    tokens.size(),
                    tokens.stream().map(TokenProbability::id).distinct().count());
        }
        String message = assertThrows(
                        IllegalArgumentException.class, () -> GenerationOptions.DEFAULT.withMostProbable(-2))
                .getMessage();
        assertEquals("mostProbable: -2; expected at least -1", message);
        assertEquals(
                3,
                GenerationOptions.DEFAULT
                        .withMostProbable(3)
                        .withLogProbabilities(true)
                        .mostProbable());
        assertTrue(!GenerationOptions.DEFAULT
                .withMostProbable(3)
                .withLogProbabilities(false)
                .logProbabilities());
    }
}
