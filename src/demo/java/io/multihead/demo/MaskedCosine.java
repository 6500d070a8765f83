package io.multihead.demo;

import io.multihead.demo.BlockEncoder.Batch;
import io.multihead.encoder.Neighbour;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The cost of silencing heads: how far the vectors of some texts move from those of the whole model. States that go into each block are
 * kept for one set of heads, so that a set which differs from it in a late layer is computed from there. Several threads may ask for
 * costs at a time, unless one moves to other heads.
 */
final class MaskedCosine {
    private final BlockEncoder model;
    private final List<Batch> batches;
    private final float[][] whole;
    /** The nearest other text of each, as the whole model has it. */
    private final int[] nearest;

    private boolean[][] base;
    /** By batch and layer; the last one is what comes out. */
    private Tensor[][] states;

    /**
     * Computes the vectors of the whole model.
     *
     * @param model computes on the calling thread alone
     * @param parallel threads for the batches
     */
    MaskedCosine(BlockEncoder model, EncoderTokenizer tokenizer, List<String> texts, Parallel parallel) {
        this.model = model;
        batches = model.batches(tokenizer, texts);
        base = all();
        states = new Tensor[batches.size()][];
        for (int i = 0; i < states.length; i++) {
            states[i] = new Tensor[BlockEncoder.LAYERS + 1];
            states[i][0] = batches.get(i).embedded();
        }
        parallel.map(states.length, i -> compute(base, states[i], i, 0));
        whole = vectors(states);
        nearest = parallel.map(whole.length, i -> nearestOther(whole, i)).stream()
                .mapToInt(Integer::intValue)
                .toArray();
    }

    static boolean[][] all() {
        boolean[][] kept = new boolean[BlockEncoder.LAYERS][BlockEncoder.HEADS];
        for (boolean[] layer : kept) {
            Arrays.fill(layer, true);
        }
        return kept;
    }

    /**
     * The similarity that remains to the vectors of the whole model.
     *
     * @param cosine mean cosine between the texts' vectors and those of the whole model
     * @param sameNeighbour the share of texts whose nearest other text is that of the whole model
     */
    record Left(double cosine, double sameNeighbour) {}

    /** Mean cosine between the texts' vectors and those of the whole model. */
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

    /** Keeps the states of this set of heads for the calls to come. */
    void moveTo(boolean[][] kept) {
        states = from(kept);
        base = Arrays.stream(kept).map(boolean[]::clone).toArray(boolean[][]::new);
    }

    private Tensor[][] from(boolean[][] kept) {
        int first = 0;
        while (first < BlockEncoder.LAYERS && Arrays.equals(kept[first], base[first])) {
            first++;
        }
        Tensor[][] changed = new Tensor[states.length][];
        for (int i = 0; i < changed.length; i++) {
            changed[i] = compute(kept, states[i].clone(), i, first);
        }
        return changed;
    }

    private Tensor[] compute(boolean[][] kept, Tensor[] to, int batch, int first) {
        for (int layer = first; layer < BlockEncoder.LAYERS; layer++) {
            to[layer + 1] = model.block(layer, batches.get(batch), to[layer], kept[layer]);
        }
        return to;
    }

    private float[][] vectors(Tensor[][] of) {
        List<float[]> vectors = new ArrayList<>();
        for (int i = 0; i < of.length; i++) {
            BlockEncoder.pool(batches.get(i), of[i][BlockEncoder.LAYERS], vectors);
        }
        return vectors.toArray(float[][]::new);
    }

    private static int nearestOther(float[][] vectors, int text) {
        return Neighbour.nearest(vectors[text], vectors, 2).stream()
                .mapToInt(Neighbour::index)
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
