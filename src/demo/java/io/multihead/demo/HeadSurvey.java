package io.multihead.demo;

import io.multihead.analysis.HeadStatistics;
import io.multihead.encoder.TextAttention;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.List;

/** Measurements of every head of a model on one text. Heads are numbered consecutively over all layers. */
final class HeadSurvey {
    private final List<String> tokens;
    private final int headsOfLayer;
    private final double[][][] weights;
    private final double[] entropy;
    private final double[][] cosine;
    private final double[][] shares;

    HeadSurvey(TextAttention attention) {
        tokens = attention.tokens();
        int layers = (int) attention.weights().dim(0);
        headsOfLayer = (int) attention.weights().dim(1);
        int n = tokens.size();
        Tensor all = attention.weights().reshape((long) layers * headsOfLayer, n, n);
        weights = new double[layers * headsOfLayer][][];
        Arrays.setAll(weights, head -> Values.matrix(all.select(0, head)));
        HeadStatistics statistics = HeadStatistics.of(all);
        entropy = statistics.entropy();
        cosine = statistics.cosineSimilarity();
        shares = new double[weights.length][Pattern.values().length];
        for (int head = 0; head < weights.length; head++) {
            for (Pattern pattern : Pattern.values()) {
                shares[head][pattern.ordinal()] = pattern.share(tokens, weights[head]);
            }
        }
    }

    List<String> tokens() {
        return tokens;
    }

    /** Returns the number of heads in all layers. */
    int heads() {
        return weights.length;
    }

    int layers() {
        return weights.length / headsOfLayer;
    }

    int headsOfLayer() {
        return headsOfLayer;
    }

    /** Returns the head's weights by query and key. */
    double[][] weights(int head) {
        return weights[head];
    }

    /** Returns the mean entropy of the head's weights, in bits per token. */
    double entropy(int head) {
        return entropy[head];
    }

    double share(int head, Pattern pattern) {
        return shares[head][pattern.ordinal()];
    }

    /** Returns the share of a head that attends to all tokens equally. */
    double chance(Pattern pattern) {
        double[][] even = new double[tokens.size()][tokens.size()];
        for (double[] row : even) {
            Arrays.fill(row, 1.0 / row.length);
        }
        return pattern.share(tokens, even);
    }

    /** Returns the mean cosine between the weights of this head and the weights of other heads. */
    double likeness(int head, int from, int end) {
        double sum = 0;
        for (int other = from; other < end; other++) {
            sum += other == head ? 0 : cosine[head][other];
        }
        return sum / (end - from - 1);
    }

    /** Returns the mean over the heads of a layer. */
    double mean(int layer, java.util.function.IntToDoubleFunction value) {
        double sum = 0;
        for (int head = layer * headsOfLayer; head < (layer + 1) * headsOfLayer; head++) {
            sum += value.applyAsDouble(head);
        }
        return sum / headsOfLayer;
    }

    /** Returns 1 minus the mean cosine between two heads of one layer. */
    double diversity(int layer) {
        return 1 - mean(layer, head -> likeness(head, layer * headsOfLayer, (layer + 1) * headsOfLayer));
    }

    /** Returns the head's name in titles, with numbers from 1 on. */
    String name(int head) {
        return "layer " + (head / headsOfLayer + 1) + " head " + (head % headsOfLayer + 1);
    }
}
