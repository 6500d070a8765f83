package io.multihead.faults;

import io.multihead.attention.AttentionOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.model.Block;
import io.multihead.model.FeedForward;
import io.multihead.model.LinearGroup;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.model.SelfAttention;
import io.multihead.model.Sublayer;
import io.multihead.support.Numbers;
import io.multihead.support.Tokens;
import io.multihead.tensor.Tensor;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Immutable parts of models with width 4 that fit each other. With random parts, 100,000 tries did not make one valid attention layer. */
final class ModelParts {
    private static final int WIDTH = 4;

    static final PackedLinear LINEAR = linear(1);
    static final LinearGroup PROJECTIONS =
            LinearGroup.of(IntStream.range(2, 5).mapToObj(ModelParts::linear).toArray(PackedLinear[]::new));
    static final FeedForward FEED_FORWARD = FeedForward.of(linear(5), linear(6));
    static final SelfAttention ATTENTION = SelfAttention.of(2, 2, PROJECTIONS, LINEAR, AttentionOptions.CAUSAL);
    static final Block BLOCK = Block.preNorm(norm(7), ATTENTION, norm(8), FEED_FORWARD);

    static final Sublayer SUBLAYER = Sublayer.preNorm(norm(9), FEED_FORWARD);

    private ModelParts() {}

    private static PackedLinear linear(int seed) {
        return PackedLinear.of(PackedWeights.ofInputRows(gaussian(seed, WIDTH, WIDTH)));
    }

    private static Norm norm(int seed) {
        return Norm.rms(gaussian(seed, WIDTH), 1e-5);
    }

    private static Tensor gaussian(int seed, long... dims) {
        return Numbers.gaussian(Tokens.zeros(dims), new SplittableRandom(seed), 0, 1);
    }
}
