package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.support.LayerCase;
import io.multihead.support.LayerCase.Causal;
import io.multihead.support.LayerCase.Masks;
import io.multihead.support.LayerCase.Padding;
import io.multihead.support.LayerCase.Scores;
import io.multihead.support.LayerCase.Sizes;
import io.multihead.support.LayerCase.Switches;
import io.multihead.support.NaiveLayer;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/**
 * Layers with random configurations, options, shapes, layouts and element types are compared with {@link NaiveLayer}.
 */
class MultiHeadAttentionProperties {
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
        assertCorrect(tried, outputs);
        if (switches.strided()) {
            TestTensors.assertGuardsIntact(outputs.output());
            TestTensors.assertGuardsIntact(outputs.averageWeights());
            TestTensors.assertGuardsIntact(outputs.headWeights());
        }
    }

    private static void assertCorrect(LayerCase tried, MultiHeadOutputs outputs) {
        NaiveLayer.Result expected = tried.expected();
        Tensor output = tried.batchFirst(outputs.output());
        for (int b = 0; b < tried.sizes.batch(); b++) {
            TestTensors.assertClose(expected.output().get(b), output.select(0, b));
            if (outputs.averageWeights() != null) {
                TestTensors.assertClose(
                        expected.averageWeights(b), outputs.averageWeights().select(0, b));
            }
            for (int h = 0; outputs.headWeights() != null && h < tried.config.queryHeads(); h++) {
                Tensor weights = outputs.headWeights().select(0, b).select(0, h);
                TestTensors.assertClose(expected.weights().get(b).get(h), weights);
            }
        }
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
        assertCorrect(tried, MultiHeadOutputs.of(plain));
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
