package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.grammar.TokenConstraint;
import io.multihead.grammar.TokenRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Tests forbidden, forced and biased tokens and penalties in random combinations. A session alone generates the same tokens as plain loops
 * over its logits, and the same tokens with draft tokens, in batches and in forks.
 */
class ConstrainedSchedulesTest {
    private static final int TEXTS = 24;
    private static final int TOKENS = 30;

    /** The constraints of one text. */
    private record Rules(
            List<Integer> forbidden, List<Integer> begin, Map<Integer, Float> bias, GenerationOptions options) {
        static Rules of(Random random) {
            List<Integer> forbidden =
                    random.ints(random.nextInt(60), 0, 256).boxed().toList();
            List<Integer> begin = random.ints(random.nextInt(3), 0, 256)
                    .filter(id -> !forbidden.contains(id))
                    .boxed()
                    .toList();
            Map<Integer, Float> bias = new HashMap<>();
            for (int i = 0; i < random.nextInt(5); i++) {
                bias.put(random.nextInt(256), random.nextInt(9) - 4f);
            }
            Penalties penalties =
                    switch (random.nextInt(3)) {
                        case 0 -> Penalties.NONE;
                        case 1 -> new Penalties(1.2, 0.3);
                        default -> new Penalties(1, 0, 0.2, 0.4);
                    };
            TokenConstraint constraint = TokenRules.forbidding(toArray(forbidden))
                    .and(TokenRules.biased(bias))
                    .and(TokenRules.beginningWith(toArray(begin)));
            Sampling sampling = random.nextInt(3) == 0 ? Sampling.of(1, random.nextLong()) : Sampling.GREEDY;
            return new Rules(
                    forbidden,
                    begin,
                    bias,
                    GenerationOptions.DEFAULT
                            .withMaxTokens(TOKENS)
                            .withConstraint(constraint)
                            .withSampling(sampling.withPenalties(penalties)));
        }

        private static int[] toArray(List<Integer> ids) {
            return ids.stream().mapToInt(id -> id).toArray();
        }

        /** Returns the allowed token with the largest logit. */
        int choose(float[] logits, int[] tokens, int promptEnd) {
            Penalties penalties = options.sampling().penalties();
            int generated = tokens.length - promptEnd;
            int best = -1;
            float most = Float.NEGATIVE_INFINITY;
            for (int id = 0; id < logits.length; id++) {
                int token = id;
                float logit = logits[id];
                if (Arrays.stream(tokens).anyMatch(other -> other == token)) {
                    logit = penalties.apply(logit);
                }
                int count = (int) Arrays.stream(tokens, promptEnd, tokens.length)
                        .filter(other -> other == token)
                        .count();
                logit = count == 0 ? logit : penalties.applyGenerated(logit, count);
                logit += bias.getOrDefault(id, 0f);
                boolean allowed = !forbidden.contains(id) && (generated >= begin.size() || begin.get(generated) == id);
                if (allowed && logit > most) {
                    most = logit;
                    best = id;
                }
            }
            return best;
        }
    }

    @Test
    void tokensAreThoseOfPlainLoopsAndTheSameInAnySchedule() {
        Random random = new Random(11);
        try (Compute cpu = Compute.threads(2);
                LanguageModel model = TinyDecoder.endless(cpu, 3);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT.withSessions(2 * TEXTS))) {
            List<Session> open = new ArrayList<>();
            List<Session> forks = new ArrayList<>();
            List<GenerationOptions> options = new ArrayList<>();
            List<int[]> expected = new ArrayList<>();
            for (int i = 0; i < TEXTS; i++) {
                Rules rules = Rules.of(random);
                String prompt = "abcabcab".substring(0, 1 + random.nextInt(8));
                Session alone = sessions.open().append(prompt);
                int promptEnd = alone.length();
                int[] tokens = ids(alone.generate(rules.options));
                if (rules.options.sampling().temperature() == 0) {
                    requirePlain(alone, promptEnd, rules);
                }
                Session drafted = sessions.open().append(prompt);
                assertArrayEquals(
                        tokens,
                        ids(drafted.generate(rules.options.withDraftTokens(1 + random.nextInt(5)))),
                        "text " + i);
                expected.add(tokens);
                open.add(sessions.open().append(prompt));
                forks.add(open.getLast().fork());
                options.add(rules.options.withDraftTokens(random.nextInt(3)));
                alone.close();
                drafted.close();
            }
            List<Session> all = new ArrayList<>(open);
            all.addAll(forks);
            List<GenerationOptions> twice = new ArrayList<>(options);
            twice.addAll(options);
            List<GeneratedText> texts = sessions.generate(all, twice);
            for (int i = 0; i < texts.size(); i++) {
                assertArrayEquals(expected.get(i % TEXTS), ids(texts.get(i)), "text " + i);
            }
        }
    }

    private static void requirePlain(Session session, int promptEnd, Rules rules) {
        int[] tokens = session.tokens();
        assertEquals(promptEnd + TOKENS, tokens.length);
        for (int length = promptEnd; length < tokens.length; length++) {
            try (Session fork = session.fork()) {
                float[] logits = fork.truncate(length).nextLogits();
                int[] before = Arrays.copyOf(tokens, length);
                assertEquals(rules.choose(logits, before, promptEnd), tokens[length], "token " + length);
            }
        }
        assertTrue(session.length() == tokens.length);
    }

    private static int[] ids(GeneratedText text) {
        return text.tokens().stream().mapToInt(GeneratedToken::id).toArray();
    }
}
