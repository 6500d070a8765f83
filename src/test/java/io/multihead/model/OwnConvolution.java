package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import java.util.List;

/** A user's part: a causal convolution of each element over two or more tokens. Its state is the last inputs. */
public record OwnConvolution(float[]... taps) implements Part {
    @Override
    public int dim() {
        return taps[0].length;
    }

    @Override
    public List<StateSizes> states() {
        return List.of(new RecurrentSizes((taps.length - 1) * dim()));
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        TokenBatch batch = buffers.batch();
        float[][] states = buffers.takeStates();
        float[] from = x.toArray();
        float[] to = adds ? y.toArray() : new float[from.length];
        for (int sequence = 0; sequence < batch.sequences(); sequence++) {
            float[] last = states[sequence]; // the inputs of earlier tokens, the latest first
            for (int token = batch.start(sequence); token < batch.start(sequence + 1); token++) {
                for (int i = 0; i < dim(); i++) {
                    float sum = taps[0][i] * from[token * dim() + i];
                    for (int back = 1; back < taps.length; back++) {
                        sum += taps[back][i] * last[(back - 1) * dim() + i];
                    }
                    to[token * dim() + i] += sum;
                }
                System.arraycopy(last, 0, last, dim(), (taps.length - 2) * dim());
                System.arraycopy(from, token * dim(), last, 0, dim());
            }
        }
        Tensor.of(to, x.dim(0), dim()).copyTo(y);
    }
}
