package io.multihead.nn.attention;

import static io.multihead.support.TestTensors.zeros;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.nn.Gradients;
import io.multihead.nn.Layer;
import io.multihead.nn.Pass;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Packed sequences of different lengths have the same bits as each sequence alone, in the layer and in blocks. */
class PackedLayerTest {
    private static final Compute CPU = Compute.serial();
    private static final PackedSequences LENGTHS = PackedSequences.ofLengths(3, 0, 70, 1);
    private static final int FEATURES = 12;

    private final Arena arena = Arena.ofAuto();
    private final Random random = new Random(4);

    private MultiHeadAttention layer() {
        MultiHeadConfig config = MultiHeadConfig.of(FEATURES, 3)
                .withKeyValueHeads(1)
                .withKeyValueBias(true)
                .withZeroKey(true);
        return MultiHeadAttention.initialize(arena, config, 5);
    }

    private static Tensor part(Tensor tensor, PackedSequences sequences, int s) {
        return tensor.slice(-2, sequences.start(s), sequences.end(s));
    }

    @Test
    void outputAndWeightsHaveTheBitsOfEachSequence() {
        MultiHeadAttention layer = layer();
        Tensor x = TestTensors.random(random, 74, FEATURES);
        Tensor y = zeros(DType.F32, 74, FEATURES);
        Tensor weights = zeros(DType.F32, 3, 74, 72);
        TestTensors.fill(weights, () -> 7);
        MultiHeadInputs inputs = MultiHeadInputs.of(x).withSequences(LENGTHS).withMask(Mask.CAUSAL);
        layer.forward(CPU, inputs, MultiHeadOutputs.of(y).withHeadWeights(weights));
        Tensor recorded = zeros(DType.F32, 74, FEATURES);
        Tensor trained = zeros(DType.F32, 3, 74, 72);
        layer.record(CPU, inputs, MultiHeadOutputs.of(recorded).withHeadWeights(trained), 0)
                .close();
        TestTensors.assertSame(y, recorded);
        TestTensors.assertSame(weights, trained);
        for (int s = 0; s < LENGTHS.count(); s++) {
            long length = LENGTHS.length(s);
            Tensor alone = zeros(DType.F32, length, FEATURES);
            Tensor own = zeros(DType.F32, 3, length, length + 2);
            MultiHeadInputs one = MultiHeadInputs.of(part(x, LENGTHS, s)).withMask(Mask.CAUSAL);
            layer.forward(CPU, one, MultiHeadOutputs.of(alone).withHeadWeights(own));
            TestTensors.assertSame(alone, part(y, LENGTHS, s));
            Tensor found = part(weights, LENGTHS, s);
            TestTensors.assertSame(own.slice(2, 0, length), found.slice(2, 0, length));
            TestTensors.assertSame(own.slice(2, length, length + 2), found.slice(2, 70, 72));
            TestTensors.assertSame(zeros(DType.F32, 3, length, 70 - length), found.slice(2, length, 70));
        }
    }

    /** Each sequence has an offset and a key length, in inference, in recorded calls and in backward. */
    @Test
    void masksMayDifferBetweenSequences() {
        MultiHeadAttention layer = layer();
        long[] offsets = {0, 3, 5, 1};
        long[] lengths = {2, 0, 61, 1};
        Tensor x = TestTensors.random(random, 74, FEATURES);
        Tensor y = zeros(DType.F32, 74, FEATURES);
        Tensor recorded = zeros(DType.F32, 74, FEATURES);
        Tensor dx = zeros(DType.F32, 74, FEATURES);
        Mask mask = Mask.CAUSAL.and(Mask.queryOffset(offsets)).and(Mask.keyLengths(lengths));
        MultiHeadInputs inputs = MultiHeadInputs.of(x).withSequences(LENGTHS).withMask(mask);
        layer.forward(CPU, inputs, MultiHeadOutputs.of(y));
        try (MultiHeadPass pass = layer.record(CPU, inputs, MultiHeadOutputs.of(recorded), 0)) {
            pass.backward(x, dx, Map.of());
        }
        TestTensors.assertSame(y, recorded);
        for (int s = 0; s < LENGTHS.count(); s++) {
            Tensor alone = zeros(DType.F32, LENGTHS.length(s), FEATURES);
            Tensor gradient = zeros(DType.F32, LENGTHS.length(s), FEATURES);
            Mask own = Mask.CAUSAL.and(Mask.queryOffset(offsets[s])).and(Mask.keyLengths(lengths[s]));
            MultiHeadInputs one = MultiHeadInputs.of(part(x, LENGTHS, s)).withMask(own);
            try (MultiHeadPass pass = layer.record(CPU, one, MultiHeadOutputs.of(alone), 0)) {
                pass.backward(part(x, LENGTHS, s), gradient, Map.of());
            }
            TestTensors.assertSame(alone, part(y, LENGTHS, s));
            TestTensors.assertSame(gradient, part(dx, LENGTHS, s));
        }
    }

    @Test
    void aModifierSeesWhichSequenceItIs() {
        ScoreOptions scores = ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> score * (batch + 1));
        MultiHeadAttention layer = MultiHeadAttention.initialize(
                arena, MultiHeadConfig.of(FEATURES, 3).withOptions(AttentionOptions.DEFAULT.withScores(scores)), 5);
        MultiHeadInputs inputs =
                MultiHeadInputs.of(TestTensors.random(random, 74, FEATURES)).withSequences(LENGTHS);
        Tensor y = zeros(DType.F32, 74, FEATURES);
        Tensor recorded = zeros(DType.F32, 74, FEATURES);
        layer.forward(CPU, inputs, MultiHeadOutputs.of(y));
        layer.record(CPU, inputs, MultiHeadOutputs.of(recorded), 0).close();
        TestTensors.assertSame(y, recorded);
    }

    @Test
    void aMaskForAnotherNumberOfSequencesIsNamed() {
        MultiHeadInputs inputs = MultiHeadInputs.of(TestTensors.random(random, 74, FEATURES))
                .withSequences(LENGTHS)
                .withMask(Mask.queryOffset(1, 2));
        Tensor y = zeros(DType.F32, 74, FEATURES);
        Named.message("mask: for 2 sequences; expected 1 or one per batch of 4", () -> layer().record(
                        CPU, inputs, MultiHeadOutputs.of(y), 0));
        TestTensors.assertSame(zeros(DType.F32, 74, FEATURES), y);
    }

    @Test
    void queriesAndKeysMayDifferInLength() {
        MultiHeadAttention layer = layer();
        PackedSequences keys = PackedSequences.ofLengths(4, 2, 1, 9);
        Tensor query = TestTensors.random(random, 74, FEATURES);
        Tensor memory = TestTensors.random(random, 16, FEATURES);
        Tensor y = zeros(DType.F32, 74, FEATURES);
        MultiHeadInputs inputs = MultiHeadInputs.of(query, memory);
        layer.forward(CPU, inputs.withSequences(LENGTHS, keys), MultiHeadOutputs.of(y));
        for (int s = 0; s < keys.count(); s++) {
            Tensor alone = zeros(DType.F32, LENGTHS.length(s), FEATURES);
            MultiHeadInputs one = MultiHeadInputs.of(part(query, LENGTHS, s), part(memory, keys, s));
            layer.forward(CPU, one, MultiHeadOutputs.of(alone));
            TestTensors.assertSame(alone, part(y, LENGTHS, s));
        }
    }

    /** Input gradients have the same bits. Gradients of parameters are sums over all tokens in another order. */
    @Test
    void gradientsAreThoseOfEachSequence() {
        MultiHeadAttention layer = layer();
        Tensor x = TestTensors.random(random, 74, FEATURES);
        Tensor dy = TestTensors.random(random, 74, FEATURES);
        Tensor dx = zeros(DType.F32, 74, FEATURES);
        Map<String, Tensor> gradients = Gradients.zeros(arena, layer);
        Map<String, Tensor> sums = Gradients.zeros(arena, layer);
        MultiHeadInputs inputs = MultiHeadInputs.of(x).withSequences(LENGTHS);
        try (MultiHeadPass pass = layer.record(CPU, inputs, MultiHeadOutputs.of(zeros(DType.F32, 74, FEATURES)), 0)) {
            pass.backward(dy, dx, gradients);
        }
        for (int s = 0; s < LENGTHS.count(); s++) {
            Tensor alone = zeros(DType.F32, LENGTHS.length(s), FEATURES);
            Tensor y = zeros(DType.F32, LENGTHS.length(s), FEATURES);
            try (Pass pass = layer.record(CPU, part(x, LENGTHS, s), y)) {
                pass.backward(part(dy, LENGTHS, s), alone, sums);
            }
            TestTensors.assertSame(alone, part(dx, LENGTHS, s));
        }
        // Two orders of a sum of 74 addends: each rounds 73 times, by at most u of the sum of absolute addends. Addends
        // are products of standard normal numbers, or of sums of these with weights that keep their variance, so that
        // the absolute ones are below 2 on average.
        sums.forEach((name, sum) ->
                assertArrayEquals(sum.toArray(), gradients.get(name).toArray(), 2 * 73 * 74 * 2 * 0x1p-24f, name));
    }

    @Test
    void dropoutOfEachSequenceIsItsOwn() {
        MultiHeadConfig config = MultiHeadConfig.of(FEATURES, 3).withDropout(0.5);
        MultiHeadAttention layer = MultiHeadAttention.initialize(arena, config, 5);
        Tensor one = TestTensors.random(random, 1, 20, FEATURES);
        Tensor twice = zeros(DType.F32, 40, FEATURES);
        one.select(0, 0).copyTo(twice.slice(0, 0, 20));
        one.select(0, 0).copyTo(twice.slice(0, 20, 40));
        MultiHeadInputs inputs = MultiHeadInputs.of(twice).withSequences(PackedSequences.ofLengths(20, 20));
        Tensor y = zeros(DType.F32, 40, FEATURES);
        Tensor again = zeros(DType.F32, 40, FEATURES);
        layer.record(CPU, inputs, MultiHeadOutputs.of(y), 3).close();
        layer.record(CPU, inputs, MultiHeadOutputs.of(again), 3).close();
        TestTensors.assertSame(y, again);
        int equal = 0;
        for (int i = 0; i < 20; i++) {
            equal += y.get(i, 0) == y.get(i + 20, 0) ? 1 : 0;
        }
        assertEquals(0, equal);
    }

    @Test
    void blocksTakePackedSequences() {
        for (boolean normFirst : new boolean[] {false, true}) {
            TransformerBlock block = TransformerBlock.initialize(
                            arena, TransformerBlock.Config.of(FEATURES, 3, 20).withNormFirst(normFirst), 1)
                    .withMask(Mask.CAUSAL);
            Layer packed = block.withSequences(LENGTHS);
            Tensor x = TestTensors.random(random, 74, FEATURES);
            Tensor dy = TestTensors.random(random, 74, FEATURES);
            Tensor y = zeros(DType.F32, 74, FEATURES);
            Tensor recorded = zeros(DType.F32, 74, FEATURES);
            Tensor dx = zeros(DType.F32, 74, FEATURES);
            packed.forward(CPU, x, y);
            try (Pass pass = packed.record(CPU, x, recorded)) {
                pass.backward(dy, dx);
            }
            TestTensors.assertSame(y, recorded);
            for (int s = 0; s < LENGTHS.count(); s++) {
                Tensor alone = zeros(DType.F32, LENGTHS.length(s), FEATURES);
                Tensor dAlone = zeros(DType.F32, LENGTHS.length(s), FEATURES);
                try (Pass pass = block.record(CPU, part(x, LENGTHS, s), alone)) {
                    pass.backward(part(dy, LENGTHS, s), dAlone);
                }
                TestTensors.assertSame(alone, part(y, LENGTHS, s));
                TestTensors.assertSame(dAlone, part(dx, LENGTHS, s));
            }
        }
    }

    @Test
    void sequencesThatDoNotFitAreNamed() {
        MultiHeadAttention layer = layer();
        MultiHeadInputs inputs = MultiHeadInputs.of(zeros(DType.F32, 74, FEATURES));
        MultiHeadOutputs outputs = MultiHeadOutputs.of(zeros(DType.F32, 74, FEATURES));
        Named.message(
                "query: 74 tokens in shape [74, 12]; expected the 4 of sequences at [0, 1, 4]",
                () -> layer.forward(CPU, inputs.withSequences(PackedSequences.of(0, 1, 4)), outputs));
        Named.message(
                "keys: 1 sequences; expected 2, as queries has",
                () -> inputs.withSequences(PackedSequences.of(0, 1, 4), PackedSequences.of(0, 74)));
        Named.message(
                "query: shape [2, 37, 12]; expected one batch of packed sequences",
                () -> layer.forward(
                        CPU,
                        MultiHeadInputs.of(zeros(DType.F32, 2, 37, FEATURES)).withSequences(LENGTHS),
                        MultiHeadOutputs.of(zeros(DType.F32, 2, 37, FEATURES))));
        Mask drop = Mask.drop(zeros(DType.I8, 1, 70));
        layer.forward(CPU, inputs.withSequences(LENGTHS).withMask(drop), outputs);
        Named.message(
                "mask: with tensors; expected none, as packed sequences are recorded one by one",
                () -> layer.record(CPU, inputs.withSequences(LENGTHS).withMask(drop), outputs, 0));
    }
}
