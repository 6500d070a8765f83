package io.multihead.jmh.peer;

import io.multihead.compute.Compute;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.data.LayerWeights;
import java.nio.FloatBuffer;

/**
 * An attention layer with OpenBLAS: a multiplication per projection, which adds to the bias, and {@link GemmAttention}.
 */
public record GemmLayer(int rows, LayerWeights weights, int threads) {
    /** Returns the layer for {@code sizes}: batch, heads, tokens, head dim. */
    public Runnable on(int[] sizes, Compute cpu, FloatBuffer x, FloatBuffer y) {
        int length = rows * weights.features();
        FloatBuffer q = Data.zeros(length);
        FloatBuffer k = Data.zeros(length);
        FloatBuffer v = Data.zeros(length);
        FloatBuffer heads = Data.zeros(length);
        Runnable query = projection(0, x, q);
        Runnable key = projection(1, x, k);
        Runnable value = projection(2, x, v);
        Runnable attention = new GemmAttention(sizes, false, cpu, threads).on(q, k, v, heads);
        Runnable output = projection(3, heads, y);
        return () -> {
            query.run();
            key.run();
            value.run();
            attention.run();
            output.run();
        };
    }

    private Runnable projection(int part, FloatBuffer from, FloatBuffer to) {
        int features = weights.features();
        FloatBuffer bias = weights.bias(part);
        Runnable product = OpenBlas.multiply(
                new int[] {rows, features, features}, threads, from, weights.transposed(part), 1f, to);
        return () -> {
            for (int i = 0; i < rows; i++) {
                to.put(i * features, bias, 0, features);
            }
            product.run();
        };
    }
}
