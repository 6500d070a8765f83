package io.multihead.internal.encoder.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.layer.ClassificationHead;
import io.multihead.internal.load.Given;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import org.jspecify.annotations.Nullable;

/**
 * An encoder of a family, with its weights. Sequences are packed without padding. Tables of embeddings are read in place; all other weights are
 * packed. Immutable and thread-safe.
 */
public final class EncoderModel {
    public final EncoderConfig config;
    public final Given weights;
    /** The transformer, whose states are the vectors of tokens, and whose logits are the output of the head's first layer. */
    public final Transformer transformer;

    /** The head of a cross-encoder; null for other models. */
    private final @Nullable ClassificationHead head;

    /** Takes every weight of a model without a head, and fails if a weight is missing or unused. */
    public EncoderModel(EncoderConfig config, Weights weights) {
        this(config, 0, weights);
    }

    /** Takes every weight of a model with a head that computes a number for each label of a sequence. 0 labels mean no head. */
    public EncoderModel(EncoderConfig config, int labels, Weights weights) {
        this.config = config;
        Transformer headless = config.model(weights);
        head = labels == 0 ? null : config.head(weights, labels);
        weights.requireAllUsed();
        this.weights = weights.given();
        transformer = head == null ? headless : headless.withHead(head.dense());
    }

    /** Returns the head of a cross-encoder. It fails for other models. */
    public ClassificationHead head() {
        return Checks.notNull(head, "head");
    }
}
