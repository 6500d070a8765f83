package io.multihead.jmh;

import java.util.Arrays;

/**
 * What one call of a benchmark has to do at least: multiply and add, or read memory, whichever limits it.
 *
 * @param amount floating-point operations or bytes; NaN where no limit is known
 * @param unit which of the two
 */
record Work(double amount, Unit unit) {
    private static final Work UNKNOWN = new Work(Double.NaN, Unit.OPERATIONS);

    /** What a limit is measured in. */
    enum Unit {
        OPERATIONS("GFLOP/s", "FMA peak"),
        BYTES("GB/s", "read bandwidth");

        final String speed;
        final String limit;

        Unit(String speed, String limit) {
            this.speed = speed;
            this.limit = limit;
        }
    }

    static Work of(Case of, String impl) {
        return switch (of.benchmark()) {
            case "Sgemm" -> operations(2 * Math.pow(of.number("size"), 3));
            case "Linear" -> linear(of.number("rows"), of.number("features"));
            case "AttentionForward" -> operations(attention(sizes(of), causal(of)));
            // backward multiplies five times where forward multiplies twice
            case "AttentionBackward" ->
                operations(3.5 * attention(new double[] {1, 8, of.number("tokens"), 64}, causal(of)));
            case "AttentionDecode" -> decode(of, impl);
            case "MultiHeadAttentionLayer" -> layer(sizes(of), causal(of));
            case "TrainingStep" -> trainingStep(of.number("blocks"));
            default -> UNKNOWN;
        };
    }

    /** Billions of operations or bytes a second. */
    double speed(double milliseconds) {
        return amount / milliseconds * 1e-6;
    }

    boolean known() {
        return !Double.isNaN(amount);
    }

    private static Work operations(double amount) {
        return new Work(amount, Unit.OPERATIONS);
    }

    /** A single row multiplies each weight once, so that reading them is what takes the time. */
    private static Work linear(double rows, double features) {
        double weights = features * features;
        return rows == 1 ? new Work(Float.BYTES * weights, Unit.BYTES) : operations(2 * rows * weights);
    }

    /** A single token reads each key and value once, however many query heads share them. */
    private static Work decode(Case of, String impl) {
        int elementSize =
                switch (impl) {
                    case "bf16", "f16" -> Short.BYTES;
                    case "i8" -> Byte.BYTES;
                    default -> Float.BYTES;
                };
        return new Work(2 * of.number("keys") * of.number("keyHeads") * AttentionDecode.DIM * elementSize, Unit.BYTES);
    }

    /** Scores and weighted values of {@code batch, heads, tokens, dim}; half of them under a causal mask. */
    private static double attention(double[] s, boolean causal) {
        return s.length == 4 ? (causal ? 0.5 : 1) * 4 * s[0] * s[1] * s[2] * s[2] * s[3] : Double.NaN;
    }

    /** Four projections and attention of {@code embedDim, heads, batch, tokens}. */
    private static Work layer(double[] s, boolean causal) {
        if (s.length != 4) {
            return UNKNOWN;
        }
        double projections = 4 * 2 * s[2] * s[3] * s[0] * s[0];
        return operations(projections + attention(new double[] {s[2], s[1], s[3], s[0] / s[1]}, causal));
    }

    /** Forward and backward of a stack: three times the forward multiplications of weights, 3.5 times those of attention. */
    private static Work trainingStep(double blocks) {
        double tokens = TrainingStep.BATCH * (double) TrainingStep.TOKENS;
        double weights = 4.0 * TrainingStep.EMBED_DIM * TrainingStep.EMBED_DIM
                + 2.0 * TrainingStep.EMBED_DIM * TrainingStep.FEED_FORWARD;
        double attention = 2.0 * TrainingStep.TOKENS * TrainingStep.EMBED_DIM;
        return operations(blocks * 2 * tokens * (3 * weights + 3.5 * attention));
    }

    private static boolean causal(Case of) {
        return Boolean.parseBoolean(of.parameters().get("causal"));
    }

    /** Sizes of a shape such as {@code 1x8x512x64}; none if it is not one. */
    private static double[] sizes(Case of) {
        String shape = of.parameters().getOrDefault("shape", "");
        return shape.matches("\\d+(x\\d+)+")
                ? Arrays.stream(shape.split("x"))
                        .mapToDouble(Double::parseDouble)
                        .toArray()
                : new double[0];
    }
}
