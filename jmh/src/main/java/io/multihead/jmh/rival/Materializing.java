package io.multihead.jmh.rival;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;

/**
 * Attention as two of this library's products per head, with all scores in memory between them. The comparison shows
 * the gain from tiling.
 */
public final class Materializing {
    private Materializing() {}

    /** Returns the call for tensors {@code [batch, heads, tokens, dim]}. */
    public static Runnable attention(
            Compute cpu, Tensor query, Tensor key, Tensor value, Tensor output, AttentionOptions options) {
        int tokens = (int) query.dim(2);
        Tensor scores = Data.tensor(Data.zeros(tokens * tokens), tokens, tokens);
        AttentionOptions scaled = options.withScale(1 / Math.sqrt(query.dim(3)));
        return () -> {
            for (int b = 0; b < query.dim(0); b++) {
                for (int h = 0; h < query.dim(1); h++) {
                    Tensor keys = head(key, b, h).permute(1, 0);
                    Gemm.multiply(cpu, head(query, b, h), keys, scores, GemmOptions.DEFAULT);
                    Softmax.forward(cpu, scores, scores, null, scaled);
                    Gemm.multiply(cpu, scores, head(value, b, h), head(output, b, h), GemmOptions.DEFAULT);
                }
            }
        };
    }

    private static Tensor head(Tensor tensor, int batch, int head) {
        return tensor.select(0, batch).select(0, head);
    }
}
