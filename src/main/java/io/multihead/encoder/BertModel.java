package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.model.Buffers;
import io.multihead.model.EmbeddingTables;
import io.multihead.model.Norm;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A BERT encoder (Devlin et al. 2019): the sum of word, type and position embeddings, normalised; then blocks of self-attention and a
 * feed-forward layer with the erf form of GELU, each added to its input and normalised afterwards (Vaswani et al. 2017). RoBERTa and XLM-R
 * differ in the row of the first position.
 *
 * <p>Sequences are packed one after another, without padding. Tables of embeddings are read in place; all other weights are
 * packed. Immutable and thread-safe.
 */
final class BertModel {
    final BertConfig config;
    private final Tensor words;
    private final Tensor types;
    private final Tensor positions;
    private final Norm embeddingNorm;
    private final List<BertLayer> layers;
    final Transformer transformer;
    /** Of a cross-encoder. */
    private final @Nullable ClassificationHead head;

    /** How a layer is made of weights. */
    private interface LayerReader {
        BertLayer take(Weights weights, int index, BertConfig config);
    }

    private BertModel(BertConfig config, int labels, Weights weights, LayerReader reader) {
        this.config = config;
        words = weights.take(BertParts.WORDS, config.vocabulary(), config.dim());
        int rows = config.firstPosition() + config.positions();
        positions = weights.take(BertParts.POSITIONS, rows, config.dim());
        types = weights.take(BertParts.TYPES, config.types(), config.dim());
        embeddingNorm = BertParts.norm(weights, BertParts.EMBEDDING_NORM, config);
        List<BertLayer> all = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            all.add(reader.take(weights, layer, config));
        }
        layers = List.copyOf(all);
        head = labels == 0 ? null : ClassificationHead.take(weights, config, labels);
        weights.requireAllUsed();
        EmbeddingTables tables = EmbeddingTables.of(words)
                .withTypes(types)
                .withPositions(positions.slice(0, config.firstPosition(), rows))
                .withNorm(embeddingNorm);
        Transformer headless = Transformer.of(
                tables, layers.stream().map(layer -> layer.block(config)).toList());
        transformer = head == null ? headless : headless.withHead(head.dense());
    }

    /** Takes every weight of a checkpoint, and fails if one is missing or left over. */
    static BertModel of(BertConfig config, Weights weights) {
        return new BertModel(config, 0, weights, BertLayer::take);
    }

    /** Takes every weight of a checkpoint with a head that gives each sequence a number for each label. */
    static BertModel classifier(BertConfig config, int labels, Weights weights) {
        return new BertModel(config, labels, weights, BertLayer::take);
    }

    /** Takes what {@link #packed} returned: nothing is packed, and panels and tables are read in place. */
    static BertModel ofPacked(BertConfig config, Weights weights) {
        return new BertModel(config, 0, weights, BertLayer::takePacked);
    }

    /** Returns all weights by name. Panels come first: in a file whose data begins on a cache line, so does each of them. */
    Map<String, Tensor> packed() {
        Map<String, Tensor> panels = new LinkedHashMap<>();
        Map<String, Tensor> others = new LinkedHashMap<>();
        for (int i = 0; i < layers.size(); i++) {
            layers.get(i).put(i, panels, others);
        }
        others.put(BertParts.WORDS, words);
        others.put(BertParts.POSITIONS, positions);
        others.put(BertParts.TYPES, types);
        BertParts.put(embeddingNorm, BertParts.EMBEDDING_NORM, others);
        panels.putAll(others);
        return panels;
    }

    /** Returns the bytes of weights that are not mapped: packed matrices, and arrays. */
    long ownBytes() {
        return (head == null ? 0 : head.bytes())
                + embeddingNorm.bytes()
                + tables(false)
                + layers.stream().mapToLong(BertLayer::ownBytes).sum();
    }

    /** Returns the bytes of weights that are read from a mapped file. */
    long mappedBytes() {
        return tables(true) + layers.stream().mapToLong(BertLayer::mappedBytes).sum();
    }

    private long tables(boolean mapped) {
        return BertParts.bytes(words, mapped) + BertParts.bytes(types, mapped) + BertParts.bytes(positions, mapped);
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
