package io.multihead.model;

import io.multihead.attention.AttentionOutputs;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One row for each token with its query, key and value side by side, followed by the rows of attention's output. If {@code gated}, the gates of
 * each query head follow its query. If {@code shared}, keys and values belong to another layer. If {@code keysAreValues}, values are not
 * projected, but are copies of the projected keys.
 */
record AttentionLayout(
        int heads, int keyValueHeads, int headDim, int valueDim, boolean gated, boolean shared, boolean keysAreValues)
        implements PartLayout<AttentionLayout.Views> {
    record Views(
            Tensor projections,
            List<Tensor> parts,
            Tensor queries,
            @Nullable Tensor keys,
            @Nullable Tensor values,
            Tensor context,
            AttentionOutputs attended) {}

    /** Returns the number of floats from one query head to the next. */
    int queryStep() {
        return gated ? headDim + valueDim : headDim;
    }

    int queryWidth() {
        return heads * queryStep();
    }

    int keyWidth() {
        return shared ? 0 : keyValueHeads * headDim;
    }

    int valueWidth() {
        return shared ? 0 : keyValueHeads * valueDim;
    }

    int contextWidth() {
        return heads * valueDim;
    }

    /** Returns the number of floats from one token's projections to the next. */
    int stride() {
        return PartLayout.stride(queryWidth() + keyWidth() + valueWidth());
    }

    @Override
    public int floats() {
        return stride() + PartLayout.stride(contextWidth());
    }

    @Override
    public Views views(float[] buffer, int tokens) {
        int stride = stride();
        int keyAt = queryWidth();
        int valueAt = keyAt + keyWidth();
        int contextAt = tokens * stride;
        int contextStride = PartLayout.stride(contextWidth());
        List<Tensor> parts = new ArrayList<>(List.of(PartLayout.rows(buffer, 0, tokens, queryWidth(), stride)));
        if (!shared) {
            parts.add(PartLayout.rows(buffer, keyAt, tokens, keyWidth(), stride));
        }
        if (!shared && !keysAreValues) {
            parts.add(PartLayout.rows(buffer, valueAt, tokens, valueWidth(), stride));
        }
        int projected = keysAreValues ? valueAt : valueAt + valueWidth();
        return new Views(
                PartLayout.rows(buffer, 0, tokens, projected, stride),
                List.copyOf(parts),
                // the first headDim elements of each head's part of a row
                PartLayout.heads(buffer, 0, tokens, heads, queryStep(), stride).slice(3, 0, headDim),
                shared ? null : PartLayout.heads(buffer, keyAt, tokens, keyValueHeads, headDim, stride),
                shared ? null : PartLayout.heads(buffer, valueAt, tokens, keyValueHeads, valueDim, stride),
                PartLayout.rows(buffer, contextAt, tokens, contextWidth(), contextStride),
                AttentionOutputs.of(PartLayout.heads(buffer, contextAt, tokens, heads, valueDim, contextStride)));
    }
}
