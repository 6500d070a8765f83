package io.multihead.demo;

import io.multihead.analysis.HeadPruning;
import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.model.Block;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Removes heads of the trained model. The order of removal is found with every sixteenth sentence, and evaluated with
 * all other sentences.
 */
final class TrainedPruning {
    /** Every sixteenth sentence is used for the search, the others for the evaluation. */
    private static final int SEARCHED = 16;

    private static final int ROUND = 18;
    /** With fewer sentences, which is a quick run and not a study, the losses are measured only once. */
    private static final int FEW = 32;

    private static final int TIMED = 5;

    /** The number of steps of the progress bar. */
    static final int STEPS = 5;

    /** All threads, for measured times. */
    private final Compute cpu;

    private final Transformer model;
    private final Parallel parallel;
    private final MaskedCosine searched;
    private final MaskedCosine judged;
    private final TextBatch timed;
    private final int sentences;
    private final int round;
    private final Consumer<String> step;

    TrainedPruning(Compute cpu, SentenceEncoder encoder, List<String> texts, Parallel parallel, Consumer<String> step) {
        this.cpu = cpu;
        model = encoder.transformer();
        this.parallel = parallel;
        this.step = step;
        List<String> search = new ArrayList<>();
        List<String> judge = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            (i % SEARCHED == 0 ? search : judge).add(texts.get(i));
        }
        sentences = judge.size();
        round = texts.size() < FEW ? TrainedModel.LAYERS * TrainedModel.HEADS : ROUND;
        searched = new MaskedCosine(model, encoder.tokenizer(), search, parallel);
        judged = new MaskedCosine(model, encoder.tokenizer(), judge, parallel);
        timed = TextBatch.of(encoder.tokenizer(), judge).getFirst();
    }

    /** Returns the number of sentences for the evaluation. */
    int sentences() {
        return sentences;
    }

    /** Returns the number of removals between two measurements of the losses of all heads. */
    int round() {
        return round;
    }

    int timedTokens() {
        return timed.tokens();
    }

    /**
     * Measurements on the sentences of the search.
     *
     * @param lost the loss of cosine without each single head
     * @param steps the order in which heads are removed, until each layer has one head
     */
    record Order(double[][] lost, List<HeadPruning.Step> steps) {}

    /** Repeatedly removes the head with the smallest loss. The losses are measured once in a round. */
    Order order() {
        List<double[][]> rounds = new ArrayList<>();
        List<HeadPruning.Step> steps = HeadPruning.greedy(
                        TrainedModel.LAYERS,
                        TrainedModel.HEADS,
                        kept -> 1, // removal continues for any cost
                        kept -> {
                            int removed = TrainedModel.LAYERS * TrainedModel.HEADS - count(kept);
                            if (removed % round == 0) {
                                step.accept(removed + " heads removed");
                                rounds.add(losses(kept));
                            }
                            return rounds.getLast();
                        },
                        0)
                .steps();
        return new Order(rounds.getFirst(), steps);
    }

    private double[][] losses(boolean[][] kept) {
        searched.moveTo(kept);
        double now = searched.cosine(kept);
        List<Double> losses = parallel.map(TrainedModel.LAYERS * TrainedModel.HEADS, i -> {
            int layer = i / TrainedModel.HEADS;
            int head = i % TrainedModel.HEADS;
            return kept[layer][head] ? now - searched.cosine(without(kept, layer, head)) : 0;
        });
        double[][] result = new double[TrainedModel.LAYERS][TrainedModel.HEADS];
        for (int i = 0; i < losses.size(); i++) {
            result[i / TrainedModel.HEADS][i % TrainedModel.HEADS] = losses.get(i);
        }
        return result;
    }

    private static boolean[][] without(boolean[][] kept, int layer, int head) {
        boolean[][] fewer = Arrays.stream(kept).map(boolean[]::clone).toArray(boolean[][]::new);
        fewer[layer][head] = false;
        return fewer;
    }

    private static int count(boolean[][] kept) {
        int count = 0;
        for (boolean[] layer : kept) {
            for (boolean head : layer) {
                count += head ? 1 : 0;
            }
        }
        return count;
    }

    /** Returns the remaining similarity on the evaluation sentences after each of these numbers of removals. */
    List<MaskedCosine.Left> left(List<int[]> order, int... removals) {
        return parallel.map(removals.length, i -> judged.left(kept(order, removals[i])));
    }

    /** Returns heads in random order, without one head of each layer. */
    static List<int[]> randomOrder(long seed) {
        List<int[]> order = new ArrayList<>();
        Random random = new Random(seed);
        for (int layer = 0; layer < TrainedModel.LAYERS; layer++) {
            int stays = random.nextInt(TrainedModel.HEADS);
            for (int head = 0; head < TrainedModel.HEADS; head++) {
                if (head != stays) {
                    order.add(new int[] {layer, head});
                }
            }
        }
        java.util.Collections.shuffle(order, random);
        return order;
    }

    /** Returns the heads that remain after the first removals of an order. */
    static boolean[][] kept(List<int[]> order, int removals) {
        boolean[][] kept = MaskedCosine.all();
        order.subList(0, removals).forEach(head -> kept[head[0]][head[1]] = false);
        return kept;
    }

    /** Returns a model with the kept heads only. The weights of other heads are removed, not masked. */
    static Transformer keepHeads(Transformer model, boolean[][] kept) {
        List<Block> smaller = new ArrayList<>();
        for (int layer = 0; layer < kept.length; layer++) {
            boolean[] heads = kept[layer];
            int[] stay =
                    IntStream.range(0, heads.length).filter(head -> heads[head]).toArray();
            Block block = model.blocks().get(layer);
            smaller.add(block.withAttention(block.attention().keepHeads(Arena.ofAuto(), stay)));
        }
        return model.withBlocks(smaller);
    }

    /** Returns the number of weights of all blocks without some heads. */
    long parameters(int removed) {
        long dim = model.dim();
        Block block = model.blocks().getFirst();
        long inner = block.feedForward().inner();
        long heads = (long) TrainedModel.LAYERS * TrainedModel.HEADS - removed;
        long others = TrainedModel.LAYERS * (2 * dim * inner + inner + dim + dim + 4 * dim);
        return heads * block.attention().headDim() * (4 * dim + 3) + others;
    }

    /** Returns the median milliseconds of a batch for each set of kept heads. The sets alternate. */
    double[] milliseconds(List<boolean[][]> variants) {
        step.accept("speed without them");
        List<Transformer> models =
                variants.stream().map(kept -> keepHeads(model, kept)).toList();
        TokenBatch batch = timed.tokenBatch();
        Buffers buffers = model.buffers(batch.tokens());
        double[][] times = new double[models.size()][TIMED];
        for (int i = -1; i < TIMED; i++) {
            for (int m = 0; m < times.length; m++) {
                long start = System.nanoTime();
                models.get(m).forward(cpu, batch, buffers);
                times[m][Math.max(0, i)] = (System.nanoTime() - start) * 1e-6;
            }
        }
        return Arrays.stream(times)
                .mapToDouble(own -> Arrays.stream(own).sorted().toArray()[TIMED / 2])
                .toArray();
    }
}
