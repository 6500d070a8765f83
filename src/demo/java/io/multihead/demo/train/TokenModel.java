package io.multihead.demo.train;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.nn.CrossEntropy;
import io.multihead.nn.Embedding;
import io.multihead.nn.Gradients;
import io.multihead.nn.LayerNorm;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.nn.PositionalEncoding;
import io.multihead.nn.Sequence;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** A small transformer: embedding and positions, blocks, a norm, and a classifier for every token. */
public final class TokenModel implements Trainable {
    /** The task and the sizes of a model. */
    public record Config(Task task, Task.Sizes sizes, int embedDim, int heads, int layers) {
        /** Returns a description of the architecture. A checkpoint must have the same description. */
        public String architecture() {
            return task + " vocabulary " + sizes.vocabulary() + " embedDim " + embedDim + " heads " + heads + " layers "
                    + layers;
        }

        int classes() {
            return task == Task.COPY ? sizes.vocabulary() : 2;
        }
    }

    private final Config config;
    private final Compute cpu;
    private final Map<String, Tensor> parameters = new LinkedHashMap<>();
    private final Sequence embedding;
    private final List<TransformerBlock> blocks;
    private final Sequence whole;
    private final CrossEntropy loss = CrossEntropy.ignoring(Task.IGNORED);

    /** Creates a model with new parameters, which the garbage collector owns. */
    public TokenModel(Config config, Compute cpu, long seed) {
        this.config = config;
        this.cpu = cpu;
        SplittableRandom random = new SplittableRandom(seed);
        draw("embedding.weight", random, 1, config.sizes.vocabulary(), config.embedDim);
        TransformerBlock.Config block = TransformerBlock.Config.of(config.embedDim, config.heads, 2L * config.embedDim)
                .withAttention(MultiHeadConfig.of(config.embedDim, config.heads)
                        .withOptions(config.task.causal() ? AttentionOptions.CAUSAL : AttentionOptions.DEFAULT));
        List<TransformerBlock> made = new ArrayList<>();
        for (int i = 0; i < config.layers; i++) {
            made.add(TransformerBlock.initialize(Arena.ofAuto(), block, random.nextLong()));
        }
        addParameters(made);
        draw("norm.weight", random, 0, config.embedDim);
        draw("norm.bias", random, 0, config.embedDim);
        for (int d = 0; d < config.embedDim; d++) {
            parameters.get("norm.weight").set(1, d);
        }
        draw("head.weight", random, 1 / Math.sqrt(config.embedDim), config.classes(), config.embedDim);
        draw("head.bias", random, 0, config.classes());
        embedding = Sequence.of(
                new Sequence.Part("embedding.", Embedding.of(parameters.get("embedding.weight"))),
                new Sequence.Part("", PositionalEncoding.sinusoidal()));
        blocks = List.copyOf(made);
        whole = assemble(blocks);
    }

    private TokenModel(TokenModel from, Compute cpu, List<TransformerBlock> blocks) {
        config = from.config;
        this.cpu = cpu;
        parameters.putAll(from.parameters);
        addParameters(blocks);
        embedding = from.embedding;
        this.blocks = blocks;
        whole = assemble(blocks);
    }

    @Override
    public Compute cpu() {
        return cpu;
    }

    private void addParameters(List<TransformerBlock> of) {
        for (int i = 0; i < of.size(); i++) {
            String prefix = "layers." + i + ".";
            of.get(i).parameters().forEach((name, tensor) -> parameters.put(prefix + name, tensor));
        }
    }

    private Sequence assemble(List<TransformerBlock> stack) {
        return Sequence.of(
                new Sequence.Part("", embedding),
                new Sequence.Part("", Sequence.of("layers.", stack)),
                new Sequence.Part(
                        "norm.",
                        LayerNorm.of(
                                Shape.of(config.embedDim),
                                1e-5,
                                parameters.get("norm.weight"),
                                parameters.get("norm.bias"))),
                new Sequence.Part("head.", Linear.of(parameters.get("head.weight"), parameters.get("head.bias"))));
    }

    /**
     * Returns this model with factors for the heads of every layer, which are {@code [heads]} or {@code [batch,
     * heads]}.
     */
    public TokenModel withHeadMasks(List<Tensor> masks) {
        List<TransformerBlock> masked = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            masked.add(blocks.get(i).withHeadMask(masks.get(i)));
        }
        return new TokenModel(this, cpu, masked);
    }

    /**
     * Returns this model with some heads of every layer. The parameters of attention are smaller copies, and all other
     * parameters are shared.
     */
    public TokenModel keepHeads(List<int[]> heads) {
        List<TransformerBlock> kept = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            kept.add(blocks.get(i).keepHeads(Arena.ofAuto(), heads.get(i)));
        }
        return new TokenModel(this, cpu, kept);
    }

    /** Returns this model with another Compute. */
    public TokenModel on(Compute other) {
        return new TokenModel(this, other, blocks);
    }

    public Config config() {
        return config;
    }

    @Override
    public String architecture() {
        return config.architecture();
    }

    @Override
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public void parametersChanged() {
        whole.parametersChanged();
    }

    @Override
    public Map<String, Tensor> gradients() {
        return Gradients.zeros(Arena.ofAuto(), whole);
    }

    @Override
    public double learn(long seed, long step, Map<String, Tensor> gradients) {
        return learn(config.task.batch(config.sizes, seed, step), seed ^ step, gradients);
    }

    /** Returns the loss of a batch, and adds its gradients to the given gradients. */
    public double learn(Task.Batch batch, long seed, Map<String, Tensor> gradients) {
        Tensor x = ids(batch.tokens());
        Tensor logits = Tensors.room(x.dim(0), x.dim(1), config.classes());
        try (Pass pass = whole.record(cpu, x, logits, seed)) {
            Tensor upstream = Tensors.room(logits.shape().toArray());
            double value = loss.lossAndGradient(cpu, logits, batch.targets(), upstream);
            pass.backward(upstream, null, gradients);
            return value;
        }
    }

    /** Returns the share of targets that the model predicts, over batches of steps that are not used in training. */
    public double accuracy(long seed, int batches) {
        double sum = 0;
        for (int i = 0; i < batches; i++) {
            sum += batchAccuracy(seed, i);
        }
        return sum / batches;
    }

    /** Returns the share for one batch. All batches have the same number of targets. */
    public double batchAccuracy(long seed, int number) {
        long right = 0;
        long all = 0;
        Task.Batch batch = config.task.batch(config.sizes, ~seed, number);
        float[] logits = logits(batch.tokens()).toArray();
        for (int row = 0; row < batch.targets().length; row++) {
            if (batch.targets()[row] != Task.IGNORED) {
                all++;
                right += best(logits, row * config.classes(), config.classes()) == batch.targets()[row] ? 1 : 0;
            }
        }
        return (double) right / all;
    }

    /** Returns logits {@code [batch, length, classes]}. */
    public Tensor logits(int[] tokens) {
        Tensor x = ids(tokens);
        Tensor logits = Tensors.room(x.dim(0), x.dim(1), config.classes());
        whole.forward(cpu, x, logits);
        return logits;
    }

    /** Returns the attention weights {@code [batch, heads, length, length]} of every layer. */
    public List<Tensor> weights(int[] tokens) {
        List<Tensor> result = new ArrayList<>();
        Tensor x = embed(tokens);
        for (TransformerBlock block : blocks) {
            Tensor weights = Tensors.room(x.dim(0), block.attention().config().queryHeads(), x.dim(1), x.dim(1));
            Tensor y = Tensors.room(x.shape().toArray());
            // blocks are post-norm, so attention reads the input of the block
            block.attention()
                    .forward(cpu, MultiHeadInputs.of(x), MultiHeadOutputs.of(y).withHeadWeights(weights));
            result.add(weights);
            Tensor next = Tensors.room(x.shape().toArray());
            block.forward(cpu, x, next);
            x = next;
        }
        return result;
    }

    private Tensor embed(int[] tokens) {
        Tensor ids = ids(tokens);
        Tensor x = Tensors.room(ids.dim(0), ids.dim(1), config.embedDim);
        embedding.forward(cpu, ids, x);
        return x;
    }

    private Tensor ids(int[] tokens) {
        return Tensors.ids(tokens, config.sizes.length());
    }

    private static int best(float[] logits, int at, int classes) {
        int best = 0;
        for (int c = 1; c < classes; c++) {
            best = logits[at + c] > logits[at + best] ? c : best;
        }
        return best;
    }

    private void draw(String name, SplittableRandom random, double deviation, long... dims) {
        parameters.put(name, Tensors.normal(random, deviation, dims));
    }
}
