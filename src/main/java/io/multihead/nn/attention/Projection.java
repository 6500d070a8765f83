package io.multihead.nn.attention;

import io.multihead.internal.nn.Views;
import io.multihead.tensor.Tensor;

/** The three input projections, in the order of their rows in a fused weight. */
enum Projection {
    QUERY("q_proj_weight"),
    KEY("k_proj_weight"),
    VALUE("v_proj_weight");

    private final String weightName;

    Projection(String weightName) {
        this.weightName = weightName;
    }

    String weightName() {
        return weightName;
    }

    /** Returns the number of features of an input. */
    long inputs(MultiHeadConfig config) {
        return switch (this) {
            case QUERY -> config.embedDim();
            case KEY -> config.keyInputDim();
            case VALUE -> config.valueInputDim();
        };
    }

    /** Returns the number of heads of the result. */
    long heads(MultiHeadConfig config) {
        return this == QUERY ? config.queryHeads() : config.keyValueHeads();
    }

    /** Returns the number of features of the result, over all heads. */
    long outputs(MultiHeadConfig config) {
        return heads(config) * (this == VALUE ? config.valueDim() : config.headDim());
    }

    /** Returns the number of features of the results of all three projections together. */
    static long allOutputs(MultiHeadConfig config) {
        long sum = 0;
        for (Projection projection : values()) {
            sum += projection.outputs(config);
        }
        return sum;
    }

    /** Returns this projection's part of the first axis of a fused weight or bias. */
    Tensor rows(MultiHeadConfig config, Tensor fused) {
        return slice(config, fused, 0);
    }

    /** Returns this projection's heads {@code [batch, heads, tokens, features]} in a fused result {@code [batch, tokens, all]}. */
    Tensor heads(MultiHeadConfig config, Tensor fused) {
        return Views.splitHeads(slice(config, fused, 2), heads(config));
    }

    private Tensor slice(MultiHeadConfig config, Tensor fused, int axis) {
        long from = 0;
        for (Projection before : values()) {
            if (before.ordinal() < ordinal()) {
                from += before.outputs(config);
            }
        }
        return fused.slice(axis, from, from + outputs(config));
    }
}
