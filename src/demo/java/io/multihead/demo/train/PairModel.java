package io.multihead.demo.train;

import io.multihead.compute.Compute;
import io.multihead.tensor.Tensor;
import io.multihead.train.BertLayers;
import io.multihead.train.BertPass;
import io.multihead.train.EmbeddingLoss;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * An encoder that learns from pairs of texts. Each anchor should be nearer to its positive than to the positives of the
 * other pairs in the batch, which are from other groups.
 */
public final class PairModel implements Trainable {
    /** The scale of sentence-transformers. */
    private static final double SCALE = 20;

    private final BertLayers encoder;
    private final Compute cpu;
    private final List<List<Pair>> groups;
    private final int batch;
    private final int layers;

    /**
     * A text and a matching text.
     *
     * @param group positives of the same group are not used as negatives
     * @param negatives similar texts that do not match, or none
     */
    public record Pair(String group, String anchor, String positive, List<String> negatives) {}

    /**
     * Creates a model. A step takes one pair of each of {@code batch} groups, and trains the last {@code layers} layers
     * of the encoder.
     */
    public PairModel(BertLayers encoder, Compute cpu, List<Pair> pairs, int batch, int layers) {
        this.encoder = encoder;
        this.cpu = cpu;
        groups = groups(pairs);
        this.batch = Math.min(batch, groups.size());
        this.layers = Math.min(layers, layersOf(encoder));
    }

    private static int layersOf(BertLayers encoder) {
        return (int) encoder.parameters().keySet().stream()
                .filter(name -> name.endsWith("norm1.weight"))
                .count();
    }

    static List<List<Pair>> groups(List<Pair> pairs) {
        Map<String, List<Pair>> groups = new LinkedHashMap<>();
        pairs.forEach(pair ->
                groups.computeIfAbsent(pair.group(), _ -> new ArrayList<>()).add(pair));
        return List.copyOf(groups.values());
    }

    @Override
    public String architecture() {
        return "pairs of " + groups.size() + " groups, " + batch + " a step, vectors of " + encoder.dim()
                + ", trained layers: " + layers;
    }

    @Override
    public Compute cpu() {
        return cpu;
    }

    @Override
    public Map<String, Tensor> parameters() {
        return encoder.parameters();
    }

    /** Returns gradients without embeddings, which do not change, since few pairs use few of their rows. */
    @Override
    public Map<String, Tensor> gradients() {
        List<String> frozen = IntStream.range(0, layersOf(encoder) - layers)
                .mapToObj(layer -> "encoder.layer." + layer + ".")
                .toList();
        return encoder.gradients(
                Arena.ofAuto(),
                name -> !name.startsWith("embeddings.") && frozen.stream().noneMatch(name::startsWith));
    }

    /** Returns the pairs of a step, which are from different groups. */
    static List<Pair> draw(List<List<Pair>> groups, int count, long seed, long step) {
        SplittableRandom random = new SplittableRandom(seed * 0x9e3779b97f4a7c15L + step);
        List<List<Pair>> left = new ArrayList<>(groups);
        List<Pair> drawn = new ArrayList<>();
        while (drawn.size() < count) {
            List<Pair> group = left.remove(random.nextInt(left.size()));
            drawn.add(group.get(random.nextInt(group.size())));
        }
        return drawn;
    }

    @Override
    public double learn(long seed, long step, Map<String, Tensor> gradients) {
        List<Pair> pairs = draw(groups, batch, seed, step);
        List<String> candidates =
                new ArrayList<>(pairs.stream().map(Pair::positive).toList());
        pairs.forEach(pair -> candidates.addAll(pair.negatives()));
        long drop = seed ^ step;
        try (BertPass left =
                        encoder.record(cpu, pairs.stream().map(Pair::anchor).toList(), 2 * drop);
                BertPass right = encoder.record(cpu, candidates, 2 * drop + 1)) {
            Tensor ofLeft = Tensors.room(left.vectors().shape().toArray());
            Tensor ofRight = Tensors.room(right.vectors().shape().toArray());
            double loss =
                    EmbeddingLoss.of().symmetricNegatives(SCALE, left.vectors(), right.vectors(), ofLeft, ofRight);
            left.backward(ofLeft, gradients);
            right.backward(ofRight, gradients);
            return loss;
        }
    }

    @Override
    public void parametersChanged() {
        encoder.parametersChanged();
    }
}
