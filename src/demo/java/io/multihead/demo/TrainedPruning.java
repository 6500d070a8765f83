package io.multihead.demo;

import io.multihead.analysis.HeadPruning;
import io.multihead.demo.BlockEncoder.Batch;
import io.multihead.text.WordPiece;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * Which heads of the trained model can go. The order of removal is found on every sixteenth sentence and judged by all others.
 */
final class TrainedPruning {
    /** Every sixteenth sentence is used for the search, the others for the evaluation. */
    private static final int SEARCHED = 16;

    private static final int ROUND = 12;
    /** With fewer sentences the losses are measured once: a short look, not a study. */
    private static final int FEW = 32;
    /** Cosines are 2 apart at most: removal goes on until each layer has one head. */
    private static final double NO_LIMIT = 2;

    private static final int TIMED = 5;

    /** Steps of the progress bar. */
    static final int STEPS = 7;

    private final BlockEncoder model;
    private final MaskedCosine searched;
    private final MaskedCosine judged;
    private final List<Batch> timed;
    private final int sentences;
    private final int round;
    private final Consumer<String> step;
    private final double[][] importance = new double[BlockEncoder.LAYERS][BlockEncoder.HEADS];
    private int removed;

    TrainedPruning(BlockEncoder model, WordPiece tokenizer, List<String> texts, Consumer<String> step) {
        this.model = model;
        this.step = step;
        List<String> search = new ArrayList<>();
        List<String> judge = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            (i % SEARCHED == 0 ? search : judge).add(texts.get(i));
        }
        sentences = judge.size();
        round = texts.size() < FEW ? BlockEncoder.LAYERS * BlockEncoder.HEADS : ROUND;
        searched = new MaskedCosine(model, tokenizer, search);
        judged = new MaskedCosine(model, tokenizer, judge);
        timed = model.batches(tokenizer, judge).subList(0, 1);
    }

    /** Number of sentences that judge. */
    int sentences() {
        return sentences;
    }

    /** Removals until the loss of every head is measured again. */
    int round() {
        return round;
    }

    /** Tokens of the batch that is timed. */
    long timedTokens() {
        return timed.getFirst().sequences().tokens();
    }

    /** Cosine lost without one head, on the sentences of the search. */
    double[][] ablation() {
        return HeadPruning.ablation(BlockEncoder.LAYERS, BlockEncoder.HEADS, searched::cosine);
    }

    /** Removes head after head until each layer has one. */
    List<HeadPruning.Step> greedy() {
        return HeadPruning.greedy(BlockEncoder.LAYERS, BlockEncoder.HEADS, searched::cosine, this::importance, NO_LIMIT)
                .steps();
    }

    /** Cosine that the loss of each head would cost, measured anew from time to time. */
    private double[][] importance(boolean[][] kept) {
        if (removed++ % round == 0) {
            step.accept((removed - 1) + " heads removed");
            searched.moveTo(kept);
            double now = searched.cosine(kept);
            for (int layer = 0; layer < kept.length; layer++) {
                for (int head = 0; head < kept[layer].length; head++) {
                    if (kept[layer][head]) {
                        kept[layer][head] = false;
                        importance[layer][head] = now - searched.cosine(kept);
                        kept[layer][head] = true;
                    }
                }
            }
        }
        return importance;
    }

    /** Returns the similarity that remains on the evaluation sentences. */
    MaskedCosine.Left left(boolean[][] kept) {
        return judged.left(kept);
    }

    /** Heads in random order, one of each layer left. */
    static List<int[]> randomOrder(long seed) {
        List<int[]> order = new ArrayList<>();
        Random random = new Random(seed);
        for (int layer = 0; layer < BlockEncoder.LAYERS; layer++) {
            int stays = random.nextInt(BlockEncoder.HEADS);
            for (int head = 0; head < BlockEncoder.HEADS; head++) {
                if (head != stays) {
                    order.add(new int[] {layer, head});
                }
            }
        }
        java.util.Collections.shuffle(order, random);
        return order;
    }

    /** The heads that are there after the first removals of an order. */
    static boolean[][] kept(List<int[]> order, int removals) {
        boolean[][] kept = MaskedCosine.all();
        order.subList(0, removals).forEach(head -> kept[head[0]][head[1]] = false);
        return kept;
    }

    /** Median milliseconds of a batch with these heads alone, the variants one after another in turn. */
    double[] milliseconds(List<boolean[][]> variants) {
        step.accept("speed without them");
        List<BlockEncoder> models = variants.stream().map(model::keepHeads).toList();
        double[][] times = new double[models.size()][TIMED];
        for (int i = -1; i < TIMED; i++) {
            for (int m = 0; m < times.length; m++) {
                long start = System.nanoTime();
                models.get(m).forward(timed.getFirst());
                times[m][Math.max(0, i)] = (System.nanoTime() - start) * 1e-6;
            }
        }
        return Arrays.stream(times)
                .mapToDouble(own -> Arrays.stream(own).sorted().toArray()[TIMED / 2])
                .toArray();
    }
}
