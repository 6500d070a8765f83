package io.multihead.encoder;

import io.multihead.internal.encoder.layer.DenseFunction;

/** What a cross-encoder's output becomes before it is a score. */
public enum ScoreActivation {
    /** The output itself, any number: what a model trained with a ranking loss has. */
    IDENTITY,
    /** {@code 1 / (1 + e^-x)}, from 0 to 1: what sentence-transformers takes where a model has one label and names nothing else. */
    SIGMOID;

    double of(double logit) {
        return this == IDENTITY ? logit : DenseFunction.sigmoid(logit);
    }
}
