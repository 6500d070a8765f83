package io.multihead.internal.encoder.layer;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.StateAccess;
import io.multihead.model.Buffers;
import io.multihead.model.Pooling;
import java.util.Arrays;
import java.util.List;

/** Computes one vector from the states of a text's tokens, or from the states of its parts. Sums are in double. */
public final class Pooler {
    private final int dim;
    private final double[] part;
    private final double[] sum;
    private double weight;

    /** Creates a pooler whose vectors have {@code modes} times as many elements as a state. */
    public Pooler(int dim, int modes) {
        this.dim = dim;
        part = new double[Checks.product("pooling x hidden_size", modes, dim)];
        sum = new double[part.length];
    }

    /** Returns the number of poolings whose results are concatenated. */
    public int modes() {
        return part.length / dim;
    }

    /**
     * Adds a part: tokens {@code from} to {@code end - 1} of a batch. The first {@code ignored} tokens only affect positions. The weight of the
     * part has an effect only if a text has several parts.
     */
    public void add(List<Pooling> modes, Buffers buffers, int from, int end, int ignored, int partTokens) {
        float[] states = StateAccess.array(buffers);
        int stride = (int) buffers.states().stride(0);
        int first = from + ignored;
        if (first == end) {
            Arrays.fill(part, 0); // the result without tokens, as in PyTorch's EmbeddingBag
        }
        for (int i = 0; i < modes.size() && first < end; i++) {
            int at = i * dim;
            switch (modes.get(i)) {
                case MEAN -> mean(states, stride, first, end, at, end - first);
                case MEAN_SQRT_LEN -> mean(states, stride, first, end, at, Math.sqrt(end - first));
                case WEIGHTED_MEAN -> weightedMean(states, stride, first, end, at, ignored);
                case CLS -> copy(states, stride, from, at);
                case LAST -> copy(states, stride, end - 1, at);
                case MAX -> max(states, stride, first, end, at);
            }
        }
        // a part without tokens is a whole text
        double more = Math.max(1, partTokens);
        for (int i = 0; i < sum.length; i++) {
            sum[i] += more * part[i];
        }
        weight += more;
    }

    /** Returns the mean of the parts since the last result. */
    public float[] result(Normalization normalization, int dimension) {
        divide();
        float[] result = normalization.apply(sum, dimension);
        clear();
        return result;
    }

    /** Writes the mean of the parts since the last result, with all elements and not normalized. */
    public void write(float[] to, int at) {
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

    public void clear() {
        Arrays.fill(sum, 0);
        weight = 0;
    }

    private void copy(float[] states, int stride, int token, int at) {
        for (int i = 0; i < dim; i++) {
            part[at + i] = states[token * stride + i];
        }
    }

    private void mean(float[] states, int stride, int from, int end, int at, double divisor) {
        copy(states, stride, from, at);
        for (int token = from + 1; token < end; token++) {
            for (int i = 0; i < dim; i++) {
                part[at + i] += states[token * stride + i];
            }
        }
        for (int i = 0; i < dim; i++) {
            part[at + i] /= divisor;
        }
    }

    /** Computes the mean with the weights {@code before + 1}, {@code before + 2} and so on. */
    private void weightedMean(float[] states, int stride, int from, int end, int at, int before) {
        Arrays.fill(part, at, at + dim, 0);
        double weights = 0;
        for (int token = from; token < end; token++) {
            double place = before + token - from + 1;
            weights += place;
            for (int i = 0; i < dim; i++) {
                part[at + i] += place * states[token * stride + i];
            }
        }
        for (int i = 0; i < dim; i++) {
            part[at + i] /= weights;
        }
    }

    private void max(float[] states, int stride, int from, int end, int at) {
        copy(states, stride, from, at);
        for (int token = from + 1; token < end; token++) {
            for (int i = 0; i < dim; i++) {
                part[at + i] = Math.max(part[at + i], states[token * stride + i]);
            }
        }
    }
}
