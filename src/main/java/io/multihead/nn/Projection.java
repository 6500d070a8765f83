package io.multihead.nn;

import io.multihead.nn.MultiHeadAttention.Config;
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

    /** How many features come in. */
    long inputs(Config config) {
        return switch (this) {
            case QUERY -> config.widths().embedDim();
            case KEY -> config.widths().keyInputDim();
            case VALUE -> config.widths().valueInputDim();
        };
    }

    /** How many heads come out. */
    long heads(Config config) {
        return this == QUERY ? config.heads().queryHeads() : config.heads().kvHeads();
    }

    /** How many features come out, over all heads. */
    long outputs(Config config) {
        return heads(config)
                * (this == VALUE ? config.heads().valueDim() : config.heads().headDim());
    }

    /** How many features come out of all three projections together. */
    static long allOutputs(Config config) {
        long sum = 0;
        for (Projection projection : values()) {
            sum += projection.outputs(config);
        }
        return sum;
    }

    /** This projection's part of the first axis of a fused weight or bias. */
    Tensor rows(Config config, Tensor fused) {
        return slice(config, fused, 0);
    }

    /** This projection's heads {@code [batch, heads, tokens, features]} in a fused result {@code [batch, tokens, all]}. */
    Tensor heads(Config config, Tensor fused) {
        return Views.splitHeads(slice(config, fused, 2), heads(config));
    }

    private Tensor slice(Config config, Tensor fused, int axis) {
        long from = 0;
        for (Projection before : values()) {
            if (before.ordinal() < ordinal()) {
                from += before.outputs(config);
            }
        }
        return fused.slice(axis, from, from + outputs(config));
    }
}
