package io.multihead.demo.train;

import io.multihead.compute.Compute;
import io.multihead.demo.train.PairModel.Pair;
import io.multihead.tensor.Tensor;
import io.multihead.train.BertCrossEncoder;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A cross-encoder that learns from pairs of texts. An anchor matches its positive. It does not match its negatives and
 * the positives of the next pairs of a step, which are from other groups.
 */
public final class RerankModel implements Trainable {
    /** The number of positives of other pairs that serve as negatives of an anchor. */
    private static final int OTHERS = 3;

    private final BertCrossEncoder reranker;
    private final Compute cpu;
    private final List<List<Pair>> groups;
    private final int batch;

    /** Creates a model. A step takes one pair of each of {@code batch} groups. */
    public RerankModel(BertCrossEncoder reranker, Compute cpu, List<Pair> pairs, int batch) {
        this.reranker = reranker;
        this.cpu = cpu;
        groups = PairModel.groups(pairs);
        this.batch = Math.min(batch, groups.size());
    }

    @Override
    public String architecture() {
        return "cross-encoder of pairs of " + groups.size() + " groups, " + batch + " a step";
    }

    @Override
    public Compute cpu() {
        return cpu;
    }

    @Override
    public Map<String, Tensor> parameters() {
        return reranker.parameters();
    }

    /** Returns gradients without embeddings, which do not change, since few pairs use few of their rows. */
    @Override
    public Map<String, Tensor> gradients() {
        return reranker.gradients(Arena.ofAuto(), name -> !name.startsWith("embeddings."));
    }

    @Override
    public double learn(long seed, long step, Map<String, Tensor> gradients) {
        List<Pair> pairs = PairModel.draw(groups, batch, seed, step);
        List<String> first = new ArrayList<>();
        List<String> second = new ArrayList<>();
        List<Float> labels = new ArrayList<>();
        for (int i = 0; i < pairs.size(); i++) {
            Pair pair = pairs.get(i);
            List<String> texts = new ArrayList<>(List.of(pair.positive()));
            for (int other = 1; other <= Math.min(OTHERS, pairs.size() - 1); other++) {
                texts.add(pairs.get((i + other) % pairs.size()).positive());
            }
            texts.addAll(pair.negatives());
            for (int text = 0; text < texts.size(); text++) {
                first.add(pair.anchor());
                second.add(texts.get(text));
                labels.add(text == 0 ? 1f : 0f);
            }
        }
        float[] numbers = new float[labels.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = labels.get(i);
        }
        return reranker.learn(cpu, BertCrossEncoder.Pairs.of(first, second, numbers), gradients, seed ^ step);
    }

    @Override
    public void parametersChanged() {
        reranker.parametersChanged();
    }
}
