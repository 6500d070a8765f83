package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;

/** A causal convolution over a few tokens, each element alone: a part of a user's, for complete sequences. */
public final class ShortConvolution implements Part {
    private final float[][] taps;

    /** Takes the factors of each token, from the token itself backwards. */
    public ShortConvolution(float[]... taps) {
        this.taps = taps;
    }

    @Override
    public int dim() {
        return taps[0].length;
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        TokenBatch batch = buffers.batch();
        float[] from = x.toArray();
        float[] to = adds ? y.toArray() : new float[from.length];
        for (int sequence = 0; sequence < batch.sequences(); sequence++) {
            int start = batch.start(sequence);
            if (batch.position(start) != 0) {
                throw new IllegalStateException("batch: continues a sequence; expected complete ones");
            }
            for (int token = start; token < batch.start(sequence + 1); token++) {
                for (int back = 0; back < taps.length && token - back >= start; back++) {
                    for (int i = 0; i < dim(); i++) {
                        to[token * dim() + i] += taps[back][i] * from[(token - back) * dim() + i];
                    }
                }
            }
        }
        Tensor.of(to, x.dim(0), dim()).copyTo(y);
    }
}
