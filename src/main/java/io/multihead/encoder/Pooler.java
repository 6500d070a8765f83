package io.multihead.encoder;

import java.util.Arrays;

/** Makes one vector of the states of a text's tokens, or of those of its parts. Sums are in double. */
final class Pooler {
    /** As PyTorch's {@code normalize}: shorter vectors keep their direction and stay short. */
    private static final double LEAST_NORM = 1e-12;

    private final double[] part;
    private final double[] sum;
    private double weight;

    Pooler(int dim) {
        part = new double[dim];
        sum = new double[dim];
    }

    /** Adds a part, tokens {@code from} to {@code end - 1} of a batch; its weight counts where a text has several. */
    void add(Pooling pooling, Activations activations, int from, int end, int partTokens) {
        switch (pooling) {
            case MEAN -> mean(activations, from, end);
            case CLS -> first(activations, from);
            case MAX -> max(activations, from, end);
        }
        // a part without tokens is a whole text
        double more = Math.max(1, partTokens);
        for (int i = 0; i < sum.length; i++) {
            sum[i] += more * part[i];
        }
        weight += more;
    }

    /** Returns the mean of the parts since the last result. */
    float[] result(boolean normalized) {
        double squares = 0;
        for (int i = 0; i < sum.length; i++) {
            sum[i] /= weight;
            squares += sum[i] * sum[i];
        }
        double divisor = normalized ? Math.max(Math.sqrt(squares), LEAST_NORM) : 1;
        float[] result = new float[sum.length];
        for (int i = 0; i < result.length; i++) {
            result[i] = (float) (sum[i] / divisor);
        }
        clear();
        return result;
    }

    void clear() {
        Arrays.fill(sum, 0);
        weight = 0;
    }

    private void first(Activations activations, int from) {
        for (int i = 0; i < part.length; i++) {
            part[i] = activations.states[from * activations.stride + i];
        }
    }

    private void mean(Activations activations, int from, int end) {
        first(activations, from);
        for (int token = from + 1; token < end; token++) {
            for (int i = 0; i < part.length; i++) {
                part[i] += activations.states[token * activations.stride + i];
            }
        }
        for (int i = 0; i < part.length; i++) {
            part[i] /= end - from;
        }
    }

    private void max(Activations activations, int from, int end) {
        first(activations, from);
        for (int token = from + 1; token < end; token++) {
            for (int i = 0; i < part.length; i++) {
                part[i] = Math.max(part[i], activations.states[token * activations.stride + i]);
            }
        }
    }
}
