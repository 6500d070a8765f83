package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Dropout;
import io.multihead.nn.Embedding;
import io.multihead.nn.Gelu;
import io.multihead.nn.Gradients;
import io.multihead.nn.Layer;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.nn.PositionalEncoding;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.position.Rope;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceCrossEntropy;
import io.multihead.reference.ReferenceLinear;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ReferenceTransformer.Attention;
import io.multihead.reference.ReferenceTransformer.Block;
import io.multihead.reference.ReferenceTransformer.FeedForward;
import io.multihead.reference.ReferenceTransformer.Norm;
import io.multihead.reference.ReferenceTransformer.Norms;
import io.multihead.reference.ReferenceTransformer.Scores;
import io.multihead.reference.ScoreRule;
import io.multihead.support.Differences;
import io.multihead.support.Numbers;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Whole language models as sequences of layers from ids to logits. The table of embeddings is also the head. Loss and
 * gradients are compared with the specification in double, and have the same bits on several threads.
 */
@Tag("lanes")
class LanguageModelLayersTest {
    private static final Compute CPU = Compute.serial();
    private static final int WORDS = 7;
    private static final int DIM = 12;
    private static final int INNER = 20;
    private static final int HEADS = 3;
    private static final int TOKENS = 5;
    private static final int[] IDS = {3, 0, 6, 3, 2, 1, 1, 5, 0, 4};
    private static final double EPSILON = 1e-5;
    private static final int IGNORED = -100;
    /** About 1000 roundings of values of at most 3, in two blocks, forward and backward, and in a sum over ten rows. */
    private static final double BOUND = 1000 * 3 * 0x1p-24;

    private final Arena arena = Arena.ofAuto();
    private final Random random = new Random(4);

    private Tensor draw(double deviation, long... dims) {
        return TestTensors.fill(
                Tensor.allocate(arena, DType.F32, Shape.of(dims)), () -> deviation * random.nextGaussian());
    }

    private Tensor aroundOne() {
        return TestTensors.fill(
                Tensor.allocate(arena, DType.F32, Shape.of(DIM)), () -> 1 + 0.1 * random.nextGaussian());
    }

    private Sequence causal(double dropout) {
        MultiHeadConfig attention = MultiHeadConfig.of(DIM, HEADS)
                .withKeyValueHeads(1)
                .withBias(false)
                .withRope(Rope.of(Rope.Config.of(DIM / HEADS)))
                .withOptions(AttentionOptions.CAUSAL);
        TransformerBlock.Config config = TransformerBlock.Config.of(DIM, HEADS, INNER)
                .withAttention(attention)
                .withActivation(Activation.SILU)
                .withNormFirst(true)
                .withRmsNorm(true)
                .withGate(true)
                .withDropout(dropout);
        Tensor words = draw(0.7, WORDS, DIM);
        return Sequence.of(
                new Part("words.", Embedding.of(words)),
                new Part(
                        "",
                        Sequence.of(
                                "layers.",
                                List.of(
                                        TransformerBlock.initialize(arena, config, 1),
                                        TransformerBlock.initialize(arena, config, 2)))),
                new Part("norm.", RmsNorm.of(Shape.of(DIM), EPSILON, aroundOne())),
                new Part("words.", Linear.of(words, null)));
    }

    private Sequence masked() {
        TransformerBlock.Config config =
                TransformerBlock.Config.of(DIM, HEADS, INNER).withActivation(Activation.GELU);
        Tensor words = draw(0.7, WORDS, DIM);
        return Sequence.of(
                new Part("words.", Embedding.of(words)),
                new Part("positions.", PositionalEncoding.of(draw(0.5, TOKENS + 1, DIM))),
                new Part("norm.", LayerNorm.of(Shape.of(DIM), EPSILON, aroundOne(), draw(0.1, DIM))),
                new Part("layers.0.", TransformerBlock.initialize(arena, config, 3)),
                new Part("dense.", Linear.initialize(arena, DIM, DIM, 5)),
                new Part("", Gelu.erf()),
                new Part("last.", LayerNorm.of(Shape.of(DIM), EPSILON, aroundOne(), draw(0.1, DIM))),
                new Part("words.", Linear.of(words, draw(0.2, WORDS))));
    }

    private static Tensor ids() {
        float[] ids = new float[IDS.length];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = IDS[i];
        }
        return Tensor.of(ids, IDS.length / TOKENS, TOKENS);
    }

    /** Returns the loss, and adds the gradients by name. */
    private static double learn(Compute cpu, Layer model, int[] targets, Map<String, Tensor> gradients) {
        Tensor x = ids();
        Tensor logits = Tensor.of(new float[IDS.length * WORDS], IDS.length / TOKENS, TOKENS, WORDS);
        try (Pass pass = model.record(cpu, x, logits, 9)) {
            Tensor upstream = Tensor.of(new float[IDS.length * WORDS], IDS.length / TOKENS, TOKENS, WORDS);
            double loss = CrossEntropy.of().lossAndGradient(cpu, logits, targets, upstream);
            pass.backward(upstream, null, gradients);
            return loss;
        }
    }

    @Test
    void aCausalModelHasTheGradientsOfItsSpecification() {
        Sequence model = causal(0);
        assertEquals(2 * 7 + 2, model.parameters().size());
        int[] targets = {0, 6, 3, 2, 1, 1, 5, 0, 4, 2};
        require(model, targets, LanguageModelLayersTest::causalLogits);
    }

    @Test
    void aMaskedModelHasTheGradientsOfItsSpecification() {
        int[] targets = {IGNORED, 4, IGNORED, IGNORED, 0, 6, IGNORED, IGNORED, IGNORED, 4};
        require(masked(), targets, LanguageModelLayersTest::maskedLogits);
    }

    private static void require(Sequence model, int[] targets, Function<Map<String, double[]>, double[]> logits) {
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), model);
        double loss = learn(CPU, model, targets, gradients);
        Map<String, double[]> weights = new HashMap<>();
        model.parameters().forEach((name, tensor) -> weights.put(name, Numbers.of(tensor)));
        assertEquals(ReferenceCrossEntropy.forward(logits.apply(weights), targets, IGNORED), loss, BOUND);
        gradients.forEach((name, gradient) -> {
            // a bias of keys shifts all scores of a query equally, so a part of this gradient is 0
            Differences.assertSlopes(
                    Numbers.of(gradient),
                    weights.get(name),
                    () -> ReferenceCrossEntropy.forward(logits.apply(weights), targets, IGNORED),
                    BOUND,
                    name);
        });
    }

    @Test
    void lossAndGradientsHaveTheSameBitsOnThreadsAndInParts() {
        int[] targets = {0, 6, 3, 2, 1, 1, 5, 0, 4, 2};
        for (double dropout : new double[] {0, 0.2}) {
            Sequence model = causal(dropout);
            Map<String, Tensor> serial = Gradients.zeros(Arena.ofAuto(), model);
            double loss = learn(CPU, model, targets, serial);
            try (Compute threads = Compute.threads(3)) {
                Map<String, Tensor> other = Gradients.zeros(Arena.ofAuto(), model);
                assertEquals(loss, learn(threads, model, targets, other));
                serial.forEach((name, gradient) ->
                        assertArrayEquals(gradient.toArray(), other.get(name).toArray(), name));
            }
        }
        Sequence model = masked();
        Tensor whole = Tensor.of(new float[IDS.length * WORDS], 2, TOKENS, WORDS);
        model.forward(CPU, ids(), whole);
        for (int row = 0; row < 2; row++) {
            Tensor one = Tensor.of(new float[TOKENS * WORDS], 1, TOKENS, WORDS);
            model.forward(CPU, ids().slice(0, row, row + 1L), one);
            assertArrayEquals(whole.select(0, row).toArray(), one.toArray());
        }
    }

    @Test
    void dropoutBehindEmbeddingsDrawsBySeed() {
        Tensor words = draw(1, WORDS, DIM);
        Sequence model = Sequence.of(
                new Part("words.", Embedding.of(words)),
                new Part("", PositionalEncoding.sinusoidal()),
                new Part("", Dropout.of(0.5)));
        Tensor first = Tensor.of(new float[IDS.length * DIM], 2, TOKENS, DIM);
        Tensor second = Tensor.of(new float[IDS.length * DIM], 2, TOKENS, DIM);
        model.record(CPU, ids(), first, 1).close();
        model.record(CPU, ids(), second, 2).close();
        assertNotEquals(Arrays.toString(first.toArray()), Arrays.toString(second.toArray()));
        model.record(CPU, ids(), second, 1).close();
        assertArrayEquals(first.toArray(), second.toArray());
    }

    private static double[] causalLogits(Map<String, double[]> weights) {
        double[] words = weights.get("words.weight");
        List<Block> blocks = new ArrayList<>();
        for (int layer = 0; layer < 2; layer++) {
            String at = "layers." + layer + ".";
            FeedForward network = new FeedForward(
                    linear(weights.get(at + "gate_proj.weight"), null, INNER, DIM),
                    linear(weights.get(at + "up_proj.weight"), null, INNER, DIM),
                    linear(weights.get(at + "down_proj.weight"), null, DIM, INNER),
                    ReferenceActivation::silu);
            blocks.add(new Block(
                    attention(weights, at, 1, ScoreRule.causalTopLeft(), ReferenceRope.of(DIM / HEADS, 10_000, false)),
                    new Norms(new Norm(weights.get(at + "norm1.weight"), null, EPSILON, false, false), null, null),
                    network,
                    new Norms(new Norm(weights.get(at + "norm2.weight"), null, EPSILON, false, false), null, null),
                    false));
        }
        ReferenceTransformer model = new ReferenceTransformer(
                new ReferenceTransformer.Embedding(words, 1, null, null, null, DIM),
                blocks,
                new Norm(weights.get("norm.weight"), null, EPSILON, false, false),
                linear(words, null, WORDS, DIM),
                0);
        return perSequence(model::logits);
    }

    private static double[] maskedLogits(Map<String, double[]> weights) {
        double[] words = weights.get("words.weight");
        String at = "layers.0.";
        FeedForward network = new FeedForward(
                null,
                linear(weights.get(at + "linear1.weight"), weights.get(at + "linear1.bias"), INNER, DIM),
                linear(weights.get(at + "linear2.weight"), weights.get(at + "linear2.bias"), DIM, INNER),
                ReferenceActivation::gelu);
        Block block = new Block(
                attention(weights, at, HEADS, ScoreRule.NONE, null),
                new Norms(null, null, norm(weights, at + "norm1.")),
                network,
                new Norms(null, null, norm(weights, at + "norm2.")),
                false);
        ReferenceTransformer.Embedding embedding = new ReferenceTransformer.Embedding(
                words, 1, null, weights.get("positions.weight"), norm(weights, "norm."), DIM);
        ReferenceTransformer model =
                new ReferenceTransformer(embedding, List.of(block), null, linear(words, null, WORDS, DIM), 0);
        return perSequence(ids -> {
            double[] dense = ReferenceLinear.forward(
                    model.states(ids), weights.get("dense.weight"), weights.get("dense.bias"), DIM, DIM);
            double[] active =
                    Arrays.stream(dense).map(ReferenceActivation::gelu).toArray();
            return ReferenceLinear.forward(
                    norm(weights, "last.").of(active), words, weights.get("words.bias"), WORDS, DIM);
        });
    }

    private static double[] perSequence(Function<int[], double[]> logits) {
        double[] all = new double[IDS.length * WORDS];
        for (int from = 0; from < IDS.length; from += TOKENS) {
            double[] part = logits.apply(Arrays.copyOfRange(IDS, from, from + TOKENS));
            System.arraycopy(part, 0, all, from * WORDS, part.length);
        }
        return all;
    }

    private static Attention attention(
            Map<String, double[]> weights, String at, int keyValueHeads, ScoreRule rule, ReferenceRope rope) {
        double[] all = weights.get(at + "self_attn.in_proj_weight");
        double[] biases = weights.get(at + "self_attn.in_proj_bias");
        int keys = keyValueHeads * DIM / HEADS;
        int[] ends = {0, DIM, DIM + keys, DIM + 2 * keys};
        List<ReferenceTransformer.Linear> parts = new ArrayList<>();
        for (int part = 0; part < 3; part++) {
            parts.add(linear(
                    Arrays.copyOfRange(all, ends[part] * DIM, ends[part + 1] * DIM),
                    biases == null ? null : Arrays.copyOfRange(biases, ends[part], ends[part + 1]),
                    ends[part + 1] - ends[part],
                    DIM));
        }
        return new Attention(
                parts,
                linear(
                        weights.get(at + "self_attn.out_proj.weight"),
                        weights.get(at + "self_attn.out_proj.bias"),
                        DIM,
                        DIM),
                HEADS,
                keyValueHeads,
                new Scores(1 / Math.sqrt(DIM / HEADS), rule, null, rope, null, null));
    }

    private static ReferenceTransformer.Linear linear(double[] weight, double[] bias, int outputs, int inputs) {
        return new ReferenceTransformer.Linear(weight, bias, outputs, inputs);
    }

    private static Norm norm(Map<String, double[]> weights, String at) {
        return new Norm(weights.get(at + "weight"), weights.get(at + "bias"), EPSILON, true, false);
    }
}
