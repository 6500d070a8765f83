package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An encoder of a family, with its weights. Sequences are packed one after another, without padding. Tables of embeddings are read in place;
 * all other weights are packed. Immutable and thread-safe.
 */
final class EncoderModel {
    final EncoderConfig config;
    private final EncoderParts parts;
    /** Its states are the vectors of tokens, and its logits those of the head's first layer. */
    final Transformer transformer;

    /** Of a cross-encoder. */
    private final @Nullable ClassificationHead head;

    private EncoderModel(EncoderConfig config, int labels, EncoderParts parts) {
        this.config = config;
        this.parts = parts;
        Transformer headless = config.model(parts);
        head = labels == 0 ? null : config.head(parts, labels);
        parts.requireAllUsed();
        transformer = head == null ? headless : headless.withHead(head.dense());
    }

    /** Takes every weight of a checkpoint, and fails if one is missing or left over. */
    static EncoderModel of(EncoderConfig config, Weights weights) {
        return of(config, 0, weights);
    }

    /** Does the same, with a head that gives each sequence a number for each label, or without for 0 labels. */
    static EncoderModel of(EncoderConfig config, int labels, Weights weights) {
        return new EncoderModel(config, labels, EncoderParts.of(weights));
    }

    /** Takes what {@link #packed} returned: nothing is packed, and panels and tables are read in place. */
    static EncoderModel ofPacked(EncoderConfig config, Weights weights) {
        return new EncoderModel(config, 0, EncoderParts.ofPacked(weights));
    }

    /** Returns all weights by name. */
    Map<String, Tensor> packed() {
        return parts.named();
    }

    /** Returns the bytes of weights that are read from a mapped file, or those of others: packed matrices, and arrays. */
    long bytes(boolean mapped) {
        return parts.bytes(mapped) + (mapped || head == null ? 0 : head.arrayBytes());
    }

    /** Returns the head, which a cross-encoder has. */
    ClassificationHead head() {
        return Checks.notNull(head, "head");
    }
}
