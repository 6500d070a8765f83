package io.multihead.support;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/** One random call of attention: sizes, masks, magnitudes, layouts and element types, and the seed of its numbers. */
public record AttentionCase(Sizes sizes, MaskKind mask, double sigma, double mean, Storage storage, long seed) {
    public record Sizes(int batch, int kvHeads, int group, int queries, int keys, int headDim, int valueDim) {}

    public record Storage(DType query, DType keyValue, DType output, Layout inputs, Layout results) {}

    public enum MaskKind {
        NONE,
        CAUSAL,
        TOP_LEFT,
        KEEP,
        DROP_KEYS,
        BIAS,
        BIAS_INFINITE,
        LENGTHS,
        CAUSAL_LENGTHS,
        CAUSAL_LENGTHS_BIAS,
        TOP_LEFT_LENGTHS,
        OFFSET,
        CAUSAL_OFFSET,
        CAUSAL_OFFSET_LENGTHS
    }

    /** The arguments of a call, its specification, and the position of each batch's first query. */
    public record Built(
            Tensor query,
            Tensor key,
            Tensor value,
            AttentionOptions options,
            ScoreRule rule,
            double scale,
            long... offsets) {
        public ReferenceAttention.Result reference() {
            return ReferenceAttention.forward(query, key, value, scale, rule);
        }

        public AttentionOutputs outputs(Arena arena, Layout layout, DType dtype, boolean weights) {
            long b = query.dim(0);
            long h = query.dim(1);
            long l = query.dim(2);
            AttentionOutputs outputs = AttentionOutputs.of(layout.allocate(arena, dtype, b, h, l, value.dim(3)))
                    .withLogSumExp(layout.allocate(arena, DType.F32, b, h, l));
            return weights ? outputs.withWeights(layout.allocate(arena, DType.F32, b, h, l, key.dim(2))) : outputs;
        }

        public void run(Compute cpu, AttentionOutputs outputs) {
            Attention.forward(cpu, query, key, value, outputs, options);
        }
    }

    public static Arbitrary<AttentionCase> any() {
        Arbitrary<Integer> length = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 70),
                Arbitraries.of(1, 31, 32, 33, 47, 48, 49, 127, 128, 129, 255, 256, 257, 300, 513));
        Arbitrary<Integer> dim = Arbitraries.oneOf(
                Arbitraries.integers().between(1, 40),
                Arbitraries.of(1, 15, 16, 17, 31, 32, 33, 48, 64, 80, 96, 128, 257));
        Arbitrary<Integer> small = Arbitraries.integers().between(1, 3);
        Arbitrary<Sizes> sizes = Combinators.combine(small, small, small, length, length, dim, dim)
                .as(Sizes::new)
                .filter(s -> (long) s.batch * s.kvHeads * s.group * s.queries * s.keys * (s.headDim + s.valueDim)
                        < 6_000_000);
        Arbitrary<DType> input = Arbitraries.frequencyOf(
                net.jqwik.api.Tuple.of(6, Arbitraries.just(DType.F32)),
                net.jqwik.api.Tuple.of(2, Arbitraries.of(DType.class)));
        Arbitrary<DType> output = Arbitraries.of(DType.F32, DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16);
        Arbitrary<Storage> storage = Combinators.combine(
                        input, input, output, Arbitraries.of(Layout.class), Arbitraries.of(Layout.class))
                .as(Storage::new);
        return Combinators.combine(
                        sizes,
                        Arbitraries.of(MaskKind.class),
                        Arbitraries.of(1e-3, 0.3, 1.0, 1.0, 3.0),
                        Arbitraries.of(0.0, 0.0, 0.0, 1.0),
                        storage,
                        Arbitraries.longs())
                .as(AttentionCase::new);
    }

    public Built build(Arena arena) {
        SplittableRandom random = new SplittableRandom(seed);
        int heads = sizes.kvHeads * sizes.group;
        Tensor query = tensor(arena, storage.query, random, sizes.batch, heads, sizes.queries, sizes.headDim);
        Tensor key = tensor(arena, storage.keyValue, random, sizes.batch, sizes.kvHeads, sizes.keys, sizes.headDim);
        Tensor value = tensor(arena, storage.keyValue, random, sizes.batch, sizes.kvHeads, sizes.keys, sizes.valueDim);
        long[] offsets = {sizes.keys - sizes.queries};
        Mask made = Mask.NONE;
        ScoreRule rule = ScoreRule.NONE;
        if (mask.name().contains("LENGTHS")) {
            long[] lengths = perBatch(random, 0, sizes.keys);
            offsets = ScoreRule.bottomRight(sizes.queries, lengths);
            made = Mask.keyLengths(lengths);
            rule = ScoreRule.keyLengths(lengths);
        }
        if (mask.name().contains("OFFSET")) {
            offsets = perBatch(random, -sizes.queries - 2, sizes.keys + 2);
            made = made.and(Mask.queryOffset(offsets));
        }
        for (Part part : parts(arena, random, offsets)) {
            made = random.nextBoolean() ? made.and(part.mask) : part.mask.and(made);
            rule = rule.and(part.rule);
        }
        boolean ownScale = random.nextInt(4) == 0;
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(made);
        options = ownScale ? options.withScale(0.37) : options;
        double scale = ownScale ? 0.37 : 1 / Math.sqrt(sizes.headDim);
        return new Built(query, key, value, options, rule, (float) scale, offsets);
    }

    private record Part(Mask mask, ScoreRule rule) {}

    private List<Part> parts(Arena arena, RandomGenerator random, long[] offsets) {
        Part causal = new Part(Mask.CAUSAL, ScoreRule.causalFrom(offsets));
        return switch (mask) {
            case NONE, LENGTHS, OFFSET -> List.of();
            case CAUSAL, CAUSAL_LENGTHS, CAUSAL_OFFSET, CAUSAL_OFFSET_LENGTHS -> List.of(causal);
            case TOP_LEFT, TOP_LEFT_LENGTHS -> List.of(new Part(Mask.CAUSAL_TOP_LEFT, ScoreRule.causalTopLeft()));
            case KEEP -> {
                Tensor flags = flags(arena, random, 0.6);
                yield List.of(new Part(Mask.keep(flags), ScoreRule.keep(flags)));
            }
            case DROP_KEYS -> {
                Tensor flags = flags(arena, random, 0.3);
                yield List.of(new Part(Mask.drop(flags), ScoreRule.drop(flags)));
            }
            case BIAS -> List.of(bias(arena, random, false));
            case BIAS_INFINITE -> List.of(bias(arena, random, true));
            case CAUSAL_LENGTHS_BIAS -> List.of(causal, bias(arena, random, true));
        };
    }

    /** Returns one number for each batch, or one number for all batches. */
    private long[] perBatch(RandomGenerator random, long least, long most) {
        return random.longs(random.nextBoolean() ? sizes.batch : 1, least, most + 1)
                .toArray();
    }

    private Part bias(Arena arena, RandomGenerator random, boolean infinite) {
        Tensor tensor = storage.inputs.allocate(arena, DType.F32, broadcastable(random));
        Numbers.fill(
                tensor,
                () -> infinite && random.nextInt(3) == 0 ? Double.NEGATIVE_INFINITY : (float) random.nextGaussian());
        return new Part(Mask.bias(tensor), ScoreRule.bias(tensor));
    }

    private Tensor flags(Arena arena, RandomGenerator random, double share) {
        Tensor tensor = storage.inputs.allocate(arena, DType.I8, broadcastable(random));
        return Numbers.fill(tensor, () -> random.nextDouble() < share ? 1 + random.nextInt(100) : 0);
    }

    /**
     * Returns sizes that broadcast to (batch, heads, queries, keys). Any axis may be 1, and leading axes may be
     * missing.
     */
    private long[] broadcastable(RandomGenerator random) {
        long[] full = {sizes.batch, (long) sizes.kvHeads * sizes.group, sizes.queries, sizes.keys};
        int skip = random.nextInt(4);
        long[] dims = java.util.Arrays.copyOfRange(full, skip, 4);
        for (int axis = 0; axis < dims.length; axis++) {
            dims[axis] = random.nextInt(3) == 0 ? 1 : dims[axis];
        }
        return dims;
    }

    private Tensor tensor(Arena arena, DType dtype, RandomGenerator random, long... dims) {
        double spread = dtype == DType.I8 ? 2 : sigma;
        return Numbers.gaussian(storage.inputs.allocate(arena, dtype, dims), random, mean, spread);
    }
}
