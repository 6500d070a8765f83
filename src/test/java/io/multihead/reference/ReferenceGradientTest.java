package io.multihead.reference;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;

/** The specification of backward is compared with central differences of the specification of forward, all in f64. */
class ReferenceGradientTest {
    private static double worst;

    @AfterContainer
    static void record() {
        Promises.DIFFERENCES.record(worst);
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void equalsCentralDifferences(
            @ForAll @IntRange(min = 1, max = 2) int batch,
            @ForAll @IntRange(min = 1, max = 2) int group,
            @ForAll @IntRange(min = 1, max = 4) int queries,
            @ForAll @IntRange(min = 1, max = 5) int keys,
            @ForAll @IntRange(min = 0, max = 5) int kind,
            @ForAll long seed) {
        try (Arena arena = Arena.ofConfined()) {
            SplittableRandom random = new SplittableRandom(seed);
            Tensor query = random(arena, random, batch, 2L * group, queries, 3);
            Tensor key = random(arena, random, batch, 2, keys, 3);
            Tensor value = random(arena, random, batch, 2, keys, 2);
            Tensor bias = random(arena, random, batch, 2L * group, queries, keys);
            ScoreRule rule = ScoreRule.bias(bias);
            rule = kind % 3 == 1 ? rule.and(ScoreRule.causal(queries, keys)) : rule;
            rule = kind % 3 == 2 ? rule.and(ScoreRule.keyLengths(random.nextInt(keys + 1))) : rule;
            ReferenceDropout dropout = kind < 3 ? ReferenceDropout.NONE : ReferenceDropout.philox(0.4, seed);
            ReferenceAttention.Call call = new ReferenceAttention.Call(query, key, value, 0.7, rule, dropout);
            ReferenceAttentionGradient.Upstream upstream = new ReferenceAttentionGradient.Upstream(
                    random(arena, random, batch, 2L * group, queries, 2),
                    random(arena, random, batch, 2L * group, queries),
                    random(arena, random, batch, 2L * group, queries, keys));
            ReferenceAttentionGradient.Result result = ReferenceAttentionGradient.of(call, upstream);
            check(() -> call, upstream, query, result.query().values());
            check(() -> call, upstream, key, result.key().values());
            check(() -> call, upstream, value, result.value().values());
            check(() -> call, upstream, bias, result.score().values());
        }
    }

    /**
     * Options are soft-cap, linear biases, windows, blocks and sinks, in the combinations of Gemma, GPT-OSS, Mistral
     * and BLOOM, and all together.
     */
    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void equalsCentralDifferencesWithScoreOptions(
            @ForAll @IntRange(min = 1, max = 2) int batch,
            @ForAll @IntRange(min = 1, max = 2) int group,
            @ForAll @IntRange(min = 1, max = 4) int queries,
            @ForAll @IntRange(min = 1, max = 5) int keys,
            @ForAll @IntRange(min = 0, max = 5) int kind,
            @ForAll long seed) {
        try (Arena arena = Arena.ofConfined()) {
            SplittableRandom random = new SplittableRandom(seed);
            int heads = 2 * group;
            Tensor query = random(arena, random, batch, heads, queries, 3);
            Tensor key = random(arena, random, batch, 2, keys, 3);
            Tensor value = random(arena, random, batch, 2, keys, 2);
            Tensor bias = random(arena, random, batch, heads, queries, keys);
            Tensor sinks = random(arena, random, heads);
            boolean all = kind == 5;
            boolean withSinks = all || kind == 2;
            long offset = random.nextLong(-1, keys + 1);
            ScoreRule rule = all || kind <= 1 ? ScoreRule.softCap(kind == 0 ? 30 : 0.8) : ScoreRule.NONE;
            rule = all || kind == 3 ? rule.and(ScoreRule.alibiFrom(new double[] {0.5, 0.25, 2, -1}, offset)) : rule;
            rule = rule.and(ScoreRule.bias(bias));
            rule = kind == 3 ? rule : rule.and(ScoreRule.windowFrom(2, 1, offset));
            Tensor kept = Tensor.of(new boolean[] {true, false, true, true, true, false}, 2, 3);
            rule = all || kind == 4 ? rule.and(ScoreRule.blocks(kept, 2)) : rule;
            ScoreRule whole = rule;
            ReferenceDropout dropout = all ? ReferenceDropout.philox(0.4, seed) : ReferenceDropout.NONE;
            Supplier<ReferenceAttention.Call> call = () -> {
                ReferenceAttention.Call made = new ReferenceAttention.Call(query, key, value, 0.7, whole, dropout);
                return withSinks ? made.withSinks(Numbers.of(sinks)) : made;
            };
            ReferenceAttentionGradient.Upstream upstream = new ReferenceAttentionGradient.Upstream(
                    random(arena, random, batch, heads, queries, 2),
                    random(arena, random, batch, heads, queries),
                    random(arena, random, batch, heads, queries, keys + (withSinks ? 1 : 0)));
            ReferenceAttentionGradient.Result result = ReferenceAttentionGradient.of(call.get(), upstream);
            check(call, upstream, query, result.query().values());
            check(call, upstream, key, withoutSink(result.key().values(), withSinks, keys, 3));
            check(call, upstream, value, withoutSink(result.value().values(), withSinks, keys, 2));
            double[] scores = result.score().values();
            check(call, upstream, bias, withoutSink(scores, withSinks, keys, 1));
            if (withSinks) {
                double[] ofSinks = new double[heads];
                for (int row = 0; row < batch * heads * queries; row++) {
                    ofSinks[row / queries % heads] += scores[row * (keys + 1) + keys];
                }
                check(call, upstream, sinks, ofSinks);
            }
        }
    }

    /** Removes the row of the sink, the last of each matrix. */
    private static double[] withoutSink(double[] values, boolean withSinks, int keys, int dim) {
        return withSinks
                ? IntStream.range(0, values.length)
                        .filter(i -> i / dim % (keys + 1) < keys)
                        .mapToDouble(i -> values[i])
                        .toArray()
                : values;
    }

    /**
     * Compares with fourth-order differences with h = 1e-3. Truncation is about h^4 and rounding about 2^-53 / h, both
     * below 1e-10.
     */
    private static void check(
            Supplier<ReferenceAttention.Call> call,
            ReferenceAttentionGradient.Upstream upstream,
            Tensor varied,
            double... gradient) {
        double size = 1;
        for (double g : gradient) {
            size = Math.max(size, Math.abs(g));
        }
        Tensor flat = varied.reshape(-1);
        for (int i = 0; i < gradient.length; i++) {
            double h = 1e-3;
            double numeric = (8 * (moved(call, upstream, flat, i, h) - moved(call, upstream, flat, i, -h))
                            - (moved(call, upstream, flat, i, 2 * h) - moved(call, upstream, flat, i, -2 * h)))
                    / (12 * h);
            double error = Math.abs(numeric - gradient[i]) / size;
            worst = Math.max(worst, error);
            assertTrue(
                    error <= Promises.DIFFERENCES.limit(),
                    "central difference " + numeric + ", gradient " + gradient[i]);
        }
    }

    private static double moved(
            Supplier<ReferenceAttention.Call> call,
            ReferenceAttentionGradient.Upstream upstream,
            Tensor flat,
            int index,
            double by) {
        double held = flat.get(index);
        flat.set(held + by, index);
        ReferenceAttention.Result result = call.get().forward();
        flat.set(held, index);
        double loss = dot(result.output(), Numbers.of(upstream.output()));
        loss += dot(result.weights(), Numbers.of(upstream.weights()));
        double[] lse = Numbers.of(upstream.logSumExp());
        for (int row = 0; row < lse.length; row++) {
            loss += result.logSumExp()[row] == Double.NEGATIVE_INFINITY ? 0 : lse[row] * result.logSumExp()[row];
        }
        return loss;
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static Tensor random(Arena arena, SplittableRandom random, long... dims) {
        return Numbers.gaussian(Tensor.allocate(arena, DType.F64, Shape.of(dims)), random, 0, 1);
    }
}
