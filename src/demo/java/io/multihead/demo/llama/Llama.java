package io.multihead.demo.llama;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.demo.train.Tensors;
import io.multihead.gemm.Activation;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Embedding;
import io.multihead.nn.Gradients;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.nn.RmsNorm;
import io.multihead.nn.Sequence;
import io.multihead.nn.Sequence.Part;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.position.Rope;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A small trainable Llama. Blocks have rotary attention and a gated feed-forward network. The embedding is also the
 * head.
 */
public final class Llama {
    static final double EPSILON = 1e-5;
    /** The base of rotary positions in most models. */
    static final double THETA = 10_000;

    private static final double EMBEDDING = 0.05;

    /** The sizes of a model. */
    public record Config(int vocabulary, int dim, int inner, int layers, int heads, int keyValueHeads) {
        int headDim() {
            return dim / heads;
        }

        Config withVocabulary(int tokens) {
            return new Config(tokens, dim, inner, layers, heads, keyValueHeads);
        }
    }

    private final Config config;
    private final Map<String, Tensor> drawn = new LinkedHashMap<>();
    private final Embedding embedding;
    private final List<TransformerBlock> blocks = new ArrayList<>();
    private final Rope rope;
    private final Sequence whole;
    private final CrossEntropy loss = CrossEntropy.of();

    /** Creates a model with new parameters, which the garbage collector owns. */
    public Llama(Config config, long seed) {
        this.config = config;
        SplittableRandom random = new SplittableRandom(seed);
        rope = Rope.of(Rope.Config.of(config.headDim()).withTheta(THETA).withPairing(Rope.Pairing.INTERLEAVED));
        embedding = Embedding.of(draw("embedding", random, EMBEDDING, config.vocabulary, config.dim));
        for (int layer = 0; layer < config.layers; layer++) {
            addBlock("layers." + layer + ".", random);
        }
        whole = Sequence.of(
                new Part("", Sequence.of("layers.", blocks)),
                new Part("norm.", RmsNorm.of(Shape.of(config.dim), EPSILON, ones("norm.weight"))),
                new Part("head.", Linear.of(tensor("embedding"), null)));
    }

    private void addBlock(String at, SplittableRandom random) {
        int queries = config.heads * config.headDim();
        int keys = config.keyValueHeads * config.headDim();
        double first = 1 / Math.sqrt(config.dim);
        // keeps sums over blocks at the size of their terms (Radford et al. 2019)
        double sum = 1 / Math.sqrt(2.0 * config.layers);
        draw(at + "self_attn.in_proj_weight", random, first, queries + 2 * keys, config.dim);
        draw(at + "self_attn.out_proj.weight", random, sum / Math.sqrt(queries), config.dim, queries);
        draw(at + "gate_proj.weight", random, first, config.inner, config.dim);
        draw(at + "up_proj.weight", random, first, config.inner, config.dim);
        draw(at + "down_proj.weight", random, sum / Math.sqrt(config.inner), config.dim, config.inner);
        ones(at + "norm1.weight");
        ones(at + "norm2.weight");
        blocks.add(TransformerBlock.of(block(), name -> drawn.get(at + name)));
    }

    private TransformerBlock.Config block() {
        MultiHeadConfig attention = MultiHeadConfig.of(config.dim, config.heads)
                .withKeyValueHeads(config.keyValueHeads)
                .withBias(false)
                .withRope(rope)
                .withOptions(AttentionOptions.CAUSAL);
        return TransformerBlock.Config.of(config.dim, config.heads, config.inner)
                .withAttention(attention)
                .withActivation(Activation.SILU)
                .withNormFirst(true)
                .withRmsNorm(true)
                .withGate(true)
                .withEpsilon(EPSILON);
    }

    private Tensor ones(String name) {
        Tensor ones = Tensor.allocate(Arena.ofAuto(), DType.F32, Shape.of(config.dim));
        ones.fill(1);
        drawn.put(name, ones);
        return ones;
    }

    private Tensor draw(String name, SplittableRandom random, double deviation, long... dims) {
        Tensor tensor = Tensors.normal(random, deviation, dims);
        drawn.put(name, tensor);
        return tensor;
    }

    /** Returns a parameter by its name at initialization. */
    Tensor tensor(String name) {
        return drawn.get(name);
    }

    public Config config() {
        return config;
    }

    /** Returns all parameters by name, which are trained in place. The embedding is also the weight of the head. */
    public Map<String, Tensor> parameters() {
        return whole.parameters();
    }

    /** Returns the number of trained parameters. */
    public long size() {
        return parameters().values().stream()
                .mapToLong(tensor -> tensor.shape().elements())
                .sum();
    }

    /** Must be called after parameters have been changed. */
    public void parametersChanged() {
        whole.parametersChanged();
    }

    /** Rounds all parameters to bf16, the type of published models. */
    void round() {
        try (Arena arena = Arena.ofConfined()) {
            parameters().values().forEach(tensor -> tensor.copy(arena, DType.BF16)
                    .copyTo(tensor));
        }
        parametersChanged();
    }

    /** Returns new gradients of zeros. */
    Map<String, Tensor> gradients() {
        return Gradients.zeros(Arena.ofAuto(), whole);
    }

    /**
     * Returns the mean loss of a batch's targets, in nats, and adds its gradients to the given gradients.
     *
     * @param tokens {@code [batch, length]}, row-major
     * @param targets the next token of each token
     */
    double learn(Compute cpu, int[] tokens, int[] targets, int length, Map<String, Tensor> gradients) {
        Tensor x = embed(cpu, tokens, length);
        Tensor logits = Tensors.room(x.dim(0), x.dim(1), config.vocabulary);
        try (Pass pass = whole.record(cpu, x, logits)) {
            Tensor upstream = Tensors.room(logits.shape().toArray());
            double value = loss.lossAndGradient(cpu, logits, targets, upstream);
            Tensor down = Tensors.room(x.shape().toArray());
            pass.backward(upstream, down, gradients);
            embedding.backward(cpu, tokens, down, gradients.get("head.weight"));
            return value;
        }
    }

    /** Returns the mean loss without gradients. */
    double loss(Compute cpu, int[] tokens, int[] targets, int length) {
        return loss.forward(cpu, logits(cpu, tokens, length), targets);
    }

    /** Returns logits {@code [batch, length, vocabulary]}. */
    Tensor logits(Compute cpu, int[] tokens, int length) {
        Tensor x = embed(cpu, tokens, length);
        Tensor logits = Tensors.room(x.dim(0), x.dim(1), config.vocabulary);
        whole.forward(cpu, x, logits);
        return logits;
    }

    /** Returns the logits of the token that follows a text. */
    public float[] nextLogits(Compute cpu, int[] tokens) {
        Tensor logits = logits(cpu, tokens, tokens.length);
        return logits.select(0, 0).select(0, tokens.length - 1L).toArray();
    }

    /** Returns the attention weights {@code [heads, tokens, tokens]} of every layer for one text. */
    public List<Tensor> weights(Compute cpu, int[] tokens) {
        List<Tensor> result = new ArrayList<>();
        Tensor x = embed(cpu, tokens, tokens.length);
        for (int layer = 0; layer < config.layers; layer++) {
            Tensor normed = Tensors.room(x.shape().toArray());
            RmsNorm.of(Shape.of(config.dim), EPSILON, tensor("layers." + layer + ".norm1.weight"))
                    .forward(cpu, x, normed);
            Tensor weights = Tensors.room(1, config.heads, tokens.length, tokens.length);
            MultiHeadOutputs outputs =
                    MultiHeadOutputs.of(Tensors.room(x.shape().toArray()));
            blocks.get(layer).attention().forward(cpu, MultiHeadInputs.of(normed), outputs.withHeadWeights(weights));
            result.add(weights.select(0, 0));
            Tensor next = Tensors.room(x.shape().toArray());
            blocks.get(layer).forward(cpu, x, next);
            x = next;
        }
        return result;
    }

    private Tensor embed(Compute cpu, int[] tokens, int length) {
        Tensor x = Tensors.room(tokens.length / length, length, config.dim);
        embedding.forward(cpu, tokens, x);
        return x;
    }
}
