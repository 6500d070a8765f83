package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.reference.ReferenceOptimizer;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

/**
 * Optimizers are compared with loops in double, with a running error bound. Other tests check saved and restored
 * states, and refusals.
 */
class OptimizerProperties {
    /** The unit roundoff of f32, plus one percent for products of errors. */
    private static final double U = 1.01 * 0x1p-24;

    private static final Compute SERIAL = Compute.serial();

    /**
     * The errors of one element. Each operation of the formula in the Javadoc adds a rounding to the errors of its
     * operands.
     */
    private static final class Bound {
        private double m;
        private double v;
        private double p;

        /**
         * Updates the errors for a step. {@code now} has the values in double after the step, and {@code before} is the
         * parameter before it.
         */
        void step(double[] now, double g, double before, long t, double rate, AdamW.Options o) {
            double firstBefore = o.beta1() == 0 ? 0 : (now[0] - (1 - o.beta1()) * g) / o.beta1();
            double secondBefore = (now[1] - (1 - o.beta2()) * g * g) / o.beta2();
            // the factor, the product and the sum are rounded once each
            m = o.beta1() * (m + 2 * U * Math.abs(firstBefore))
                    + 2 * U * (1 - o.beta1()) * Math.abs(g)
                    + U * (Math.abs(now[0]) + m);
            v = o.beta2() * (v + 2 * U * secondBefore) + 3 * U * (1 - o.beta2()) * g * g + U * (now[1] + v);
            double factor = rate / (1 - Math.pow(o.beta1(), t));
            double root = 1 / Math.sqrt(1 - Math.pow(o.beta2(), t));
            double sqrt = Math.sqrt(now[1]);
            double bottom = sqrt * root + o.epsilon();
            double top = factor * Math.abs(now[0]);
            double topError = factor * m + 2 * U * (top + factor * m);
            // |sqrt(a) - sqrt(b)| <= |a - b| / sqrt(b)
            double sqrtError = v / sqrt;
            double bottomError = root * (sqrtError + 3 * U * (sqrt + sqrtError)) + 2 * U * bottom;
            double quotient = top / bottom;
            double error = (topError + quotient * bottomError) / (bottom - bottomError);
            p = Math.abs(1 - rate * o.decay()) * (p + 2 * U * Math.abs(before)) + error + U * (quotient + error);
            p += U * (Math.abs(now[2]) + p);
        }
    }

    @Property(tries = 60)
    void adamWStaysWithinItsRoundingErrorsForAThousandSteps(
            @ForAll long seed,
            @ForAll @DoubleRange(min = 0.01, max = 10) double percent,
            @ForAll @DoubleRange(min = 0, max = 0.2) double decay,
            @ForAll @IntRange(min = 1, max = 3) int rows,
            @ForAll @IntRange(min = 1, max = 40) int columns) {
        double rate = percent / 100;
        SplittableRandom random = new SplittableRandom(seed);
        int count = rows * columns;
        double[] p = random.doubles(count, 0.5, 2).map(x -> (float) x).toArray();
        Tensor parameter = tensor(p, rows, columns);
        AdamW.Options options = AdamW.Options.DEFAULT.withDecay(decay, name -> true);
        AdamW optimizer = AdamW.of(Map.of("w", parameter), options);
        double[] m = new double[count];
        double[] v = new double[count];
        Bound[] bounds = new Bound[count];
        java.util.Arrays.setAll(bounds, i -> new Bound());
        for (long step = 1; step <= 1000; step++) {
            double[] g = random.doubles(count, 0.1, 1).map(x -> (float) x).toArray();
            double[] before = p.clone();
            optimizer.step(SERIAL, Map.of("w", tensor(g, rows, columns)), rate);
            ReferenceOptimizer.adamW(
                    p,
                    g,
                    new double[][] {m, v},
                    step,
                    rate,
                    options.beta1(),
                    options.beta2(),
                    options.epsilon(),
                    options.decay());
            for (int i = 0; i < count; i++) {
                bounds[i].step(new double[] {m[i], v[i], p[i]}, g[i], before[i], step, rate, options);
            }
        }
        float[] found = parameter.toArray();
        for (int i = 0; i < count; i++) {
            assertEquals(p[i], found[i], bounds[i].p, "element " + i);
        }
    }

    /**
     * Without the decay, without the correction of the bias, or with a wrong moment, the result is outside the bound.
     */
    @Test
    void theBoundSeesWrongTerms() {
        double[] p = {1.5};
        double[] m = {0};
        double[] v = {0};
        Bound bound = new Bound();
        double[][] wrong = {{1.5}, {1.5}, {1.5}};
        double[][] wrongM = new double[3][1];
        double[][] wrongV = new double[3][1];
        AdamW.Options o = AdamW.Options.DEFAULT;
        for (long step = 1; step <= 1000; step++) {
            double[] g = {0.1 + 0.9 * (step * 37 % 100) / 100};
            double before = p[0];
            ReferenceOptimizer.adamW(p, g, new double[][] {m, v}, step, 1e-3, 0.9, 0.999, 1e-8, 0.01);
            ReferenceOptimizer.adamW(
                    wrong[0], g, new double[][] {wrongM[0], wrongV[0]}, step, 1e-3, 0.9, 0.999, 1e-8, 0);
            ReferenceOptimizer.adamW(
                    wrong[1], g, new double[][] {wrongM[1], wrongV[1]}, step + 20, 1e-3, 0.9, 0.999, 1e-8, 0.01);
            ReferenceOptimizer.adamW(
                    wrong[2], g, new double[][] {wrongM[2], wrongV[2]}, step, 1e-3, 0.9, 0.99, 1e-8, 0.01);
            bound.step(new double[] {m[0], v[0], p[0]}, g[0], before, step, 1e-3, o);
        }
        for (double[] other : wrong) {
            assertTrue(Math.abs(other[0] - p[0]) > bound.p, other[0] - p[0] + " within " + bound.p);
        }
    }

    @Property(tries = 100)
    void sgdStaysWithinItsRoundingErrors(@ForAll long seed, @ForAll @DoubleRange(min = 0, max = 0.95) double momentum) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] p = random.doubles(7, 0.5, 2).map(x -> (float) x).toArray();
        Tensor parameter = tensor(p, 7);
        Sgd optimizer = Sgd.of(Map.of("w", parameter), momentum);
        double[] velocity = new double[7];
        double[] velocityError = new double[7];
        double[] error = new double[7];
        for (int step = 0; step < 300; step++) {
            double[] g = random.doubles(7, 0.1, 1).map(x -> (float) x).toArray();
            optimizer.step(SERIAL, Map.of("w", tensor(g, 7)), 0.01);
            double[] before = velocity.clone();
            ReferenceOptimizer.sgd(p, g, velocity, 0.01, momentum);
            for (int i = 0; i < 7; i++) {
                velocityError[i] = momentum * (velocityError[i] + 2 * U * (before[i] + velocityError[i]));
                velocityError[i] += U * (velocity[i] + velocityError[i]);
                error[i] += 0.01 * (velocityError[i] + 2 * U * (velocity[i] + velocityError[i]));
                error[i] += U * (Math.abs(p[i]) + error[i]);
            }
        }
        for (int i = 0; i < 7; i++) {
            assertEquals(p[i], parameter.toArray()[i], error[i]);
        }
    }

    @Test
    void bitsDoNotDependOnThreadsStridesOrRestoring() {
        try (Arena arena = Arena.ofShared();
                Compute threads = Compute.threads(3)) {
            float[] values = numbers(1, 300 * 70);
            Tensor dense = Tensor.of(values.clone(), 300, 70);
            Tensor strided =
                    Tensor.allocate(arena, DType.F32, Shape.of(70, 300)).permute(1, 0);
            Tensor.of(values, 300, 70).copyTo(strided);
            AdamW one = AdamW.of(Map.of("w", dense), AdamW.Options.DEFAULT);
            Optimizer other = AdamW.of(Map.of("w", strided), AdamW.Options.DEFAULT);
            for (int step = 0; step < 6; step++) {
                Tensor g = Tensor.of(numbers(2 + step, 300 * 70), 300, 70);
                one.step(SERIAL, Map.of("w", g), 0.01);
                other.step(threads, Map.of("w", g), 0.01);
                Optimizer next = AdamW.of(Map.of("w", strided), AdamW.Options.DEFAULT);
                next.restore(other.state());
                other = next;
            }
            assertArrayEquals(dense.toArray(), strided.toArray());
        }
    }

    /** Bias correction uses the number of steps of each parameter, like PyTorch's. */
    @Test
    void aParameterThatWasFrozenBeginsWithItsFirstStep() {
        Tensor early = Tensor.of(new float[] {1}, 1);
        Tensor late = Tensor.of(new float[] {1}, 1);
        Map<String, Tensor> both = new LinkedHashMap<>();
        both.put("early", early);
        both.put("late", late);
        AdamW optimizer = AdamW.of(both, AdamW.Options.DEFAULT);
        Tensor g = Tensor.of(new float[] {0.5f}, 1);
        optimizer.step(SERIAL, Map.of("early", g), 0.1);
        float first = early.toArray()[0];
        optimizer.step(SERIAL, Map.of("early", g), 0.1);
        assertEquals(1f, late.toArray()[0]);
        optimizer.step(SERIAL, Map.of("late", g), 0.1);
        assertEquals(first, late.toArray()[0]);
    }

    @Test
    void whatDoesNotDecayMovesByItsGradientAlone() {
        Tensor bias = Tensor.of(new float[] {5}, 1);
        AdamW.of(Map.of("bias", bias), AdamW.Options.DEFAULT.withDecay(0.5, name -> !name.equals("bias")))
                .step(SERIAL, Map.of("bias", Tensor.of(new float[] {0}, 1)), 0.1);
        assertEquals(5, bias.get(0));
    }

    @Test
    void narrowParametersAreRoundedOnce() {
        try (Arena arena = Arena.ofShared()) {
            Tensor narrow = Tensor.allocate(arena, DType.BF16, Shape.of(3));
            Tensor.of(new float[] {1, 2, 3}, 3).copyTo(narrow);
            Sgd.of(Map.of("w", narrow), 0).step(SERIAL, Map.of("w", Tensor.of(new float[] {1, 1, 1}, 3)), 0.3);
            Tensor expected =
                    Tensor.of(new float[] {1 - 0.3f, 2 - 0.3f, 3 - 0.3f}, 3).copy(arena, DType.BF16);
            assertArrayEquals(expected.toArray(), narrow.toArray());
        }
    }

    @Test
    void wrongCallsNameTheArgumentAndChangeNothing() {
        Map<String, Tensor> parameters = new LinkedHashMap<>();
        parameters.put("a", Tensor.of(new float[] {1, 2}, 2));
        parameters.put("b", Tensor.of(new float[] {3}, 1));
        AdamW optimizer = AdamW.of(parameters, AdamW.Options.DEFAULT);
        Tensor two = Tensor.of(new float[] {1, 1}, 2);
        Map<String, Tensor> strange = new HashMap<>(Map.of("a", two, "c", two));
        refuses("gradients: c; expected only names of parameters", () -> optimizer.step(SERIAL, strange, 0.1));
        refuses("b: shape [2]; expected [1]", () -> optimizer.step(SERIAL, Map.of("a", two, "b", two), 0.1));
        refuses("rate: NaN", () -> optimizer.step(SERIAL, Map.of("a", two), Double.NaN));
        refuses("rate: -1.0", () -> optimizer.step(SERIAL, Map.of("a", two), -1));
        refuses("a", () -> optimizer.step(SERIAL, Map.of("a", parameters.get("a")), 0.1));
        Map<String, Tensor> state = new HashMap<>(optimizer.state());
        state.put("first.a", Tensor.of(new float[] {9}, 1));
        refuses("first.a: shape [1]; expected [2]", () -> optimizer.restore(state));
        state.remove("first.a");
        refuses("state: names", () -> optimizer.restore(state));
        assertArrayEquals(new float[] {1, 2}, parameters.get("a").toArray());
        optimizer.state().values().forEach(tensor -> {
            for (float value : tensor.toArray()) {
                assertEquals(0f, value);
            }
        });
        refuses("beta1: 1.0; expected 0 to below 1", () -> AdamW.Options.DEFAULT.withBetas(1, 0.9));
        refuses("momentum: 1.0; expected 0 to below 1", () -> Sgd.of(parameters, 1));
        Tensor ids = Tensor.of(new boolean[] {true}, 1);
        refuses("ids", () -> Sgd.of(Map.of("ids", ids), 0));
    }

    @Test
    void schedulesRiseAndFall() {
        Schedule cosine = Schedule.cosine(1, 0.1, 10, 110);
        assertEquals(0.1, cosine.rate(0), 1e-12);
        assertEquals(1, cosine.rate(9), 1e-12);
        assertEquals(1, cosine.rate(10), 1e-12);
        assertEquals(0.55, cosine.rate(60), 1e-12);
        assertEquals(0.1, cosine.rate(110), 1e-12);
        assertEquals(0.1, cosine.rate(1000), 1e-12);
        Schedule linear = Schedule.linear(2, 0, 100);
        assertEquals(
                List.of(2.0, 1.0, 0.0, 0.0),
                List.of(linear.rate(0), linear.rate(50), linear.rate(100), linear.rate(101)));
        assertEquals(0.5, Schedule.constant(0.5).rate(7));
        refuses("all: 3", () -> Schedule.linear(1, 4, 3));
        refuses("peak", () -> Schedule.linear(Double.NaN, 0, 3));
        refuses("least: 1.5; expected 0 to 1", () -> Schedule.cosine(1, 1.5, 0, 3));
    }

    private static void refuses(String beginning, org.junit.jupiter.api.function.Executable call) {
        IllegalArgumentException thrown = assertThrows(IllegalArgumentException.class, call);
        assertTrue(thrown.getMessage().startsWith(beginning), thrown.getMessage());
    }

    private static Tensor tensor(double[] values, long... dims) {
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) values[i];
        }
        return Tensor.of(floats, dims);
    }

    private static float[] numbers(long seed, int count) {
        float[] numbers = new float[count];
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < count; i++) {
            numbers[i] = (float) random.nextDouble(0.1, 1);
        }
        return numbers;
    }
}
