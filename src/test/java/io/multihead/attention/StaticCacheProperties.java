package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCheck;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/**
 * Sequences of different lengths at the beginning of tensors of the maximal length are compared with the specification. The remaining
 * elements are NaN.
 */
@Tag("lanes")
class StaticCacheProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);
    private static final int KV_HEADS = 2;
    private static final int HEADS = 4;
    private static final int DIM = 8;

    record Masks(boolean causal, long left, boolean offset, boolean bias, int blocks, boolean slopes) {}

    @Provide
    Arbitrary<Masks> masks() {
        Arbitrary<Boolean> flag = Arbitraries.of(true, false);
        return Combinators.combine(
                        flag,
                        Arbitraries.of(0L, 3L, 40L, Long.MAX_VALUE, Long.MAX_VALUE),
                        Arbitraries.of(false, false, true),
                        flag,
                        Arbitraries.of(0, 0, 32),
                        flag)
                .as(Masks::new);
    }

    @Provide
    Arbitrary<Integer> maxTokens() {
        return Arbitraries.oneOf(
                Arbitraries.integers().between(0, 70), Arbitraries.of(255, 256, 257, 300, 513, 1024, 1300, 2060, 3400));
    }

    @Provide
    Arbitrary<Integer> queries() {
        return Arbitraries.oneOf(Arbitraries.integers().between(1, 5), Arbitraries.of(31, 60));
    }

    @Property(tries = 400, edgeCases = EdgeCasesMode.NONE)
    void staysWithinTheBoundAndIgnoresWhatIsBeyond(
            @ForAll("maxTokens") int maxTokens,
            @ForAll("queries") int queries,
            @ForAll("masks") Masks masks,
            @ForAll long seed) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, maxTokens, queries, masks, seed);
            ReferenceAttention.Result expected = ReferenceAttention.forward(
                    trial.query, trial.key, trial.value, (float) (1 / Math.sqrt(DIM)), trial.rule);
            AttentionOutputs tiled = trial.outputs(false);
            AttentionOutputs whole = trial.outputs(true);
            Attention.forward(THREADS, trial.query, trial.view, tiled, trial.options);
            Attention.forward(SERIAL, trial.query, trial.view, whole, trial.options);
            for (AttentionOutputs outputs : new AttentionOutputs[] {tiled, whole}) {
                double ratio = Tolerance.ratio(
                        Numbers.of(outputs.output()), expected.output(), expected.errorScale(), DType.F32);
                assertTrue(ratio <= Tolerance.FORWARD, () -> "R = " + ratio);
                AttentionCheck.logSumExp(Numbers.of(outputs.logSumExp()), expected);
            }
            double[] weights = Numbers.of(whole.weights());
            AttentionCheck.weights(weights, expected);
            for (int i = 0; i < weights.length; i++) {
                assertTrue(i % maxTokens < trial.lengthOf(i / maxTokens) || weights[i] == 0, "beyond the length");
            }
            AttentionOutputs masked = trial.outputs(false);
            trial.clearBeyond();
            AttentionOptions lengths =
                    trial.options.withMask(Mask.keyLengths(trial.lengths).and(trial.options.mask()));
            Attention.forward(SERIAL, trial.query, trial.key, trial.value, masked, lengths);
            assertArrayEquals(Numbers.of(masked.output()), Numbers.of(tiled.output()));
            assertArrayEquals(Numbers.of(masked.logSumExp()), Numbers.of(tiled.logSumExp()));
        }
    }

    /** Packed keys and packed queries have different lengths. The mask and the weights have the width of the longest sequence. */
    @Example
    void packedSequencesTakeMasksAndGiveWeights() {
        Tensor tokens = Tensor.of(new float[9], 1, 1, 9, 1);
        KeyValueView view = KeyValueView.packed(tokens, tokens, PackedSequences.of(0, 6, 9));
        Tensor kept = Layout.HEAP.allocate(Arena.ofAuto(), DType.I8, 2, 1, 1, 6);
        Numbers.fill(kept, () -> 1);
        kept.set(0, 0, 0, 0, 1);
        kept.set(0, 1, 0, 0, 2);
        Tensor output = Tensor.of(new float[4], 1, 1, 4, 1);
        float[] weights = new float[4 * 6];
        Arrays.fill(weights, 42f);
        Attention.forward(
                SERIAL,
                Tensor.of(new float[4], 1, 1, 4, 1),
                PackedSequences.of(0, 3, 4),
                view,
                AttentionOutputs.of(output).withWeights(Tensor.of(weights, 1, 1, 4, 6)),
                AttentionOptions.DEFAULT.withMask(Mask.CAUSAL.and(Mask.keep(kept))));
        float third = 1f / 3;
        assertArrayEquals(
                new float[] {
                    third, 0, third, third, 0, 0, //
                    0.25f, 0, 0.25f, 0.25f, 0.25f, 0, //
                    0.2f, 0, 0.2f, 0.2f, 0.2f, 0.2f, //
                    0.5f, 0.5f, 0, 0, 0, 0
                },
                weights,
                0x1p-24f);
    }

    @Example
    void lengthsThatDoNotFitAreRefused() {
        Tensor key = Tensor.of(new float[12], 2, 1, 6, 1);
        refused("lengths: 1 lengths; expected one per sequence of 2, as in key [2, 1, 6, 1]", key, 3);
        refused("lengths: 7; expected 0 to 6, the tokens of key [2, 1, 6, 1]", key, 3, 7);
        refused("lengths: -1; expected 0 to 6, the tokens of key [2, 1, 6, 1]", key, -1, 3);
    }

    private static void refused(String message, Tensor key, long... lengths) {
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> KeyValueView.of(key, key, lengths));
        assertEquals(message, error.getMessage());
    }

    private static final class Trial {
        final Tensor query;
        final Tensor key;
        final Tensor value;
        final long[] lengths;
        final KeyValueView view;
        final AttentionOptions options;
        final ScoreRule rule;
        private final Arena arena;
        private final SplittableRandom random;

        Trial(Arena arena, int maxTokens, int queries, Masks masks, long seed) {
            this.arena = arena;
            random = new SplittableRandom(seed);
            int batch = 1 + random.nextInt(3);
            lengths = random.longs(batch, 0, maxTokens + 1).toArray();
            query = gaussian(batch, HEADS, queries, DIM);
            key = gaussian(batch, KV_HEADS, maxTokens, DIM);
            value = gaussian(batch, KV_HEADS, maxTokens, DIM);
            setBeyond(key, Double.NaN);
            setBeyond(value, Double.NaN);
            view = KeyValueView.of(key, value, lengths);
            long[] offsets = ScoreRule.bottomRight(queries, lengths);
            Mask mask = Mask.NONE;
            ScoreRule made = ScoreRule.keyLengths(lengths);
            ScoreOptions scores = ScoreOptions.NONE;
            if (masks.offset) {
                offsets = random.longs(batch, -3, maxTokens + 4).toArray();
                mask = mask.and(Mask.queryOffset(offsets));
            }
            if (masks.slopes) {
                scores = scores.withSlopes(0.5f, 0.25f, 0.125f, 0f);
                made = made.and(ScoreRule.alibiFrom(new double[] {0.5, 0.25, 0.125, 0}, offsets));
            }
            if (masks.causal) {
                mask = mask.and(Mask.CAUSAL);
                made = made.and(ScoreRule.causalFrom(offsets));
            }
            mask = mask.and(Mask.window(masks.left, Long.MAX_VALUE));
            made = made.and(ScoreRule.windowFrom(masks.left, Long.MAX_VALUE, offsets));
            if (masks.bias) {
                Tensor bias = gaussian(batch, random.nextBoolean() ? 1 : HEADS, 1, maxTokens);
                mask = mask.and(Mask.bias(bias));
                made = made.and(ScoreRule.bias(bias));
            }
            if (masks.blocks > 0) {
                Tensor kept = Numbers.fill(
                        Layout.DENSE.allocate(arena, DType.I8, 1, Math.ceilDiv(maxTokens, masks.blocks)),
                        () -> random.nextInt(3) == 0 ? 0 : 1);
                mask = mask.and(Mask.blocks(kept, masks.blocks));
                made = made.and(ScoreRule.blocks(kept, masks.blocks));
            }
            options = AttentionOptions.DEFAULT.withMask(mask).withScores(scores);
            rule = made;
        }

        void clearBeyond() {
            setBeyond(key, 0);
            setBeyond(value, 0);
        }

        long lengthOf(int row) {
            return lengths[row / (HEADS * (int) query.dim(2))];
        }

        AttentionOutputs outputs(boolean weights) {
            long b = query.dim(0);
            long l = query.dim(2);
            AttentionOutputs outputs = AttentionOutputs.of(Layout.DENSE.allocate(arena, DType.F32, b, HEADS, l, DIM))
                    .withLogSumExp(Layout.DENSE.allocate(arena, DType.F32, b, HEADS, l));
            Tensor all = Layout.GAPS.allocate(arena, DType.F32, b, HEADS, l, key.dim(2));
            return weights ? outputs.withWeights(Numbers.fill(all, () -> 42)) : outputs;
        }

        private void setBeyond(Tensor tensor, double content) {
            for (int b = 0; b < lengths.length; b++) {
                Tensor rest = tensor.slice(0, b, b + 1).slice(2, lengths[b], tensor.dim(2));
                Numbers.fill(rest, () -> content);
            }
        }

        private Tensor gaussian(long... dims) {
            return Numbers.gaussian(Layout.DENSE.allocate(arena, DType.F32, dims), random, 0, 1);
        }
    }
}
