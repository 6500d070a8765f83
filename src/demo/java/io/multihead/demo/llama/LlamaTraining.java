package io.multihead.demo.llama;

import io.multihead.compute.Compute;
import io.multihead.nn.Gradients;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairs;
import io.multihead.text.Tokenizer;
import io.multihead.train.AdamW;
import io.multihead.train.Schedule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;

/**
 * Trains a Llama on texts. The last tenth of the texts is held out. A batch has windows of the other texts, which are
 * joined with the end token. The data of a step depends only on seed and step.
 */
public final class LlamaTraining {
    /** The number of tokens of a window. */
    public static final int LENGTH = 64;

    /** The number of windows of a step. */
    public static final int BATCH = 16;

    private static final double RATE = 5e-3;
    private static final double DECAY = 0.1;
    private static final long WARM_UP = 20;
    private static final double MOST = 1;
    private static final int HELD_OUT = 10;

    /**
     * The results of training.
     *
     * @param model rounded to bf16
     * @param losses the loss of each step, in nats per token
     * @param heldOut mean loss of the held-out texts, in nats per token
     * @param unrounded mean loss of the held-out texts before rounding, in nats per token
     * @param heldOutBits mean loss of the held-out texts after rounding, in bits per byte of text
     */
    public record Trained(
            Llama model, BytePairs pieces, List<Double> losses, double heldOut, double unrounded, double heldOutBits) {}

    private final BytePairs pieces;
    private final Tokenizer tokenizer;
    private final int[] seen;
    private final int[] heldOut;
    private final int heldOutBytes;
    private final Compute cpu;
    private final long seed;

    /**
     * Prepares texts.
     *
     * @param texts at least ten
     * @param vocabulary the number of tokens to learn from the training texts
     */
    public LlamaTraining(List<String> texts, int vocabulary, Compute cpu, long seed) {
        int kept = texts.size() - texts.size() / HELD_OUT;
        pieces = BytePairs.learn(String.join("\n", texts.subList(0, kept)), vocabulary);
        tokenizer = pieces.tokenizer();
        seen = joined(texts.subList(0, kept));
        heldOut = joined(texts.subList(kept, texts.size()));
        heldOutBytes = texts.subList(kept, texts.size()).stream()
                .mapToInt(text -> text.length() + 1)
                .sum();
        this.cpu = cpu;
        this.seed = seed;
    }

    private int[] joined(List<String> texts) {
        int[] end = {tokenizer.specialIds().end()};
        return texts.stream()
                .flatMapToInt(text -> IntStream.concat(Arrays.stream(tokenizer.encode(text)), Arrays.stream(end)))
                .toArray();
    }

    /** Trains a model with the learned vocabulary, and rounds it. */
    public Trained train(Llama.Config sizes, long steps, BiConsumer<Long, Double> progress) {
        Llama model = new Llama(sizes.withVocabulary(pieces.vocabulary()), seed);
        Map<String, Tensor> gradients = model.gradients();
        AdamW optimizer =
                AdamW.of(model.parameters(), AdamW.Options.DEFAULT.withDecay(DECAY, name -> !name.contains("norm")));
        Schedule schedule = Schedule.cosine(RATE, 0.1, Math.min(WARM_UP, steps), steps);
        List<Double> losses = new ArrayList<>();
        for (long step = 0; step < steps; step++) {
            Gradients.clear(gradients);
            double loss = learn(model, step, gradients);
            Gradients.clip(cpu, gradients, MOST);
            optimizer.step(cpu, gradients, schedule.rate(step));
            model.parametersChanged();
            losses.add(loss);
            progress.accept(step + 1, loss);
        }
        double unrounded = heldOutLoss(model);
        model.round();
        double rounded = heldOutLoss(model);
        double bits = rounded / Math.log(2) * heldOut.length / heldOutBytes;
        return new Trained(model, pieces, Collections.unmodifiableList(losses), rounded, unrounded, bits);
    }

    private double learn(Llama model, long step, Map<String, Tensor> gradients) {
        SplittableRandom random = new SplittableRandom(seed * 0x9e3779b97f4a7c15L + step);
        int[] tokens = new int[BATCH * LENGTH];
        int[] targets = new int[tokens.length];
        for (int b = 0; b < BATCH; b++) {
            int from = random.nextInt(seen.length - LENGTH);
            System.arraycopy(seen, from, tokens, b * LENGTH, LENGTH);
            System.arraycopy(seen, from + 1, targets, b * LENGTH, LENGTH);
        }
        return model.learn(cpu, tokens, targets, LENGTH, gradients);
    }

    /** Returns the mean loss over consecutive windows of the held-out texts. */
    private double heldOutLoss(Llama model) {
        int windows = (heldOut.length - 1) / LENGTH;
        int[] tokens = Arrays.copyOf(heldOut, windows * LENGTH);
        int[] targets = Arrays.copyOfRange(heldOut, 1, windows * LENGTH + 1);
        return model.loss(cpu, tokens, targets, LENGTH);
    }
}
