package io.multihead.internal.encoder.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Given;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import org.jspecify.annotations.Nullable;

/**
 * An encoder of a family, with its weights. Sequences are packed one after another, without padding. Tables of embeddings are read in place;
 * all other weights are packed. Immutable and thread-safe.
 */
public final class EncoderModel {
    public final EncoderConfig config;
    public final Given weights;
    /** Its states are the vectors of tokens, and its logits are the output of the head's first layer. */
    public final Transformer transformer;

    /** The head of a cross-encoder; null for other models. */
    private final @Nullable ClassificationHead head;

    /** Takes every weight of a model without a head, and fails if a weight is missing or unused. */
    public EncoderModel(EncoderConfig config, Weights weights) {
        this(config, 0, weights);
    }

    /** Does the same with a head that gives each sequence a number for each label; 0 labels mean no head. */
    public EncoderModel(EncoderConfig config, int labels, Weights weights) {
        this.config = config;
        Transformer headless = config.model(weights);
        head = labels == 0 ? null : config.head(weights, labels);
        weights.requireAllUsed();
        this.weights = weights.given();
        transformer = head == null ? headless : headless.withHead(head.dense());
    }

    /** Returns the head, which a cross-encoder has. */
    public ClassificationHead head() {
        return Checks.notNull(head, "head");
    }
}
