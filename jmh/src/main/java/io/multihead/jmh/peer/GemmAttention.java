package io.multihead.jmh.peer;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Softmax;
import io.multihead.compute.Compute;
import io.multihead.jmh.data.Data;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.openblas.global.openblas;

/** Attention as two multiplications of OpenBLAS per head, with this library's softmax between them. */
public record GemmAttention(int[] sizes, boolean causal, Compute cpu, int threads) {
    public Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        openblas.blas_set_num_threads(threads);
        AttentionOptions options =
                (causal ? AttentionOptions.CAUSAL : AttentionOptions.DEFAULT).withScale(1 / Math.sqrt(sizes[3]));
        int tokens = sizes[2];
        int dim = sizes[3];
        int stride = sizes[1] * dim;
        int[] products = {tokens, tokens, dim};
        int[] strides = {stride, stride, tokens};
        int[] sums = {tokens, dim, tokens};
        int[] backStrides = {tokens, stride, stride};
        FloatBuffer memory = Data.zeros(tokens * tokens);
        Tensor scores = Data.tensor(memory, tokens, tokens);
        FloatPointer query = new FloatPointer(q);
        FloatPointer key = new FloatPointer(k);
        FloatPointer value = new FloatPointer(v);
        FloatPointer result = new FloatPointer(out);
        FloatPointer raw = new FloatPointer(memory);
        return () -> {
            for (int b = 0; b < sizes[0]; b++) {
                for (int h = 0; h < sizes[1]; h++) {
                    long at = ((long) b * tokens * sizes[1] + h) * sizes[3];
                    OpenBlas.product(products, strides, true, query.getPointer(at), key.getPointer(at), 0f, raw);
                    Softmax.forward(cpu, scores, scores, null, options);
                    OpenBlas.product(sums, backStrides, false, raw, value.getPointer(at), 0f, result.getPointer(at));
                }
            }
        };
    }
}
