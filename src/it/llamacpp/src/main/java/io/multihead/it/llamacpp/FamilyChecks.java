package io.multihead.it.llamacpp;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyModel;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.SplittableRandom;

/** Compares the logits of small models of every family, with random weights, with llama.cpp's for the same file. */
final class FamilyChecks {
    private static final int TOKENS = 60;
    private static final int POSITIONS = 128;

    /**
     * llama.cpp stores keys and values in f16, with a rounding of 2^-11 each. Logits differ by a few of these
     * roundings.
     */
    private static final double TOLERANCE = 0.004;

    private FamilyChecks() {}

    static void run(Path libraries, Path folder) throws IOException {
        for (String kind : FamilyModel.kinds()) {
            Path file = folder.resolve("family." + kind + ".gguf");
            FamilyModel.write(kind, file);
            compare(kind, libraries, file);
        }
    }

    private static void compare(String kind, Path libraries, Path file) throws IOException {
        int[] prompt = new SplittableRandom(2).ints(24, 3, 259).toArray();
        try (Compute cpu = Compute.threads(2);
                LanguageModel ours = LanguageModel.load(cpu, file);
                Sessions sessions = ours.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open().append(prompt);
                LlamaCpp theirs = LlamaCpp.load(libraries, file, POSITIONS, 1)) {
            MemorySegment expected = theirs.decode(prompt);
            double worst = 0;
            int same = 0;
            for (int step = 0; step < TOKENS; step++) {
                float[] logits = session.nextLogits();
                worst = Math.max(worst, difference(logits, expected));
                int chosen = session.generate(GenerationOptions.DEFAULT.withMaxTokens(1))
                        .tokens()
                        .getFirst()
                        .id();
                int theirChoice = largest(expected, logits.length);
                same += chosen == theirChoice ? 1 : 0;
                requireClose(kind, logits, expected, chosen, theirChoice);
                expected = theirs.decode(chosen);
                if (session.length() == prompt.length + step) {
                    break; // an end token, which is not part of the session
                }
            }
            System.out.printf(
                    "%s: logits differ from llama.cpp's by %.5f of their root mean square at most, %d choices are the same%n",
                    kind, worst, same);
            ModelChecks.require(worst < TOLERANCE, kind + ": " + worst + "; expected less than " + TOLERANCE);
        }
    }

    private static double difference(float[] logits, MemorySegment expected) {
        double squares = 0;
        double errors = 0;
        for (int i = 0; i < logits.length; i++) {
            float other = expected.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            squares += other * (double) other;
            errors += (logits[i] - other) * (double) (logits[i] - other);
        }
        return Math.sqrt(errors / squares);
    }

    /**
     * Requires equal logits within the tolerance. Choices of tokens may differ if the difference of two logits is below
     * the tolerance.
     */
    private static void requireClose(String kind, float[] logits, MemorySegment expected, int chosen, int theirs) {
        double error = 0;
        for (int i = 0; i < logits.length; i++) {
            error = Math.max(error, Math.abs(logits[i] - expected.getAtIndex(ValueLayout.JAVA_FLOAT, i)));
        }
        double margin = expected.getAtIndex(ValueLayout.JAVA_FLOAT, theirs)
                - expected.getAtIndex(ValueLayout.JAVA_FLOAT, chosen);
        ModelChecks.require(
                margin <= 2 * error,
                kind + ": token " + chosen + " by a margin of " + margin + " and errors of " + error + "; expected "
                        + theirs);
    }

    private static int largest(MemorySegment logits, int count) {
        int best = 0;
        for (int i = 1; i < count; i++) {
            boolean larger =
                    logits.getAtIndex(ValueLayout.JAVA_FLOAT, i) > logits.getAtIndex(ValueLayout.JAVA_FLOAT, best);
            best = larger ? i : best;
        }
        return best;
    }
}
