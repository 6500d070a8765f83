package io.multihead.encoder;

import io.multihead.internal.encoder.layer.DenseFunction;

/** The function from a cross-encoder's output to a score. */
public enum ScoreActivation {
    /** The output itself, any number, as for models trained with a ranking loss. */
    IDENTITY,
    /** {@code 1 / (1 + e^-x)}, from 0 to 1: the default of sentence-transformers for a model with one label. */
    SIGMOID;

    double of(double logit) {
        return this == IDENTITY ? logit : DenseFunction.sigmoid(logit);
    }
}
