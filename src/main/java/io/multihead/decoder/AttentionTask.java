package io.multihead.decoder;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Computes all tokens of a session, and the attention weights of the last token in some layers. */
final class AttentionTask extends SessionTask {
    private final int[] layers;
    private final float[][] found;
    private boolean isDone;

    AttentionTask(SessionState session, int[] layers) {
        super(session);
        this.layers = layers;
        found = new float[layers.length][];
        Checks.distinctIndices(layers, session.cache.layers(), "layers");
        for (int layer : layers) {
            if (session.cache.heads(layer) == 0) {
                throw Checks.fail("layers", layer + ", which has no softmax attention", "expected some of " + with());
            }
        }
    }

    private List<Integer> with() {
        return IntStream.range(0, session.cache.layers())
                .filter(layer -> session.cache.heads(layer) > 0)
                .boxed()
                .toList();
    }

    /** Returns the weights, indexed by requested layer, by head, and by token of the session. */
    float[][][] weights() {
        int keys = session.tokens.size();
        float[][][] weights = new float[layers.length][][];
        for (int i = 0; i < layers.length; i++) {
            weights[i] = new float[session.cache.heads(layers[i])][keys];
            for (int head = 0; head < weights[i].length; head++) {
                System.arraycopy(found[i], head * keys, weights[i][head], 0, keys);
            }
        }
        return weights;
    }

    @Override
    @Nullable
    Step next(int mostTokens) {
        if (isDone) {
            return null;
        }
        Step chunk = session.prefill(mostTokens, true);
        if (chunk != null) {
            return chunk;
        }
        int[] tokens = session.tokens.array();
        int waiting = session.tokens.size() - session.computed;
        if (waiting > 1) {
            return session.step.set(tokens, session.computed, waiting - 1, 0, 1);
        }
        return session.step
                .set(tokens, session.computed, 1, 0, 0)
                .withSnapshot(true)
                .withAttention(destinations());
    }

    private List<@Nullable Tensor> destinations() {
        int keys = session.tokens.size();
        List<@Nullable Tensor> byLayer = new ArrayList<>();
        for (int layer = 0; layer < session.cache.layers(); layer++) {
            byLayer.add(null);
        }
        for (int i = 0; i < layers.length; i++) {
            int heads = session.cache.heads(layers[i]);
            found[i] = new float[Checks.product("heads x tokens", heads, keys)];
            byLayer.set(layers[i], Tensor.of(found[i], heads, 1, keys));
        }
        return byLayer;
    }

    @Override
    void accept(Sampler sampler) {
        session.computed += session.step.count;
        isDone = !session.step.attention.isEmpty();
    }
}
