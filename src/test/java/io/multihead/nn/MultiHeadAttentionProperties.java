package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.nn.LayerCase.Causal;
import io.multihead.nn.LayerCase.Masks;
import io.multihead.nn.LayerCase.Padding;
import io.multihead.nn.LayerCase.Scores;
import io.multihead.nn.LayerCase.Sizes;
import io.multihead.nn.LayerCase.Switches;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Random configurations, options, shapes, layouts and element types against {@link NaiveLayer}. */
class MultiHeadAttentionProperties {
    private static final double TOLERANCE = 4e-6;

    private final Compute cpu = Compute.serial();

    @Provide
    Arbitrary<Sizes> sizes() {
        return Combinators.combine(
                        Arbitraries.integers().between(0, 3),
                        Arbitraries.integers().between(0, 9),
                        Arbitraries.integers().between(0, 9),
                        Arbitraries.integers().between(1, 3),
                        Arbitraries.integers().between(1, 3),
                        Arbitraries.integers().between(1, 9),
                        Arbitraries.integers().between(1, 9),
                        Arbitraries.integers().between(1, 20))
                .as(Sizes::new);
    }

    @Provide
    Arbitrary<Switches> switches() {
        Arbitrary<Boolean> flag = Arbitraries.of(false, true);
        return Combinators.combine(flag, flag, flag, flag, flag, flag, flag, Arbitraries.of(DType.values()))
                .as(Switches::new);
    }

    @Provide
    Arbitrary<Masks> masks() {
        return Combinators.combine(
                        Arbitraries.of(Padding.class), Arbitraries.of(Scores.class), Arbitraries.of(Causal.class))
                .as(Masks::new);
    }

    @Property(tries = 400)
    void equalsTheDefinition(
            @ForAll("sizes") Sizes sizes,
            @ForAll("switches") Switches switches,
            @ForAll("masks") Masks masks,
            @ForAll long seed) {
        LayerCase tried = new LayerCase(sizes, switches, masks, seed);
        MultiHeadOutputs outputs = tried.run(cpu);
        NaiveLayer.Result expected = tried.expected();
        DType stored = outputs.output().dtype();
        TestTensors.assertClose(expected.output(), tried.batched(outputs.output()), TOLERANCE, stored);
        Tensor weights = outputs.headWeights();
        for (int b = 0; b < sizes.batch(); b++) {
            TestTensors.assertClose(expected.weights()[b], TestTensors.cube(weights.select(0, b)), TOLERANCE, stored);
        }
        TestTensors.assertClose(
                mean(expected.weights(), sizes.queries(), tried.allKeys()),
                TestTensors.cube(outputs.averageWeights()),
                TOLERANCE,
                stored);
        if (switches.strided()) {
            TestTensors.assertGuardsIntact(outputs.output());
            TestTensors.assertGuardsIntact(outputs.averageWeights());
            TestTensors.assertGuardsIntact(weights);
        }
    }

    private static double[][][] mean(double[][][][] weights, int queries, int keys) {
        double[][][] mean = new double[weights.length][queries][keys];
        for (int b = 0; b < weights.length; b++) {
            for (double[][] head : weights[b]) {
                for (int i = 0; i < queries; i++) {
                    for (int j = 0; j < keys; j++) {
                        mean[b][i][j] += head[i][j] / weights[b].length;
                    }
                }
            }
        }
        return mean;
    }

    @Property(tries = 60)
    void batchRowAloneEqualsItselfInTheBatch(
            @ForAll("sizes") Sizes sizes, @ForAll("switches") Switches switches, @ForAll long seed) {
        LayerCase tried = new LayerCase(sizes, switches, Masks.NONE, seed);
        MultiHeadOutputs whole = tried.run(cpu);
        int axis = switches.batchFirst() ? 0 : 1;
        for (int b = 0; b < sizes.batch(); b++) {
            Tensor query = tried.inputs.query().slice(axis, b, b + 1);
            Tensor key = switches.self() ? query : tried.inputs.key().slice(axis, b, b + 1);
            Tensor value = switches.self() ? query : tried.inputs.value().slice(axis, b, b + 1);
            Tensor expected = whole.output().slice(axis, b, b + 1);
            Tensor alone = TestTensors.zeros(expected.dtype(), expected.shape().toArray());
            tried.layer().forward(cpu, MultiHeadInputs.of(query, key, value), MultiHeadOutputs.of(alone));
            TestTensors.assertSame(expected, alone);
        }
    }

    @Property(tries = 60)
    void whatElseIsAskedForChangesNothing(
            @ForAll("sizes") Sizes sizes,
            @ForAll("switches") Switches switches,
            @ForAll("masks") Masks masks,
            @ForAll long seed) {
        LayerCase tried = new LayerCase(sizes, switches, masks, seed);
        MultiHeadOutputs all = tried.run(cpu);
        DType stored = all.output().dtype();
        Tensor plain = TestTensors.zeros(stored, all.output().shape().toArray());
        tried.layer().forward(cpu, tried.inputs, MultiHeadOutputs.of(plain));
        TestTensors.assertClose(TestTensors.cube(all.output()), TestTensors.cube(plain), TOLERANCE, stored);
        Tensor weights = TestTensors.guarded(
                stored, switches.strided(), all.headWeights().shape().toArray());
        tried.layer().forward(cpu, tried.inputs, MultiHeadOutputs.of(plain).withHeadWeights(weights));
        TestTensors.assertSame(all.output(), plain);
        TestTensors.assertSame(all.headWeights(), weights);
    }

    @Property(tries = 60)
    void threadsChangeNoBit(
            @ForAll("sizes") Sizes sizes,
            @ForAll("switches") Switches switches,
            @ForAll("masks") Masks masks,
            @ForAll long seed) {
        LayerCase tried = new LayerCase(sizes, switches, masks, seed);
        MultiHeadOutputs expected = tried.run(cpu);
        try (Compute several = Compute.threads(3)) {
            MultiHeadOutputs actual = tried.run(several);
            TestTensors.assertSame(expected.output(), actual.output());
            TestTensors.assertSame(expected.headWeights(), actual.headWeights());
            TestTensors.assertSame(expected.averageWeights(), actual.averageWeights());
        }
    }
}
