package io.multihead.model;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.position.Rope;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceExperts;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ScoreRule;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.DoubleUnaryOperator;

/** A small model of parts with random weights and options, and its specification. */
final class ModelCase {
    /** The positions of the norms in a block. */
    enum Arrangement {
        PRE,
        POST,
        SANDWICH,
        AFTER,
        PARALLEL,
        PARALLEL_WITH_TWO_NORMS
    }

    /** The kind of normalization of rows. */
    enum NormKind {
        RMS,
        RMS_OF_ONE_PLUS,
        LAYER,
        LAYER_WITHOUT_BIAS
    }

    /** The norms of queries and keys. */
    enum HeadNorm {
        NONE,
        HEAD,
        ROW
    }

    /** The choice of experts instead of a feed-forward network. */
    enum Routing {
        NONE,
        SOFTMAX,
        SOFTMAX_OF_ALL,
        SIGMOID_WITH_BIAS
    }

    /** The sizes and kinds of a model. */
    record Shape(int dim, int heads, int keyValueHeads, int headDim, int inner, int layers) {}

    /** The optional settings. */
    record Options(
            Arrangement arrangement,
            NormKind norm,
            HeadNorm headNorm,
            boolean bias,
            boolean gate,
            Activation activation,
            int rotaryDims,
            boolean interleaved,
            boolean windows,
            boolean sinks,
            boolean softCap,
            boolean scales,
            boolean tables,
            boolean concatenated,
            Routing routing) {
        /** Returns the options of a Llama. */
        static Options llama(int headDim) {
            return new Options(
                    Arrangement.PRE,
                    NormKind.RMS,
                    HeadNorm.NONE,
                    false,
                    true,
                    Activation.SILU,
                    headDim,
                    false,
                    false,
                    false,
                    false,
                    false,
                    false,
                    true,
                    Routing.NONE);
        }
    }

    static final int VOCABULARY = 61;
    private static final int EXPERTS = 5;
    private static final int POSITIONS = 100;
    private static final double EPSILON = 1e-5;
    private static final double CAP = 4;

    final Shape shape;
    final Options options;
    final Transformer model;
    final ReferenceTransformer reference;
    /** The smallest margin by which the specification preferred a chosen expert to another expert. */
    double margin = Double.POSITIVE_INFINITY;

    private final SplittableRandom random;

    ModelCase(Shape shape, Options options, long seed) {
        this.shape = shape;
        this.options = options;
        random = new SplittableRandom(seed);
        List<Block> blocks = new ArrayList<>();
        List<ReferenceTransformer.Block> specified = new ArrayList<>();
        BothEmbeddings embeddings = embeddings();
        for (int layer = 0; layer < shape.layers; layer++) {
            BothBlocks block = block(layer);
            blocks.add(block.part);
            specified.add(block.reference);
        }
        BothNorms norm = norm(shape.dim);
        BothLinears head = linear(VOCABULARY, shape.dim, 1, options.scales ? 0.5 : 1);
        model = Transformer.of(embeddings.part, blocks)
                .withFinalNorm(norm.part)
                .withHead(head.part)
                .withLogitCap(options.softCap ? CAP : 0);
        reference = new ReferenceTransformer(
                embeddings.reference, specified, norm.reference, head.reference, options.softCap ? CAP : 0);
    }

    /** Returns a case with random shape and options. */
    static ModelCase random(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int keyValueHeads = 1 + random.nextInt(2);
        int headDim = List.of(4, 10, 16, 32, 40).get(random.nextInt(5));
        Shape shape = new Shape(
                List.of(20, 32, 48).get(random.nextInt(3)),
                keyValueHeads * (1 + random.nextInt(3)),
                keyValueHeads,
                headDim,
                List.of(24, 64, 70).get(random.nextInt(3)),
                1 + random.nextInt(3));
        Options options = new Options(
                any(random, Arrangement.values()),
                any(random, NormKind.values()),
                any(random, HeadNorm.values()),
                random.nextBoolean(),
                random.nextBoolean(),
                any(random, Activation.values()),
                List.of(0, 2, headDim).get(random.nextInt(3)),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                any(random, Routing.values()));
        return new ModelCase(shape, options, seed + 1);
    }

    private static <T> T any(SplittableRandom random, T[] values) {
        return values[random.nextInt(values.length)];
    }

    int[] ids(int count) {
        return random.ints(count, 0, VOCABULARY).toArray();
    }

    @Override
    public String toString() {
        return shape + ", " + options;
    }

    private record BothLinears(
            PackedLinear part, ReferenceTransformer.Linear reference, float[] weight, float[] bias) {}

    private record BothNorms(Norm part, ReferenceTransformer.Norm reference) {}

    private record BothEmbeddings(EmbeddingTables part, ReferenceTransformer.Embedding reference) {}

    private record BothBlocks(Block part, ReferenceTransformer.Block reference) {}

    private record BothAttentions(SelfAttention part, ReferenceTransformer.Part reference) {}

    private record BothFeedForwards(Part part, ReferenceTransformer.Rows reference) {}

    private float[] draw(int count, double mean, double deviation) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian(mean, deviation);
        }
        return values;
    }

    private static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }

    private static double[] scaled(float[] values, double by) {
        double[] wide = widened(values);
        for (int i = 0; i < wide.length; i++) {
            wide[i] *= by;
        }
        return wide;
    }

    /** Weights with a nonzero mean, so that sums grow with their number of terms. */
    private BothLinears linear(int outputs, int inputs, double size, double scale) {
        float[] weight = draw(outputs * inputs, 0.3 * size / Math.sqrt(inputs), size / Math.sqrt(inputs));
        float[] bias = options.bias ? draw(outputs, 0.1, 0.2) : null;
        PackedLinear part = PackedLinear.of(packed(weight, outputs, inputs), bias == null ? null : Tensor.of(bias));
        return new BothLinears(
                scale == 1 ? part : part.withScale(scale),
                new ReferenceTransformer.Linear(
                        scaled(weight, scale), bias == null ? null : widened(bias), outputs, inputs),
                weight,
                bias);
    }

    private static PackedWeights packed(float[] weight, int outputs, int inputs) {
        return PackedWeights.ofOutputRows(Tensor.of(weight, outputs, inputs));
    }

    private LinearGroup group(List<BothLinears> linears, int inputs) {
        if (!options.concatenated) {
            return LinearGroup.of(linears.stream().map(BothLinears::part).toArray(PackedLinear[]::new));
        }
        int[] outputs = linears.stream().mapToInt(each -> each.part.outputs()).toArray();
        int all = java.util.Arrays.stream(outputs).sum();
        float[] weight = new float[all * inputs];
        float[] bias = new float[all];
        int at = 0;
        for (BothLinears each : linears) {
            System.arraycopy(each.weight, 0, weight, at * inputs, each.weight.length);
            if (each.bias != null) {
                System.arraycopy(each.bias, 0, bias, at, each.bias.length);
            }
            at += each.part.outputs();
        }
        PackedLinear one = PackedLinear.of(packed(weight, all, inputs), options.bias ? Tensor.of(bias) : null);
        return LinearGroup.concatenated(one, outputs);
    }

    private BothNorms norm(int dim) {
        boolean onePlus = options.norm == NormKind.RMS_OF_ONE_PLUS;
        float[] weight = draw(dim, onePlus ? 0.1 : 1.1, 0.2);
        float[] bias = options.norm == NormKind.LAYER ? draw(dim, 0.1, 0.1) : null;
        boolean centered = options.norm == NormKind.LAYER || options.norm == NormKind.LAYER_WITHOUT_BIAS;
        Tensor w = Tensor.of(weight);
        Norm part =
                switch (options.norm) {
                    case RMS -> Norm.rms(w, EPSILON);
                    case RMS_OF_ONE_PLUS -> Norm.rmsOfOnePlus(w, EPSILON);
                    case LAYER -> Norm.layer(w, Tensor.of(bias), EPSILON);
                    case LAYER_WITHOUT_BIAS -> Norm.layer(w, null, EPSILON);
                };
        double[] addends = bias == null ? null : widened(bias);
        return new BothNorms(part, new ReferenceTransformer.Norm(widened(weight), addends, EPSILON, centered, onePlus));
    }

    private BothEmbeddings embeddings() {
        int dim = shape.dim;
        float[] words = draw(VOCABULARY * dim, 0.2, 1);
        EmbeddingTables part =
                EmbeddingTables.of(Tensor.of(words, VOCABULARY, dim)).withScale(options.scales ? 1.5 : 1);
        double scale = options.scales ? 1.5 : 1;
        if (!options.tables) {
            return new BothEmbeddings(
                    part, new ReferenceTransformer.Embedding(widened(words), scale, null, null, null, dim));
        }
        float[] types = draw(2 * dim, 0.3, 0.3);
        float[] positions = draw(POSITIONS * dim, 0.1, 0.5);
        BothNorms norm = norm(dim);
        return new BothEmbeddings(
                part.withTypes(Tensor.of(types, 2, dim))
                        .withPositions(Tensor.of(positions, POSITIONS, dim))
                        .withNorm(norm.part),
                new ReferenceTransformer.Embedding(
                        widened(words), scale, widened(types), widened(positions), norm.reference, dim));
    }

    private BothBlocks block(int layer) {
        BothAttentions attention = attention(layer);
        BothFeedForwards network = feedForward();
        BothNorms a = norm(shape.dim);
        BothNorms b = norm(shape.dim);
        BothNorms c = norm(shape.dim);
        BothNorms d = norm(shape.dim);
        return switch (options.arrangement) {
            case PRE ->
                both(
                        Block.preNorm(a.part, attention.part, b.part, network.part),
                        attention,
                        network,
                        norms(a, null, null),
                        norms(b, null, null));
            case POST ->
                both(
                        Block.postNorm(attention.part, a.part, network.part, b.part),
                        attention,
                        network,
                        norms(null, null, a),
                        norms(null, null, b));
            case SANDWICH ->
                both(
                        Block.sandwichNorm(a.part, attention.part, b.part, c.part, network.part, d.part),
                        attention,
                        network,
                        norms(a, b, null),
                        norms(c, d, null));
            case AFTER ->
                both(
                        Block.sandwichNorm(null, attention.part, a.part, null, network.part, b.part),
                        attention,
                        network,
                        norms(null, a, null),
                        norms(null, b, null));
            case PARALLEL ->
                both(
                        Block.parallel(a.part, attention.part, null, network.part),
                        attention,
                        network,
                        norms(a, null, null),
                        norms(null, null, null));
            case PARALLEL_WITH_TWO_NORMS ->
                both(
                        Block.parallel(a.part, attention.part, b.part, network.part),
                        attention,
                        network,
                        norms(a, null, null),
                        norms(b, null, null));
        };
    }

    private BothBlocks both(
            Block part,
            BothAttentions attention,
            BothFeedForwards network,
            ReferenceTransformer.Norms first,
            ReferenceTransformer.Norms second) {
        boolean parallel = options.arrangement.name().startsWith("PARALLEL");
        return new BothBlocks(
                part, new ReferenceTransformer.Block(attention.reference, first, network.reference, second, parallel));
    }

    private static ReferenceTransformer.Norms norms(BothNorms before, BothNorms after, BothNorms outer) {
        return new ReferenceTransformer.Norms(
                before == null ? null : before.reference,
                after == null ? null : after.reference,
                outer == null ? null : outer.reference);
    }

    private BothAttentions attention(int layer) {
        int headDim = shape.headDim;
        // every second layer has gates, except with a norm of all heads as one row, which excludes gates
        boolean gated = options.scales && layer % 2 == 1 && options.headNorm != HeadNorm.ROW;
        BothLinears query = linear(shape.heads * headDim * (gated ? 2 : 1), shape.dim, 1, 1);
        BothLinears key = linear(shape.keyValueHeads * headDim, shape.dim, 1, 1);
        BothLinears value = linear(shape.keyValueHeads * headDim, shape.dim, 1, 1);
        BothLinears output = linear(shape.dim, shape.heads * headDim, 0.5, options.scales ? 0.7 : 1);
        AttentionOptions allowed = AttentionOptions.CAUSAL;
        ScoreRule rule = ScoreRule.causalTopLeft();
        if (options.windows && layer % 2 == 0) {
            allowed = allowed.withMask(Mask.CAUSAL.and(Mask.window(3, 0)));
            rule = rule.and(ScoreRule.windowFrom(3, 0, 0));
        }
        double scale = options.scales ? 0.4 : 1 / Math.sqrt(headDim);
        float[] sinks = options.sinks ? draw(shape.heads, 1, 0.5) : null;
        allowed = allowed.withScale(scale)
                .withScores(
                        ScoreOptions.NONE.withSoftCap(options.softCap ? 2 : 0).withSinks(sinks));
        rule = options.softCap ? ScoreRule.softCap(2).and(rule) : rule;
        double theta = layer % 2 == 0 ? 10_000 : 100;
        int dims = options.rotaryDims;
        BothNorms queryNorm = headNorm(shape.heads);
        BothNorms keyNorm = headNorm(shape.keyValueHeads);
        boolean normed = options.headNorm != HeadNorm.NONE;
        LinearGroup projections = group(List.of(query, key, value), shape.dim);
        SelfAttention part = (gated
                        ? SelfAttention.gated(shape.heads, shape.keyValueHeads, projections, output.part, allowed)
                        : SelfAttention.of(shape.heads, shape.keyValueHeads, projections, output.part, allowed))
                .withRope(dims == 0 ? null : rope(dims, theta))
                .withHeadNorms(normed ? queryNorm.part : null, normed ? keyNorm.part : null);
        ReferenceTransformer.Scores scores = new ReferenceTransformer.Scores(
                (float) scale,
                rule,
                sinks == null ? null : widened(sinks),
                dims == 0 ? null : ReferenceRope.of(dims, theta, options.interleaved),
                normed ? queryNorm.reference : null,
                normed ? keyNorm.reference : null);
        ReferenceTransformer.Linear queries = gated ? HeadWeights.half(query.reference, headDim, 0) : query.reference;
        ReferenceTransformer.Attention reference = new ReferenceTransformer.Attention(
                List.of(queries, key.reference, value.reference),
                output.reference,
                shape.heads,
                shape.keyValueHeads,
                scores);
        return new BothAttentions(
                part,
                gated
                        ? new ReferenceTransformer.GatedAttention(
                                reference, HeadWeights.half(query.reference, headDim, headDim))
                        : reference);
    }

    private BothNorms headNorm(int heads) {
        return norm(options.headNorm == HeadNorm.ROW ? heads * shape.headDim : shape.headDim);
    }

    private Rope rope(int dims, double theta) {
        Rope.Pairing pairing = options.interleaved ? Rope.Pairing.INTERLEAVED : Rope.Pairing.HALF_SPLIT;
        return Rope.of(Rope.Config.of(dims).withTheta(theta).withPairing(pairing));
    }

    private BothFeedForwards feedForward() {
        if (options.routing == Routing.NONE) {
            return network();
        }
        BothLinears logits = linear(EXPERTS, shape.dim, 2, 1);
        List<FeedForward> parts = new ArrayList<>();
        List<ReferenceTransformer.FeedForward> references = new ArrayList<>();
        for (int expert = 0; expert <= EXPERTS; expert++) {
            BothFeedForwards network = network();
            parts.add((FeedForward) network.part);
            references.add((ReferenceTransformer.FeedForward) network.reference);
        }
        boolean sigmoid = options.routing == Routing.SIGMOID_WITH_BIAS;
        float[] bias = sigmoid ? draw(EXPERTS, 0, 0.2) : null;
        Router router = Router.of(logits.part, 2);
        router = sigmoid ? router.withSigmoid().withScale(1.5).withSelectionBias(Tensor.of(bias)) : router;
        router = router.withNormalized(options.routing != Routing.SOFTMAX_OF_ALL);
        // with a choice by sigmoid, all tokens share the last expert
        ReferenceExperts experts = new ReferenceExperts(
                logits.reference,
                new ReferenceExperts.Rule(
                        2,
                        sigmoid,
                        options.routing != Routing.SOFTMAX_OF_ALL,
                        sigmoid ? 1.5 : 1,
                        bias == null ? null : widened(bias)),
                references.subList(0, EXPERTS),
                sigmoid ? references.get(EXPERTS) : null);
        return new BothFeedForwards(
                Experts.of(router, parts.subList(0, EXPERTS)).withShared(sigmoid ? parts.get(EXPERTS) : null), x -> {
                    margin = Math.min(margin, experts.margin(x));
                    return experts.of(x);
                });
    }

    private BothFeedForwards network() {
        BothLinears gate = linear(shape.inner, shape.dim, 1, 1);
        BothLinears up = linear(shape.inner, shape.dim, 1, 1);
        BothLinears down = linear(shape.dim, shape.inner, 0.5, 1);
        DoubleUnaryOperator function =
                switch (options.activation) {
                    case NONE -> x -> x;
                    case RELU -> x -> Math.max(x, 0);
                    case GELU -> ReferenceActivation::gelu;
                    case GELU_TANH -> ReferenceActivation::geluTanh;
                    case SILU -> ReferenceActivation::silu;
                };
        FeedForward part = options.gate
                ? FeedForward.gated(options.activation, group(List.of(gate, up), shape.dim), down.part)
                : FeedForward.of(up.part.withActivation(options.activation), down.part);
        return new BothFeedForwards(
                part,
                new ReferenceTransformer.FeedForward(
                        options.gate ? gate.reference : null, up.reference, down.reference, function));
    }
}
