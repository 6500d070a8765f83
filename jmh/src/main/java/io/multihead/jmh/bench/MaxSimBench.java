package io.multihead.jmh.bench;

import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.MaxSim;
import io.multihead.gemm.PackedWeights;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/**
 * Late interaction of a query of 32 tokens with passages of 300 tokens, with vectors of 128 elements, is compared with
 * its products only.
 */
public class MaxSimBench extends ThreadedComparison {
    private static final int QUERY = 32;
    private static final int TOKENS = 300;
    private static final int DIM = 128;

    /** {@code packed} is only the matrix product, with a packed query. {@code scalar} has plain loops over arrays. */
    @Param({"multihead", "packed", "scalar"})
    public String impl;

    @Param({"1", "100"})
    public int passages;

    @Override
    public Work work() {
        return Work.operations(2.0 * QUERY * TOKENS * DIM * passages);
    }

    @Override
    void open() {
        FloatBuffer query = Data.gaussian(QUERY * DIM, 1);
        FloatBuffer tokens = Data.gaussian(passages * TOKENS * DIM, 2);
        FloatBuffer expected = Data.zeros(passages);
        FloatBuffer scores = Data.zeros(passages);
        ours(query, tokens, expected).run();
        load(impl, () -> make(query, tokens, scores));
        if (!impl.equals("packed")) {
            // 128 roundings of 2^-24 each in products of up to 50; with random signs, their sum is about the square
            // root of 128
            Data.requireClose(impl, expected, scores, 1e-5);
        }
    }

    private Runnable make(FloatBuffer query, FloatBuffer tokens, FloatBuffer scores) {
        return switch (impl) {
            case "multihead" -> ours(query, tokens, scores);
            case "packed" -> {
                Tensor rows = Data.tensor(tokens, passages * TOKENS, DIM);
                Tensor products = Data.tensor(Data.zeros(passages * TOKENS * QUERY), passages * TOKENS, QUERY);
                PackedWeights packed = PackedWeights.ofOutputRows(Data.tensor(query, QUERY, DIM));
                yield () -> Gemm.multiply(cpu, rows, packed, products, GemmOptions.DEFAULT);
            }
            case "scalar" -> {
                float[] left = Data.array(query);
                float[] right = Data.array(tokens);
                yield () -> loops(left, right, scores);
            }
            default -> throw unknown(impl);
        };
    }

    private Runnable ours(FloatBuffer query, FloatBuffer tokens, FloatBuffer scores) {
        long[] offsets = new long[passages + 1];
        for (int i = 1; i < offsets.length; i++) {
            offsets[i] = offsets[i - 1] + TOKENS;
        }
        Tensor left = Data.tensor(query, QUERY, DIM);
        Tensor right = Data.tensor(tokens, passages * TOKENS, DIM);
        Tensor to = Data.tensor(scores, passages);
        return () -> MaxSim.scores(cpu, left, right, offsets, to);
    }

    private void loops(float[] query, float[] tokens, FloatBuffer scores) {
        for (int passage = 0; passage < passages; passage++) {
            float score = 0;
            for (int i = 0; i < QUERY; i++) {
                float best = Float.NEGATIVE_INFINITY;
                for (int token = passage * TOKENS; token < (passage + 1) * TOKENS; token++) {
                    float sum = 0;
                    for (int d = 0; d < DIM; d++) {
                        sum += query[i * DIM + d] * tokens[token * DIM + d];
                    }
                    best = Math.max(best, sum);
                }
                score += best;
            }
            scores.put(passage, score);
        }
    }
}
