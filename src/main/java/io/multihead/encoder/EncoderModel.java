package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
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
        return new EncoderModel(config, 0, EncoderParts.of(weights));
    }

    /** Takes every weight of a checkpoint with a head that gives each sequence a number for each label. */
    static EncoderModel classifier(EncoderConfig config, int labels, Weights weights) {
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

    /** Returns the bytes of weights that are not mapped: packed matrices, and arrays. */
    long ownBytes() {
        return parts.ownBytes() + (head == null ? 0 : head.arrayBytes());
    }

    /** Returns the bytes of weights that are read from a mapped file. */
    long mappedBytes() {
        return parts.mappedBytes();
    }

    /** Returns the intermediate rows of batches of up to {@code tokens} tokens. */
    Buffers buffers(int tokens) {
        return transformer.buffers(tokens);
    }

    /** Computes the vectors of all tokens of a batch: the states of the buffers. */
    void forward(Compute cpu, TokenBatch batch, Buffers to) {
        transformer.forward(cpu, batch, to);
    }

    /**
     * Does the same and writes attention weights, {@code [layers, heads, tokens, keys]} with as many keys as the longest sequence
     * has tokens.
     */
    void forward(Compute cpu, TokenBatch batch, Buffers to, Tensor weights) {
        transformer.forward(cpu, batch, to, weights);
    }

    /** Returns the head, which a cross-encoder has. */
    ClassificationHead head() {
        return Checks.notNull(head, "head");
    }

    /** Computes what the head's first layer makes of the states of some tokens of the last call, {@code [rows, dim]}. */
    void dense(Compute cpu, int[] rows, Tensor to, Buffers buffers) {
        transformer.logits(cpu, rows, to, buffers);
    }
}
