package io.multihead.encoder;

import io.multihead.model.Buffers;
import java.util.Arrays;

/** Makes one vector of the states of a text's tokens, or of those of its parts. Sums are in double. */
final class Pooler {
    private final double[] part;
    private final double[] sum;
    private double weight;

    Pooler(int dim) {
        part = new double[dim];
        sum = new double[dim];
    }

    /** Adds a part, tokens {@code from} to {@code end - 1} of a batch; its weight counts where a text has several. */
    void add(Pooling pooling, Buffers buffers, int from, int end, int partTokens) {
        float[] states = buffers.array();
        int stride = buffers.stride();
        switch (pooling) {
            case MEAN -> mean(states, stride, from, end);
            case CLS -> first(states, stride, from);
            case MAX -> max(states, stride, from, end);
        }
        // a part without tokens is a whole text
        double more = Math.max(1, partTokens);
        for (int i = 0; i < sum.length; i++) {
            sum[i] += more * part[i];
        }
        weight += more;
    }

    /** Returns the mean of the parts since the last result. */
    float[] result(EncoderOptions how) {
        divide();
        float[] result = how.normalization().apply(sum, how.dimension());
        clear();
        return result;
    }

    /** Writes the mean of the parts since the last result, with all elements and as it is. */
    void write(float[] to, int at) {
        divide();
        for (int i = 0; i < sum.length; i++) {
            to[at + i] = (float) sum[i];
        }
        clear();
    }

    private void divide() {
        for (int i = 0; i < sum.length; i++) {
            sum[i] /= weight;
        }
    }

    void clear() {
        Arrays.fill(sum, 0);
        weight = 0;
    }

    private void first(float[] states, int stride, int from) {
        for (int i = 0; i < part.length; i++) {
            part[i] = states[from * stride + i];
        }
    }

    private void mean(float[] states, int stride, int from, int end) {
        first(states, stride, from);
        for (int token = from + 1; token < end; token++) {
            for (int i = 0; i < part.length; i++) {
                part[i] += states[token * stride + i];
            }
        }
        for (int i = 0; i < part.length; i++) {
            part[i] /= end - from;
        }
    }

    private void max(float[] states, int stride, int from, int end) {
        first(states, stride, from);
        for (int token = from + 1; token < end; token++) {
            for (int i = 0; i < part.length; i++) {
                part[i] = Math.max(part[i], states[token * stride + i]);
            }
        }
    }
}
