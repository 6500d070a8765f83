package io.multihead.reference;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.support.Numbers;
import io.multihead.support.Promises;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;

/** The specification of backward against central differences of the specification of forward, all in f64. */
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
            check(call, upstream, query, result.query().values());
            check(call, upstream, key, result.key().values());
            check(call, upstream, value, result.value().values());
            check(call, upstream, bias, result.score().values());
        }
    }

    /** Fourth-order differences with h = 1e-3: truncation about h^4, rounding about 2^-53 / h, both below 1e-10. */
    private static void check(
            ReferenceAttention.Call call,
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
            ReferenceAttention.Call call,
            ReferenceAttentionGradient.Upstream upstream,
            Tensor flat,
            int index,
            double by) {
        double held = flat.get(index);
        flat.set(held + by, index);
        ReferenceAttention.Result result = call.forward();
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
