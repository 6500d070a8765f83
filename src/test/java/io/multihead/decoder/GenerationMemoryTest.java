package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import io.multihead.compute.Compute;
import io.multihead.support.ChildJvm;
import io.multihead.support.Patience;
import io.multihead.support.WarmCalls;
import io.multihead.text.TextStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Generation allocates only the objects of the returned text. */
@Execution(ExecutionMode.CONCURRENT)
class GenerationMemoryTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int FEW = 40;
    private static final int MANY = 140;

    /** A test fails only if two JVMs allocate too much, because one JVM may differ by chance, for example in the time of trials. */
    private static final int JVMS = 2;

    /** The objects of a text are kept in fields, so that C2 cannot remove their allocation. */
    private static SeenTokens keptTokens = new SeenTokens(new TokenList());

    private static GeneratedText keptText = new GeneratedText("", List.of(), FinishReason.MAX_TOKENS, 0);

    /** Returns the fewest bytes of several rounds, because the JVM also allocates while it compiles. */
    private static long leastBytes(IntSupplier call) {
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            call.getAsInt();
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
        }
        return least;
    }

    @ParameterizedTest
    @ValueSource(strings = {"greedy", "temperature", "top-k, top-p and min-p", "penalties", "log-probabilities"})
    void aTokenTakesNothingBeyondItsText(String how) throws Exception {
        String extra = "";
        for (int i = 0; i < JVMS && !extra.equals("0"); i++) {
            extra = ChildJvm.run(Scenario.class, List.of(ChildJvm.FOREGROUND), how)
                    .getLast();
        }
        assertEquals("0", extra, "bytes of " + (MANY - FEW) + " tokens");
    }

    /** Prints the bytes that tokens allocate in addition to their text. */
    static final class Scenario {
        private Scenario() {}

        public static void main(String[] how) {
            try (Compute cpu = Compute.serial();
                    LanguageModel model = TinyDecoder.model(cpu, TinyDecoder.weights(TinyDecoder.config(), 1));
                    Sessions sessions = model.sessions(SessionOptions.DEFAULT.withKeptPrefixes(false))) {
                GenerationOptions options = options(how[0]);
                String prompt = prompt(sessions, options);
                long extra = Long.MAX_VALUE;
                for (Patience patience = new Patience(); extra != 0 && patience.isLeft(); ) {
                    extra = extra(model, sessions, prompt, options);
                }
                System.out.println(extra);
            }
        }
    }

    private static GenerationOptions options(String how) {
        Sampling sampling = Sampling.of(0.9, 1);
        sampling = switch (how) {
            case "greedy" -> Sampling.GREEDY;
            case "top-k, top-p and min-p" ->
                sampling.withTopK(40).withTopP(0.95).withMinP(0.01);
            case "penalties" -> sampling.withPenalties(new Penalties(1.1, 0.1, 0.1, 0.1));
            default -> sampling;
        };
        return GenerationOptions.DEFAULT.withSampling(sampling).withLogProbabilities(how.equals("log-probabilities"));
    }

    /** Returns a prompt whose generated text has no end token. */
    private static String prompt(Sessions sessions, GenerationOptions options) {
        for (char letter = 'a'; letter <= 'z'; letter++) {
            String prompt = "a " + letter;
            if (generate(sessions, prompt, options, MANY).tokens().size() == MANY) {
                return prompt;
            }
        }
        throw new AssertionError("every text has an end token");
    }

    private static GeneratedText generate(Sessions sessions, String prompt, GenerationOptions options, int tokens) {
        try (Session session = sessions.open().append(prompt)) {
            keptText = session.generate(options.withMaxTokens(tokens));
            return keptText;
        }
    }

    /** Returns the bytes of many tokens minus the bytes of few tokens, without the bytes of their text. */
    private static long extra(LanguageModel model, Sessions sessions, String prompt, GenerationOptions options) {
        List<GeneratedToken> tokens = generate(sessions, prompt, options, MANY).tokens();
        long few = leastBytes(
                () -> generate(sessions, prompt, options, FEW).tokens().size());
        long many = leastBytes(
                () -> generate(sessions, prompt, options, MANY).tokens().size());
        long ofText = leastBytes(() -> text(model, tokens, MANY)) - leastBytes(() -> text(model, tokens, FEW));
        return many - few - ofText;
    }

    /** Allocates the objects of a text: strings, tokens, their list, the copy of the list, and the list of the session's ids. */
    private static int text(LanguageModel model, List<GeneratedToken> tokens, int count) {
        TextStream stream = new TextStream(model.tokenizer());
        StringBuilder text = new StringBuilder();
        List<GeneratedToken> generated = new ArrayList<>();
        SeenTokens seen = new SeenTokens(new TokenList());
        keptTokens = seen;
        seen.add(0);
        seen.add(0);
        seen.add(0);
        for (int i = 0; i < count; i++) {
            int id = tokens.get(i).id();
            seen.add(id);
            generated.add(new GeneratedToken(id, stream.append(id), 0));
            text.append(generated.getLast().text());
        }
        keptText = new GeneratedText(text.toString(), generated, FinishReason.MAX_TOKENS, 3);
        return keptText.tokens().size();
    }

    /** Prints the bytes that a sampler allocates. */
    static final class Choices {
        private Choices() {}

        public static void main(String[] none) {
            int vocabulary = 1000;
            float[] logits = new float[vocabulary];
            Random random = new Random(3);
            for (int id = 0; id < vocabulary; id++) {
                logits[id] = (float) random.nextGaussian();
            }
            SeenTokens seen = new SeenTokens(new TokenList());
            seen.add(7);
            Sampler sampler = new Sampler(vocabulary);
            Sampling sampling = Sampling.of(0.8, 1).withTopP(0.9).withPenalties(new Penalties(1.1, 0, 0.1, 0.1));
            System.out.println(WarmCalls.allocatedBytes(() -> sampler.choose(logits, seen, sampling, 3)));
        }
    }

    @Test
    void aSamplerAllocatesNothing() throws Exception {
        assertEquals(
                "0", ChildJvm.run(Choices.class, List.of(ChildJvm.FOREGROUND)).getLast());
    }
}
