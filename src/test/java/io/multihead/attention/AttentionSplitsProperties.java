package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCheck;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Attention over shards of keys, each of whole splits, has the same bits as one call over all keys and agrees with the specification. */
@Tag("lanes")
class AttentionSplitsProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    enum Options {
        PLAIN,
        SCALED,
        CAUSAL,
        WINDOW,
        TOP_LEFT,
        SLOPES,
        BIAS,
        KEEP,
        BLOCKS,
        CAP_AND_SINKS,
        DROPOUT,
        MODIFIER
    }

    record Sizes(int batch, int kvHeads, int group, int queries, int keys, int headDim, int valueDim) {}

    record Types(DType query, DType keyValue, DType output, Layout inputs, Layout states, boolean nonFinite) {}

    @Provide
    Arbitrary<Sizes> sizes() {
        Arbitrary<Integer> small = Arbitraries.integers().between(1, 2);
        Arbitrary<Integer> dim =
                Arbitraries.oneOf(Arbitraries.integers().between(1, 40), Arbitraries.of(1, 31, 32, 33, 64));
        Arbitrary<Integer> keys = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 5200), Arbitraries.of(1, 1023, 1024, 1025, 2048, 3072, 4097));
        return Combinators.combine(
                        small,
                        small,
                        Arbitraries.integers().between(1, 4),
                        Arbitraries.of(1, 1, 2, 3, 5, 13, 50),
                        keys,
                        dim,
                        dim)
                .as(Sizes::new)
                .filter(s -> (long) s.batch * s.kvHeads * s.group * s.queries * s.keys * (s.headDim + s.valueDim)
                        < 10_000_000);
    }

    @Provide
    Arbitrary<Types> types() {
        Arbitrary<DType> input = Arbitraries.of(DType.F32, DType.F32, DType.BF16, DType.F16);
        Arbitrary<DType> output = Arbitraries.of(DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16);
        Arbitrary<Layout> layout = Arbitraries.of(Layout.class);
        return Combinators.combine(input, input, output, layout, layout, Arbitraries.of(false, false, false, true))
                .as(Types::new);
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void shardsOfWholeSplitsHaveTheBitsOfOneCall(
            @ForAll("sizes") Sizes sizes, @ForAll("types") Types types, @ForAll Options options, @ForAll long seed) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(arena, sizes, types, options, seed);
            KeyValueView whole = KeyValueView.of(trial.key, trial.value);
            AttentionOutputs expected = trial.outputs();
            Attention.forward(trial.anyCompute(), trial.query, whole, expected, trial.options(sizes.keys));
            List<Tensor> states = new ArrayList<>();
            long[] cuts = trial.cuts();
            List<Integer> order = new ArrayList<>();
            for (int shard = 0; shard + 1 < cuts.length; shard++) {
                states.add(null);
                order.add(shard);
            }
            Collections.shuffle(order, trial.random);
            for (int shard : order) {
                states.set(shard, trial.states(cuts[shard], cuts[shard + 1]));
            }
            AttentionOutputs actual = trial.outputs();
            AttentionSplits.merge(trial.anyCompute(), states, actual);
            assertSameBits(expected, actual);
            trial.requireWithinTheBound(actual);
            trial.requireSameBitsByHead(states, expected);
        }
    }

    /** Sequences have different lengths. Some end before a shard begins. */
    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void sequencesOfDifferentLengthsHaveTheBitsOfOneCall(@ForAll long seed) {
        try (Arena arena = Arena.ofShared()) {
            Trial trial = new Trial(
                    arena,
                    new Sizes(3, 1, 2, 2, 3500, 8, 12),
                    new Types(DType.F32, DType.F32, DType.F32, Layout.DENSE, Layout.GAPS, false),
                    Options.PLAIN,
                    seed);
            long[] lengths = {trial.random.nextInt(3501), trial.random.nextInt(1500), trial.random.nextInt(3501)};
            AttentionOutputs expected = trial.outputs();
            KeyValueView whole = KeyValueView.of(trial.key, trial.value, lengths);
            Attention.forward(SERIAL, trial.query, whole, expected, AttentionOptions.DEFAULT);
            List<Tensor> states = new ArrayList<>();
            long[] cuts = trial.cuts();
            for (int shard = 0; shard + 1 < cuts.length; shard++) {
                long from = cuts[shard];
                long to = cuts[shard + 1];
                long[] own = new long[3];
                for (int i = 0; i < 3; i++) {
                    own[i] = Math.clamp(lengths[i] - from, 0, to - from);
                }
                KeyValueView view = KeyValueView.of(trial.key.slice(2, from, to), trial.value.slice(2, from, to), own)
                        .shard(from);
                states.add(trial.states(view, AttentionOptions.DEFAULT));
            }
            AttentionOutputs actual = trial.outputs();
            AttentionSplits.merge(THREADS, states, actual);
            assertSameBits(expected, actual);
        }
    }

    /** Each shard is a separate cache, in any element type; one cache holds all keys. */
    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void cachesHaveTheBitsOfOneCache(
            @ForAll("sizes") Sizes any, @ForAll("cacheTypes") DType dtype, @ForAll boolean paged, @ForAll long seed) {
        Sizes sizes = new Sizes(1, any.kvHeads, any.group, any.queries, any.keys, any.headDim, any.valueDim);
        try (Arena arena = Arena.ofShared()) {
            Types types = new Types(DType.F32, DType.F32, DType.F32, Layout.DENSE, Layout.DENSE, false);
            Trial trial = new Trial(arena, sizes, types, Options.CAUSAL, seed);
            AttentionOutputs expected = trial.outputs();
            AttentionOptions options = trial.options(sizes.keys);
            Attention.forward(SERIAL, trial.query, trial.cache(dtype, paged, 0, sizes.keys), expected, options);
            List<Tensor> states = new ArrayList<>();
            long[] cuts = trial.cuts();
            for (int shard = 0; shard + 1 < cuts.length; shard++) {
                KeyValueView view = trial.cache(dtype, paged, cuts[shard], cuts[shard + 1]);
                states.add(trial.states(view.shard(cuts[shard]), options));
            }
            AttentionOutputs actual = trial.outputs();
            AttentionSplits.merge(SERIAL, states, actual);
            assertSameBits(expected, actual);
        }
    }

    @Provide
    Arbitrary<DType> cacheTypes() {
        return Arbitraries.of(DType.F32, DType.BF16, DType.F16, DType.I8);
    }

    /**
     * Attention over one shard equals attention over all keys with a mask that hides the other shards. Keys of a shard have their positions
     * in the whole sequence.
     */
    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void shardIsTheWindowOfItsKeys(@ForAll("sizes") Sizes sizes, @ForAll Options options, @ForAll long seed) {
        try (Arena arena = Arena.ofShared()) {
            Types types = new Types(DType.F32, DType.F32, DType.F32, Layout.DENSE, Layout.DENSE, false);
            Trial trial = new Trial(arena, sizes, types, options, seed);
            long[] cuts = trial.cuts();
            int shard = trial.random.nextInt(cuts.length - 1);
            Tensor hidden = Layout.DENSE.allocate(arena, DType.I8, sizes.keys);
            long[] position = {0};
            Numbers.fill(hidden, () -> {
                long at = position[0]++;
                return at < cuts[shard] || at >= cuts[shard + 1] ? 1 : 0;
            });
            AttentionOptions all = trial.options(sizes.keys);
            AttentionOutputs expected = trial.outputs();
            KeyValueView whole = KeyValueView.of(trial.key, trial.value);
            Attention.forward(
                    SERIAL,
                    trial.query,
                    whole,
                    expected,
                    all.withMask(all.mask().and(Mask.drop(hidden))));
            AttentionOutputs actual = trial.outputs();
            Attention.forward(
                    trial.anyCompute(),
                    trial.query,
                    trial.view(cuts[shard], cuts[shard + 1]),
                    actual,
                    trial.options(cuts[shard + 1]));
            assertSameBits(expected, actual);
        }
    }

    private static void assertSameBits(AttentionOutputs expected, AttentionOutputs actual) {
        assertArrayEquals(Numbers.of(expected.output()), Numbers.of(actual.output()));
        assertArrayEquals(Numbers.of(expected.logSumExp()), Numbers.of(actual.logSumExp()));
        assertTrue(Layout.untouchedOutside(actual.output()), "bytes around the output");
    }

    private static final class Trial {
        final Tensor query;
        final Tensor key;
        final Tensor value;
        final Random random;
        private final Arena arena;
        private final Sizes sizes;
        private final Types types;
        private final Options kind;
        private final int heads;
        private final long offset;
        private final Tensor maskTensor;

        Trial(Arena arena, Sizes sizes, Types types, Options kind, long seed) {
            this.arena = arena;
            this.sizes = sizes;
            this.types = types;
            this.kind = kind;
            random = new Random(seed);
            heads = sizes.kvHeads * sizes.group;
            query = gaussian(types.query, sizes.batch, heads, sizes.queries, sizes.headDim);
            key = gaussian(types.keyValue, sizes.batch, sizes.kvHeads, sizes.keys, sizes.headDim);
            value = gaussian(types.keyValue, sizes.batch, sizes.kvHeads, sizes.keys, sizes.valueDim);
            for (int i = 0; types.nonFinite && sizes.keys > 0 && i < 3; i++) {
                double[] values = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
                Tensor damaged = random.nextBoolean() ? key : value;
                damaged.set(values[random.nextInt(3)], 0, 0, random.nextInt(sizes.keys), 0);
            }
            offset = sizes.keys - sizes.queries - random.nextInt(3);
            maskTensor = maskTensor();
        }

        private Tensor maskTensor() {
            long ofHeads = random.nextBoolean() ? heads : 1;
            return switch (kind) {
                case BIAS -> gaussian(DType.F32, ofHeads, 1, sizes.keys);
                case BLOCKS -> flags(ofHeads, 1, Math.ceilDiv(sizes.keys, 64));
                default -> flags(ofHeads, 1, sizes.keys);
            };
        }

        private Tensor flags(long... dims) {
            return Numbers.fill(Layout.DENSE.allocate(arena, DType.I8, dims), () -> random.nextInt(3) == 0 ? 0 : 1);
        }

        /** Returns the options of a call over the keys before {@code end}. */
        AttentionOptions options(long end) {
            AttentionOptions plain = AttentionOptions.DEFAULT;
            Mask offsets = Mask.queryOffset(offset);
            float[] perHead = new float[heads];
            for (int h = 0; h < heads; h++) {
                perHead[h] = 0.01f * (h + 1);
            }
            return switch (kind) {
                case PLAIN -> plain;
                case SCALED -> plain.withScale(-0.37);
                case CAUSAL -> plain.withMask(Mask.CAUSAL.and(offsets));
                case WINDOW -> plain.withMask(Mask.window(1500, 3).and(offsets));
                case TOP_LEFT -> plain.withMask(Mask.CAUSAL_TOP_LEFT);
                case SLOPES -> plain.withMask(offsets).withScores(ScoreOptions.NONE.withSlopes(perHead));
                case BIAS -> plain.withMask(Mask.bias(maskTensor.slice(2, 0, end)));
                case KEEP -> plain.withMask(Mask.keep(maskTensor.slice(2, 0, end)));
                case BLOCKS ->
                    plain.withMask(Mask.CAUSAL
                            .and(offsets)
                            .and(Mask.blocks(maskTensor.slice(2, 0, Math.ceilDiv(end, 64)), 64)));
                case CAP_AND_SINKS ->
                    plain.withScores(ScoreOptions.NONE.withSoftCap(5).withSinks(perHead));
                case DROPOUT -> plain.withDropout(new AttentionDropout(0.3, 42));
                case MODIFIER ->
                    plain.withScores(ScoreOptions.NONE.withModifier(
                            (batch, head, query, key, score) -> score + 1e-3f * (key % 100 - head)));
            };
        }

        /** Returns the positions of the first keys of the shards, which are multiples of the split size, and the number of keys. */
        long[] cuts() {
            List<Long> cuts = new ArrayList<>();
            cuts.add(0L);
            for (long cut = 1024; cut < sizes.keys; cut += 1024) {
                if (random.nextBoolean()) {
                    cuts.add(cut);
                }
            }
            cuts.add((long) sizes.keys);
            return cuts.stream().mapToLong(Long::longValue).toArray();
        }

        KeyValueView view(long from, long to) {
            return KeyValueView.of(key.slice(2, from, to), value.slice(2, from, to))
                    .shard(from);
        }

        KeyValueView cache(DType dtype, boolean paged, long from, long to) {
            KeyValueCache.Config config = KeyValueCache.Config.of(1, sizes.kvHeads, sizes.headDim)
                    .withValueDim(sizes.valueDim)
                    .withFormat(CacheFormat.of(dtype));
            int tokens = (int) Math.max(1, to - from);
            KeyValueCache cache =
                    paged ? KeyValueCache.paged(config, 1 << 24) : KeyValueCache.contiguous(config, 1, tokens);
            int sequence = paged ? cache.open() : 0;
            cache.append(SERIAL, 0, new int[] {sequence}, key.slice(2, from, to), value.slice(2, from, to));
            return cache.view(0, sequence);
        }

        Tensor states(long from, long to) {
            return states(view(from, to), options(to));
        }

        Tensor states(KeyValueView shard, AttentionOptions options) {
            Shape shape = AttentionSplits.shape(query, shard);
            Tensor states = types.states.allocate(arena, DType.F32, shape.toArray());
            AttentionSplits.forward(anyCompute(), query, shard, states, options);
            assertTrue(Layout.untouchedOutside(states), "bytes around the states");
            return states;
        }

        AttentionOutputs outputs() {
            Tensor output =
                    types.states.allocate(arena, types.output, sizes.batch, heads, sizes.queries, sizes.valueDim);
            return AttentionOutputs.of(output)
                    .withLogSumExp(Layout.DENSE.allocate(arena, DType.F64, sizes.batch, heads, sizes.queries));
        }

        Compute anyCompute() {
            return random.nextBoolean() ? SERIAL : THREADS;
        }

        void requireWithinTheBound(AttentionOutputs actual) {
            ScoreRule rule =
                    switch (kind) {
                        case PLAIN -> ScoreRule.NONE;
                        case CAUSAL -> ScoreRule.causalFrom(new long[] {offset});
                        case BIAS -> ScoreRule.bias(maskTensor);
                        default -> null;
                    };
            if (rule == null || types.nonFinite) {
                return;
            }
            ReferenceAttention.Result expected =
                    ReferenceAttention.forward(query, key, value, (float) (1 / Math.sqrt(sizes.headDim)), rule);
            double ratio = Tolerance.ratio(
                    Numbers.of(actual.output()), expected.output(), expected.errorScale(), types.output);
            assertTrue(ratio <= Tolerance.FORWARD, () -> "R = " + ratio);
            AttentionCheck.logSumExp(Numbers.of(actual.logSumExp()), expected);
        }

        /** Merges head by head, without log-sum-exp. */
        void requireSameBitsByHead(List<Tensor> states, AttentionOutputs expected) {
            Tensor output = outputs().output();
            for (int head = 0; head < heads; head++) {
                int one = head;
                List<Tensor> own =
                        states.stream().map(all -> all.slice(1, one, one + 1)).toList();
                AttentionSplits.merge(SERIAL, own, AttentionOutputs.of(output.slice(1, head, head + 1)));
            }
            assertArrayEquals(Numbers.of(expected.output()), Numbers.of(output));
        }

        private Tensor gaussian(DType dtype, long... dims) {
            return Numbers.gaussian(types.inputs.allocate(arena, dtype, dims), random, 0, 1);
        }
    }
}
