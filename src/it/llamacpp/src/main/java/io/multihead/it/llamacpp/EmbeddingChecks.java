package io.multihead.it.llamacpp;

import io.multihead.compute.Compute;
import io.multihead.encoder.Reranker;
import io.multihead.encoder.ScoreActivation;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.it.llamacpp.TinyEncoder.Kind;
import io.multihead.tensor.BlockType;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Compares token ids, vectors and scores of small encoders with random weights with llama.cpp's for the same file. */
final class EmbeddingChecks {
    private static final int TEXTS = 60;
    private static final List<String> PARTS =
            List.of("the", "tea", " ", "  ", "t", "h", "e", "an", "a", ".", ",", "z", "\u00e9", "\u4e2d", "\n", "Q");

    /**
     * The largest angle to llama.cpp's vectors. Its attention reads keys and values in f16. Scores, which are at most
     * 10 here, have an error of at most 10 x 2^-11. Weights of the softmax and sums of values have the same relative
     * error, 0.005 in each of three layers. Its GELU is the form with tanh from a table in f16, with an error of
     * 0.0005. Outputs of a head are sums of 256 elements of a state with weights of 1.5 / 16, and may have twice this
     * error.
     */
    private static final double BOUND = 0.02;

    /** The types of matrices. Null is f32. */
    private static final List<BlockType> TYPES =
            Arrays.asList(null, BlockType.Q8_0, BlockType.Q5_1, BlockType.Q4_K, BlockType.Q6_K);

    private static final int MEAN = 1;
    private static final int CLS = 2;
    private static final int RANK = 4;

    private EmbeddingChecks() {}

    static void run(Path libraries, Path folder) throws IOException {
        for (Kind kind : Kind.values()) {
            if (kind.ranks()) {
                score(kind, libraries, folder.resolve("encoder." + kind + ".gguf"));
                continue;
            }
            for (int pooling : new int[] {MEAN, CLS}) {
                for (BlockType type : TYPES) {
                    embed(kind, pooling, type, libraries, folder);
                }
            }
        }
    }

    private static String text(SplittableRandom random) {
        StringBuilder text = new StringBuilder();
        for (int parts = random.nextInt(1, 14); parts > 0; parts--) {
            text.append(PARTS.get(random.nextInt(PARTS.size())));
        }
        return text.toString();
    }

    private static void embed(Kind kind, int pooling, BlockType type, Path libraries, Path folder) throws IOException {
        String name = kind + (type == null ? " f32" : " " + type) + (pooling == MEAN ? " mean" : " cls");
        Path file = folder.resolve("encoder." + name.replace(' ', '.') + ".gguf");
        Path exact = type == null ? file : folder.resolve("encoder.values.gguf");
        TinyEncoder.write(file, kind, pooling, type);
        if (type != null) {
            // llama.cpp rounds the numbers that it multiplies by blocks to 8 bits, so its file has the values of the
            // blocks
            TinyEncoder.writeValues(exact, kind, pooling, type);
        }
        SplittableRandom random = new SplittableRandom(5);
        double difference = 0;
        double angle = 0;
        double other = 0;
        float[] before = null;
        try (Compute cpu = Compute.threads(1);
                SentenceEncoder ours = SentenceEncoder.load(cpu, file);
                LlamaCpp theirs = LlamaCpp.load(libraries, exact, TinyEncoder.POSITIONS, 1)) {
            for (int i = 0; i < TEXTS; i++) {
                String text = text(random);
                int[] ids = ids(kind, ours.tokenizer(), theirs, text);
                float[] expected = unit(theirs.embed(TinyEncoder.DIM, ids));
                float[] actual = ours.embed(text);
                angle = Math.max(angle, angle(expected, actual));
                for (int j = 0; j < actual.length; j++) {
                    difference = Math.max(difference, Math.abs(actual[j] - expected[j]));
                }
                other = before == null ? other : Math.max(other, angle(before, actual));
                before = expected;
            }
        }
        System.out.printf(
                "%s: vectors of %d texts differ from llama.cpp's by %.6f at most, cosine %.7f at least (%.3f of other texts)%n",
                name, TEXTS, difference, Math.cos(angle), Math.cos(other));
        ModelChecks.require(angle < BOUND && difference > 0, name + ": angle " + angle + "; expected below " + BOUND);
        ModelChecks.require(difference < BOUND, name + ": " + difference + "; expected less than " + BOUND);
        ModelChecks.require(other > 10 * BOUND, name + ": vectors of other texts are as near");
    }

    /** Compares the outputs of the head for pairs of texts. */
    private static void score(Kind kind, Path libraries, Path file) throws IOException {
        TinyEncoder.write(file, kind, RANK, null);
        SplittableRandom random = new SplittableRandom(6);
        double error = 0;
        double size = 0;
        try (Compute cpu = Compute.threads(1);
                Reranker ours = Reranker.load(cpu, file).withActivation(ScoreActivation.IDENTITY);
                LlamaCpp theirs = LlamaCpp.load(libraries, file, TinyEncoder.POSITIONS, 1)) {
            for (int i = 0; i < TEXTS; i++) {
                String query = text(random);
                String passage = text(random);
                int[] first = ids(kind, ours.tokenizer(), theirs, query);
                int[] second = ids(kind, ours.tokenizer(), theirs, passage);
                int[] pair = Arrays.copyOf(first, first.length + second.length - 1);
                System.arraycopy(second, 1, pair, first.length, second.length - 1);
                double expected = theirs.embed(1, pair)[0];
                error = Math.max(error, Math.abs(ours.score(query, passage) - expected));
                size += Math.abs(expected) / TEXTS;
            }
        }
        System.out.printf(
                "%s: scores of %d pairs differ from llama.cpp's by %.6f at most, of a mean size of %.3f%n",
                kind, TEXTS, error, size);
        ModelChecks.require(error < 2 * BOUND && error > 0, kind + ": " + error + "; expected below " + 2 * BOUND);
        ModelChecks.require(size > 10 * BOUND, kind + ": scores are small");
    }

    private static int[] ids(Kind kind, EncoderTokenizer tokenizer, LlamaCpp theirs, String text) {
        int[] ours = tokenizer.encodeWithSpecialTokens(text);
        int[] expected = theirs.tokenize(text, true, true);
        ModelChecks.require(
                Arrays.equals(ours, expected),
                kind + " \"" + text + "\": " + Arrays.toString(ours) + "; llama.cpp has " + Arrays.toString(expected));
        return ours;
    }

    private static float[] unit(float[] vector) {
        double squares = 0;
        for (float x : vector) {
            squares += x * (double) x;
        }
        float[] unit = new float[vector.length];
        for (int i = 0; i < unit.length; i++) {
            unit[i] = (float) (vector[i] / Math.sqrt(squares));
        }
        return unit;
    }

    /**
     * Returns the angle between two vectors of length 1, computed from their difference, since the arc cosine loses all
     * digits near 1.
     */
    private static double angle(float[] a, float[] b) {
        double squares = 0;
        for (int i = 0; i < a.length; i++) {
            squares += (a[i] - b[i]) * (double) (a[i] - b[i]);
        }
        return 2 * Math.asin(Math.min(1, Math.sqrt(squares) / 2));
    }
}
