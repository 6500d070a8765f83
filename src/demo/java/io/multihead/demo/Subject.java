package io.multihead.demo;

import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The input of the study: the tokens of a paragraph, embedded with random vectors from a seed and with sinusoidal
 * positions (Vaswani et al. 2017, section 3.5).
 */
final class Subject {
    /** The number of features of a token. */
    static final int EMBED_DIM = 64;

    /** The number of heads of the layer that is studied. */
    static final int HEADS = 8;

    private final List<String> tokens;
    /** The number of tokens in the first sentence. */
    private final int inSentence;

    private final Tensor embedded;
    private final long seed;
    private final Compute cpu;

    private Subject(List<String> tokens, int inSentence, Tensor embedded, long seed, Compute cpu) {
        this.tokens = tokens;
        this.inSentence = inSentence;
        this.embedded = embedded;
        this.seed = seed;
        this.cpu = cpu;
    }

    /** Embeds the tokens of a text. */
    static Subject of(StudyText text, long seed, Compute cpu) {
        List<String> tokens = StudyText.tokens(text.paragraph());
        int inSentence = StudyText.tokens(text.sentence()).size();
        return new Subject(tokens, inSentence, embed(tokens, seed), seed, cpu);
    }

    /** Returns the labels of the tokens in pictures. */
    List<String> tokens() {
        return tokens.stream().map(StudyText::label).toList();
    }

    /** Returns the first sentence only, which is short enough for the labels of an axis. */
    Subject firstSentence() {
        return new Subject(tokens.subList(0, inSentence), inSentence, embedded.slice(1, 0, inSentence), seed, cpu);
    }

    /** Returns the embedded tokens {@code [1, tokens, 64]}. */
    Tensor embedded() {
        return embedded;
    }

    Compute cpu() {
        return cpu;
    }

    /** Returns a layer with this number of heads and random weights from the study's seed. */
    MultiHeadAttention layer(int heads) {
        return MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(EMBED_DIM, heads), seed);
    }

    /** Returns the attention weights of every head, {@code [heads, tokens, tokens]}. */
    Tensor weights(int heads, Mask mask) {
        long n = tokens.size();
        Tensor weights = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(1, heads, n, n));
        Tensor output = Tensor.allocate(Arena.ofAuto(), DType.F32, embedded.shape());
        MultiHeadOutputs outputs = MultiHeadOutputs.of(output).withHeadWeights(weights);
        layer(heads).forward(cpu, MultiHeadInputs.of(embedded).withMask(mask), outputs);
        return weights.select(0, 0);
    }

    private static Tensor embed(List<String> tokens, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<String, double[]> vectors = new HashMap<>();
        Tensor embedded = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(1, tokens.size(), EMBED_DIM));
        for (int t = 0; t < tokens.size(); t++) {
            double[] vector = vectors.computeIfAbsent(tokens.get(t).toLowerCase(Locale.ROOT), word -> {
                double[] drawn = new double[EMBED_DIM];
                java.util.Arrays.setAll(drawn, d -> random.nextGaussian());
                return drawn;
            });
            for (int d = 0; d < EMBED_DIM; d++) {
                double angle = t / Math.pow(10_000, (d / 2 * 2) / (double) EMBED_DIM);
                embedded.set(vector[d] + (d % 2 == 0 ? Math.sin(angle) : Math.cos(angle)), 0, t, d);
            }
        }
        return embedded;
    }
}
