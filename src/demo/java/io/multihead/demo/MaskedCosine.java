package io.multihead.demo;

import io.multihead.compute.Compute;
import io.multihead.encoder.Neighbor;
import io.multihead.model.Block;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The cost of masking heads: the distance between the vectors of some texts and the vectors of the whole model. The
 * input states of each block are kept for one set of heads. Another set is computed from the first layer in which it
 * differs. Several threads may compute costs at the same time, except during a call of {@link #moveTo}.
 */
final class MaskedCosine {
    private final Compute cpu;
    private final Transformer model;
    private final List<TextBatch> batches;
    private final float[][] whole;
    /** The nearest other text of each text, according to the whole model. */
    private final int[] nearest;

    private boolean[][] base;
    /** The states by batch and layer. The last one is the output. */
    private Tensor[][] states;

    /**
     * Computes the vectors of the whole model.
     *
     * @param parallel threads for the batches. One thread computes one batch.
     */
    MaskedCosine(Transformer model, EncoderTokenizer tokenizer, List<String> texts, Parallel parallel) {
        this.model = model;
        cpu = parallel.serial();
        batches = TextBatch.of(tokenizer, texts);
        base = all();
        states = parallel.map(batches.size(), this::embed).toArray(Tensor[][]::new);
        parallel.map(states.length, i -> compute(base, states[i], i, 0));
        whole = vectors(states);
        nearest = parallel.map(whole.length, i -> nearestOther(whole, i)).stream()
                .mapToInt(Integer::intValue)
                .toArray();
    }

    static boolean[][] all() {
        boolean[][] kept = new boolean[TrainedModel.LAYERS][TrainedModel.HEADS];
        for (boolean[] layer : kept) {
            Arrays.fill(layer, true);
        }
        return kept;
    }

    /**
     * The remaining similarity to the vectors of the whole model.
     *
     * @param cosine mean cosine between the texts' vectors and the vectors of the whole model
     * @param sameNeighbor the share of texts with the same nearest other text as in the whole model
     */
    record Left(double cosine, double sameNeighbor) {}

    /** Returns the mean cosine between the texts' vectors and the vectors of the whole model. */
    double cosine(boolean[][] kept) {
        return cosine(vectors(from(kept)));
    }

    Left left(boolean[][] kept) {
        float[][] vectors = vectors(from(kept));
        int same = 0;
        for (int i = 0; i < vectors.length; i++) {
            same += nearestOther(vectors, i) == nearest[i] ? 1 : 0;
        }
        return new Left(cosine(vectors), (double) same / vectors.length);
    }

    private double cosine(float[][] vectors) {
        double sum = 0;
        for (int i = 0; i < vectors.length; i++) {
            sum += dot(vectors[i], whole[i]) / vectors.length;
        }
        return sum;
    }

    /** Keeps the states of this set of heads for later calls. */
    void moveTo(boolean[][] kept) {
        states = from(kept);
        base = Arrays.stream(kept).map(boolean[]::clone).toArray(boolean[][]::new);
    }

    private Tensor[][] from(boolean[][] kept) {
        int first = 0;
        while (first < TrainedModel.LAYERS && Arrays.equals(kept[first], base[first])) {
            first++;
        }
        Tensor[][] changed = new Tensor[states.length][];
        for (int i = 0; i < changed.length; i++) {
            changed[i] = compute(kept, states[i].clone(), i, first);
        }
        return changed;
    }

    /** Returns an array for the states of all layers, in which only the embeddings are set. */
    private Tensor[] embed(int batch) {
        Buffers buffers = model.buffers(batches.get(batch).tokens());
        model.withBlocks(List.of()).forward(cpu, batches.get(batch).tokenBatch(), buffers);
        Tensor[] states = new Tensor[TrainedModel.LAYERS + 1];
        states[0] = copy(buffers);
        return states;
    }

    private Tensor[] compute(boolean[][] kept, Tensor[] to, int number, int first) {
        TokenBatch batch = batches.get(number).tokenBatch();
        Buffers buffers = model.buffers(batch.tokens());
        for (int layer = first; layer < TrainedModel.LAYERS; layer++) {
            model.withBlocks(List.of(masked(layer, kept[layer]))).forwardFrom(cpu, batch, to[layer], buffers);
            to[layer + 1] = copy(buffers);
        }
        return to;
    }

    /** Returns a block in which only the kept heads contribute. */
    private Block masked(int layer, boolean... kept) {
        float[] factors = new float[kept.length];
        for (int head = 0; head < kept.length; head++) {
            factors[head] = kept[head] ? 1 : 0;
        }
        Block block = model.blocks().get(layer);
        return block.withAttention(block.attention().withHeadFactors(factors));
    }

    private static Tensor copy(Buffers buffers) {
        Tensor states = buffers.states();
        return Tensor.of(states.toArray(), states.shape().toArray());
    }

    private float[][] vectors(Tensor[][] of) {
        List<float[]> vectors = new ArrayList<>();
        for (int i = 0; i < of.length; i++) {
            vectors.addAll(batches.get(i).pool(of[i][TrainedModel.LAYERS]));
        }
        return vectors.toArray(float[][]::new);
    }

    private static int nearestOther(float[][] vectors, int text) {
        return Neighbor.nearest(vectors[text], vectors, 2).stream()
                .mapToInt(Neighbor::index)
                .filter(index -> index != text)
                .findFirst()
                .orElse(text);
    }

    private static double dot(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += (double) a[i] * b[i];
        }
        return sum;
    }
}
