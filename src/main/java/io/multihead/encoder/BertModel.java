package io.multihead.encoder;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A BERT encoder (Devlin et al. 2019): the sum of word, type and position embeddings, normalised; then blocks of self-attention and a
 * feed-forward layer with the erf form of GELU, each added to its input and normalised afterwards (Vaswani et al. 2017).
 *
 * <p>Sequences are packed one after another, without padding. Tables of embeddings are read in place; all other weights are
 * packed. Immutable and thread-safe.
 */
final class BertModel {
    final BertConfig config;
    private final EmbeddingTables embeddings;
    private final BertLayer[] layers;

    /** How a layer is made of weights. */
    private interface LayerReader {
        BertLayer take(Weights weights, int index, BertConfig config);
    }

    private BertModel(BertConfig config, Weights weights, LayerReader reader) {
        this.config = config;
        embeddings = EmbeddingTables.take(weights, config);
        List<BertLayer> blocks = new ArrayList<>();
        for (int layer = 0; layer < config.layers(); layer++) {
            blocks.add(reader.take(weights, layer, config));
        }
        layers = blocks.toArray(BertLayer[]::new);
        weights.requireAllUsed();
    }

    /** Takes every weight of a checkpoint, and fails if one is missing or left over. */
    static BertModel of(BertConfig config, Weights weights) {
        return new BertModel(config, weights, BertLayer::take);
    }

    /** Takes what {@link #packed} returned: nothing is packed, and panels and tables are read in place. */
    static BertModel ofPacked(BertConfig config, Weights weights) {
        return new BertModel(config, weights, BertLayer::takePacked);
    }

    /** Returns all weights by name. Panels come first: in a file whose data begins on a cache line, so does each of them. */
    Map<String, Tensor> packed() {
        Map<String, Tensor> panels = new LinkedHashMap<>();
        Map<String, Tensor> others = new LinkedHashMap<>();
        for (int i = 0; i < layers.length; i++) {
            layers[i].put(i, config.dim(), panels, others);
        }
        embeddings.put(others);
        panels.putAll(others);
        return panels;
    }

    /** Returns the bytes of weights that are not mapped: packed matrices, and arrays. */
    long ownBytes() {
        long bytes = embeddings.ownBytes();
        for (BertLayer layer : layers) {
            bytes += layer.ownBytes();
        }
        return bytes;
    }

    /** Returns the bytes of weights that are read from a mapped file. */
    long mappedBytes() {
        long bytes = embeddings.mappedBytes();
        for (BertLayer layer : layers) {
            bytes += layer.mappedBytes();
        }
        return bytes;
    }

    /** Computes the vectors of all tokens of a batch into {@link Activations#states}. */
    void forward(Compute cpu, TokenBatch batch, Activations to) {
        forward(cpu, batch, to, null);
    }

    /**
     * Does the same and writes attention weights, {@code [layers, heads, tokens, keys]} with as many keys as the longest sequence
     * has tokens, where they are wanted.
     */
    void forward(Compute cpu, TokenBatch batch, Activations to, @Nullable Tensor weights) {
        Activations.Views views = to.views(batch.tokens());
        RowPasses passes = to.passes;
        passes.embed(cpu, embeddings, batch);
        PackedSequences sequences = batch.packed();
        KeyValueView keys = batch.keyValues(views.keys(), views.values());
        for (int i = 0; i < layers.length; i++) {
            BertLayer layer = layers[i];
            multiply(cpu, views.states(), layer.projections(), views.projections());
            AttentionOutputs attended =
                    weights == null ? views.attended() : views.attended().withWeights(weights.slice(0, i, i + 1));
            Attention.forward(cpu, views.queries(), sequences, keys, attended, AttentionOptions.DEFAULT);
            multiply(cpu, views.context(), layer.output(), views.update());
            passes.addAndNormalize(cpu, layer.attentionNorm(), batch.tokens());
            multiply(cpu, views.states(), layer.up(), views.inner());
            multiply(cpu, views.inner(), layer.down(), views.update());
            passes.addAndNormalize(cpu, layer.outputNorm(), batch.tokens());
        }
    }

    private static void multiply(Compute cpu, Tensor x, PackedLinear layer, Tensor y) {
        Gemm.multiply(cpu, x, layer.weights(), y, layer.options());
    }
}
