package io.multihead.support;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ReferenceDropout;
import io.multihead.reference.ScoreRule;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import org.jspecify.annotations.Nullable;

/** A random call of attention with changes of scores, as options and as a specification. */
public final class ScoreCase {
    public final AttentionCase.Built built;
    public final AttentionOptions options;
    public final ScoreRule rule;
    public final float @Nullable [] sinks;

    /** Window, soft-cap, linear biases, sinks, a modifier, and the size of sparse blocks, which is 0 without blocks. */
    public record Changes(
            long left, long right, double softCap, boolean slopes, boolean sinks, boolean modifier, int blocks) {
        public static final Changes NONE = new Changes(Long.MAX_VALUE, Long.MAX_VALUE, 0, false, false, false, 0);

        /** Returns these changes without a modifier. */
        public Changes differentiable() {
            return new Changes(left, right, softCap, slopes, sinks, false, blocks);
        }
    }

    public static Arbitrary<Changes> changes() {
        Arbitrary<Long> side = Arbitraries.of(0L, 1L, 31L, 64L, 255L, 300L, Long.MAX_VALUE, Long.MAX_VALUE);
        Arbitrary<Boolean> flag = Arbitraries.of(false, false, true);
        return Combinators.combine(
                        side,
                        side,
                        Arbitraries.of(0.0, 0.0, 2.0, 30.0),
                        flag,
                        flag,
                        flag,
                        Arbitraries.of(0, 0, 32, 64, 256))
                .as(Changes::new);
    }

    public ScoreCase(Arena arena, AttentionCase attentionCase, Changes changes) {
        built = attentionCase.build(arena);
        AttentionCase.Sizes sizes = attentionCase.sizes();
        int heads = sizes.kvHeads() * sizes.group();
        SplittableRandom random = new SplittableRandom(attentionCase.seed() + 2);
        ScoreOptions scores = ScoreOptions.NONE;
        ScoreRule changed = ScoreRule.NONE;
        if (changes.softCap > 0) {
            scores = scores.withSoftCap(changes.softCap);
            changed = changed.and(ScoreRule.softCap(changes.softCap));
        }
        if (changes.slopes) {
            float[] slopes = floats(random, heads, 0.2);
            scores = scores.withSlopes(slopes);
            changed = changed.and(ScoreRule.alibiFrom(doubles(slopes), built.offsets()));
        }
        changed = changed.and(built.rule());
        Mask mask = built.options().mask();
        if (!changes.equals(Changes.NONE)) {
            mask = mask.and(Mask.window(changes.left, changes.right));
            changed = changed.and(ScoreRule.windowFrom(changes.left, changes.right, built.offsets()));
        }
        if (changes.blocks > 0) {
            Tensor kept = Numbers.fill(
                    Layout.DENSE.allocate(
                            arena,
                            DType.I8,
                            random.nextBoolean() ? 1 : heads,
                            Math.ceilDiv(sizes.queries(), changes.blocks),
                            Math.ceilDiv(sizes.keys(), changes.blocks)),
                    () -> random.nextInt(3) == 0 ? 0 : 1);
            mask = mask.and(Mask.blocks(kept, changes.blocks));
            changed = changed.and(ScoreRule.blocks(kept, changes.blocks));
        }
        if (changes.modifier) {
            scores = scores.withModifier((b, h, q, k, s) -> (q + k + h) % 7 == 3 ? Float.NEGATIVE_INFINITY : s * 0.5f);
            changed = changed.and((b, h, q, k, s) -> (q + k + h) % 7 == 3 ? Double.NEGATIVE_INFINITY : s * 0.5);
        }
        sinks = changes.sinks ? floats(random, heads, 2) : null;
        scores = sinks == null ? scores : scores.withSinks(sinks);
        options = built.options().withMask(mask).withScores(scores);
        rule = changed;
    }

    /** Returns the specification of the call. A sink is its last key. */
    public ReferenceAttention.Call call(ReferenceDropout dropout) {
        ReferenceAttention.Call call = callWithoutSinks(dropout);
        return sinks == null ? call : call.withSinks(doubles(sinks));
    }

    /** Returns the specification of the call without its sinks. */
    public ReferenceAttention.Call callWithoutSinks(ReferenceDropout dropout) {
        return new ReferenceAttention.Call(built.query(), built.key(), built.value(), built.scale(), rule, dropout);
    }

    private static double[] doubles(float... values) {
        return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
    }

    private static float[] floats(SplittableRandom random, int count, double spread) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) (spread * random.nextGaussian());
        }
        return values;
    }
}
