package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.support.AttentionCase;
import io.multihead.support.Layout;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tag;

/** Some changes of a call must not change a bit of the result, and others have a known effect. */
@Tag("lanes")
class AttentionInvariantProperties {
    private static final Compute SERIAL = Compute.serial();
    private static final Compute THREADS = Compute.threads(3);

    @Provide
    Arbitrary<AttentionCase> cases() {
        return AttentionCase.any().filter(c -> c.sizes().queries() > 0);
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void threadsChangeNoBit(@ForAll("cases") AttentionCase attentionCase, @ForAll boolean weights) {
        try (Arena arena = Arena.ofShared()) {
            AttentionCase.Built built = attentionCase.build(arena);
            AttentionOutputs one = built.outputs(arena, Layout.DENSE, DType.F32, weights);
            AttentionOutputs many = built.outputs(arena, Layout.DENSE, DType.F32, weights);
            built.run(SERIAL, one);
            built.run(THREADS, many);
            assertSameBits(one, many);
        }
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void layoutAndMemoryChangeNoBit(
            @ForAll("cases") AttentionCase attentionCase, @ForAll Layout layout, @ForAll boolean weights) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            AttentionOutputs one = built.outputs(arena, Layout.DENSE, DType.F32, weights);
            built.run(SERIAL, one);
            AttentionOutputs other = built.outputs(arena, layout, DType.F32, weights);
            Attention.forward(
                    SERIAL,
                    relaid(built.query(), arena, layout),
                    relaid(built.key(), arena, layout),
                    relaid(built.value(), arena, layout),
                    other,
                    built.options());
            assertSameBits(one, other);
        }
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void oneQueryAloneHasTheSameBits(@ForAll("cases") AttentionCase attentionCase, @ForAll long pick) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            AttentionOutputs all = built.outputs(arena, Layout.DENSE, DType.F32, false);
            built.run(SERIAL, all);
            long queries = built.query().dim(2);
            long keys = built.key().dim(2);
            long i = Math.floorMod(pick, queries);
            long b = Math.floorMod(pick / 7, built.query().dim(0));
            AttentionCase.MaskKind kind = attentionCase.mask();
            if (kind != AttentionCase.MaskKind.NONE && kind != AttentionCase.MaskKind.CAUSAL) {
                return; // the other masks have the sizes of the whole call
            }
            // under a causal mask, query i sees only the keys that a cache would hold at its decode step
            long visible =
                    kind == AttentionCase.MaskKind.CAUSAL ? Math.max(0, Math.min(keys, i + keys - queries + 1)) : keys;
            Tensor output = Layout.HEAP.allocate(
                    arena, DType.F32, 1, built.query().dim(1), 1, built.value().dim(3));
            Attention.forward(
                    SERIAL,
                    built.query().slice(0, b, b + 1).slice(2, i, i + 1),
                    built.key().slice(0, b, b + 1).slice(2, 0, visible),
                    built.value().slice(0, b, b + 1).slice(2, 0, visible),
                    output,
                    built.options());
            Tensor expected = all.output().slice(0, b, b + 1).slice(2, i, i + 1);
            assertArrayEquals(Numbers.of(expected), Numbers.of(output));
        }
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void groupedHeadsEqualExpandedOnes(@ForAll("cases") AttentionCase attentionCase) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            AttentionOutputs grouped = built.outputs(arena, Layout.DENSE, DType.F32, false);
            AttentionOutputs expanded = built.outputs(arena, Layout.DENSE, DType.F32, false);
            built.run(SERIAL, grouped);
            Attention.forward(
                    SERIAL,
                    built.query(),
                    expand(built.key(), attentionCase.sizes().group()),
                    expand(built.value(), attentionCase.sizes().group()),
                    expanded,
                    built.options());
            assertSameBits(grouped, expanded);
        }
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void garbageBehindTheMaskChangesNoBit(@ForAll("cases") AttentionCase attentionCase, @ForAll boolean weights) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            AttentionOutputs clean = built.outputs(arena, Layout.DENSE, DType.F32, weights);
            built.run(SERIAL, clean);
            if (spoilUnseenKeys(built)) {
                AttentionOutputs spoiled = built.outputs(arena, Layout.DENSE, DType.F32, weights);
                built.run(SERIAL, spoiled);
                assertSameBits(clean, spoiled);
            }
        }
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void orderOfKeysMattersOnlyToRounding(@ForAll("cases") AttentionCase attentionCase) {
        try (Arena arena = Arena.ofConfined()) {
            AttentionCase.Built built = attentionCase.build(arena);
            long keys = built.key().dim(2);
            List<Long> order = new java.util.ArrayList<>(
                    IntStream.range(0, (int) keys).mapToObj(j -> (long) j).toList());
            Collections.shuffle(order, new Random(attentionCase.seed()));
            Tensor output = Layout.DENSE.allocate(
                    arena,
                    DType.F32,
                    built.query().dim(0),
                    built.query().dim(1),
                    built.query().dim(2),
                    built.value().dim(3));
            Attention.forward(
                    SERIAL,
                    built.query(),
                    reordered(built.key(), arena, order),
                    reordered(built.value(), arena, order),
                    output,
                    AttentionOptions.DEFAULT);
            double scale = (float) (1 / Math.sqrt(built.query().dim(3)));
            ReferenceAttention.Result expected =
                    ReferenceAttention.forward(built.query(), built.key(), built.value(), scale, ScoreRule.NONE);
            double ratio = Tolerance.ratio(Numbers.of(output), expected.output(), expected.errorScale(), DType.F32);
            assertTrue(ratio <= Tolerance.FORWARD, "R = " + ratio);
        }
    }

    /** Writes NaN, infinity or 1e38 to each key and value that no query of its head sees. Returns false if all keys are seen. */
    static boolean spoilUnseenKeys(AttentionCase.Built built) {
        long group = built.query().dim(1) / built.key().dim(1);
        double[] garbage = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1e38};
        boolean any = false;
        for (long b = 0; b < built.key().dim(0); b++) {
            for (long h = 0; h < built.key().dim(1); h++) {
                for (long j = 0; j < built.key().dim(2); j++) {
                    if (built.key().dtype() != DType.I8 && !seen(built, b, h * group, group, j)) {
                        any = true;
                        for (long d = 0; d < built.key().dim(3); d++) {
                            built.key().set(garbage[(int) ((j + d) % 4)], b, h, j, d);
                        }
                        for (long d = 0; d < built.value().dim(3); d++) {
                            built.value().set(garbage[(int) ((j + d) % 4)], b, h, j, d);
                        }
                    }
                }
            }
        }
        return any;
    }

    private static boolean seen(AttentionCase.Built built, long b, long firstHead, long group, long j) {
        for (long h = firstHead; h < firstHead + group; h++) {
            for (long i = 0; i < built.query().dim(2); i++) {
                if (built.rule().apply(b, h, i, j, 0) != Double.NEGATIVE_INFINITY) {
                    return true;
                }
            }
        }
        return false;
    }

    private static Tensor relaid(Tensor tensor, Arena arena, Layout layout) {
        return Numbers.copy(tensor, arena, layout, tensor.dtype());
    }

    private static Tensor expand(Tensor keys, int group) {
        Tensor grouped = keys.reshape(keys.dim(0), keys.dim(1), 1, keys.dim(2), keys.dim(3))
                .broadcast(keys.dim(0), keys.dim(1), group, keys.dim(2), keys.dim(3));
        Tensor dense = grouped.copy(Arena.ofAuto(), keys.dtype());
        return dense.reshape(keys.dim(0), keys.dim(1) * group, keys.dim(2), keys.dim(3));
    }

    private static Tensor reordered(Tensor keys, Arena arena, List<Long> order) {
        Tensor result = Tensor.allocate(arena, keys.dtype(), keys.shape());
        for (int j = 0; j < order.size(); j++) {
            keys.slice(2, order.get(j), order.get(j) + 1).copyTo(result.slice(2, j, j + 1));
        }
        return result;
    }

    private static void assertSameBits(AttentionOutputs expected, AttentionOutputs actual) {
        assertArrayEquals(Numbers.of(expected.output()), Numbers.of(actual.output()), "output");
        assertArrayEquals(Numbers.of(expected.logSumExp()), Numbers.of(actual.logSumExp()), "logSumExp");
        if (expected.weights() != null) {
            assertArrayEquals(Numbers.of(expected.weights()), Numbers.of(actual.weights()), "weights");
        }
    }
}
