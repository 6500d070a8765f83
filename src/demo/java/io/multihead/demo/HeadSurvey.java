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

    /** Number of heads in all layers. */
    int heads() {
        return weights.length;
    }

    int layers() {
        return weights.length / headsOfLayer;
    }

    int headsOfLayer() {
        return headsOfLayer;
    }

    /** The head's weights, by query and key. */
    double[][] weights(int head) {
        return weights[head];
    }

    /** Bits per token. */
    double entropy(int head) {
        return entropy[head];
    }

    double share(int head, Pattern pattern) {
        return shares[head][pattern.ordinal()];
    }

    /** The share of a head that attends to all tokens equally. */
    double chance(Pattern pattern) {
        double[][] even = new double[tokens.size()][tokens.size()];
        for (double[] row : even) {
            Arrays.fill(row, 1.0 / row.length);
        }
        return pattern.share(tokens, even);
    }

    /** Mean cosine between the weights of this head and of some others. */
    double likeness(int head, int from, int end) {
        double sum = 0;
        for (int other = from; other < end; other++) {
            sum += other == head ? 0 : cosine[head][other];
        }
        return sum / (end - from - 1);
    }

    /** Mean over a layer's heads. */
    double mean(int layer, java.util.function.IntToDoubleFunction value) {
        double sum = 0;
        for (int head = layer * headsOfLayer; head < (layer + 1) * headsOfLayer; head++) {
            sum += value.applyAsDouble(head);
        }
        return sum / headsOfLayer;
    }

    /** 1 minus the mean cosine between two heads of one layer. */
    double diversity(int layer) {
        return 1 - mean(layer, head -> likeness(head, layer * headsOfLayer, (layer + 1) * headsOfLayer));
    }

    /** The head's name in titles, counted from 1. */
    String name(int head) {
        return "layer " + (head / headsOfLayer + 1) + " head " + (head % headsOfLayer + 1);
    }
}
