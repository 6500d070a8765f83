package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.call.Operation;
import io.multihead.nn.attention.MultiHeadAttention;
import io.multihead.nn.attention.MultiHeadConfig;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.MultiHeadOutputs;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.support.Layout;
import io.multihead.support.TestTensors;
import io.multihead.support.Trained;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Intermediate results are in arrays that earlier calls have used. The old contents of these arrays do not change any
 * bit.
 */
class ReusedMemoryTest {
    private final Trained.Storage storage = new Trained.Storage(Arena.ofAuto(), Layout.DENSE, DType.F32);

    @Test
    void blocksNeverSeeWhatArraysHeld() {
        List<TransformerBlock> stack = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            MultiHeadConfig attention =
                    MultiHeadConfig.of(12, 3).withKeyValueBias(true).withZeroKey(true);
            TransformerBlock.Config config = TransformerBlock.Config.of(12, 3, 20)
                    .withAttention(attention)
                    .withNormFirst(i == 1);
            stack.add(TransformerBlock.initialize(Arena.ofAuto(), config, i));
        }
        Sequence whole = Sequence.of("layers.", stack);
        SplittableRandom random = new SplittableRandom(1);
        Tensor x = storage.normal(random, 0, 1, 2, 5, 12);
        Tensor dy = storage.normal(random, 0, 1, 2, 5, 12);
        Trained expected = Trained.run(Compute.serial(), whole, x, dy, storage, 0.5);
        Compute used = poisoned();
        for (int call = 0; call < 3; call++) {
            Trained.run(used, whole, x, dy, storage, 0.5).assertSame(expected, "call " + call);
        }
        Tensor y = storage.allocate(x.shape());
        whole.forward(Compute.serial(), x, y);
        Tensor again = storage.allocate(x.shape());
        whole.forward(poisoned(), x, again);
        assertArrayEquals(y.toArray(), again.toArray());
    }

    @Test
    void averagedWeightsNeverSeeWhatArraysHeld() {
        MultiHeadConfig config = MultiHeadConfig.of(12, 3).withZeroKey(true);
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), config, 1);
        Tensor x = TestTensors.random(new Random(2), 2, 5, 12);
        assertArrayEquals(averageWeights(Compute.serial(), layer, x), averageWeights(poisoned(), layer, x));
    }

    /** The second sequence has one key less than the first sequence. The weight of this key is 0. */
    @Test
    void weightsBeyondARecordedSequenceNeverSeeWhatArraysHeld() {
        MultiHeadAttention layer = MultiHeadAttention.initialize(Arena.ofAuto(), MultiHeadConfig.of(12, 3), 1);
        MultiHeadInputs inputs = MultiHeadInputs.of(TestTensors.random(new Random(2), 5, 12))
                .withSequences(PackedSequences.ofLengths(3, 2));
        Tensor weights = TestTensors.guarded(DType.F32, false, 3, 5, 3);
        MultiHeadOutputs outputs =
                MultiHeadOutputs.of(storage.allocate(Shape.of(5, 12))).withHeadWeights(weights);
        layer.record(poisoned(), inputs, outputs, 0).close();
        for (int head = 0; head < 3; head++) {
            assertEquals(0, weights.get(head, 3, 2));
            assertEquals(0, weights.get(head, 4, 2));
            assertEquals(1, weights.get(head, 4, 0) + weights.get(head, 4, 1), 0x1p-20);
        }
    }

    private static float[] averageWeights(Compute cpu, MultiHeadAttention layer, Tensor x) {
        Tensor y = TestTensors.guarded(DType.F32, false, 2, 5, 12);
        Tensor weights = TestTensors.guarded(DType.F32, false, 2, 5, 6);
        layer.forward(cpu, MultiHeadInputs.of(x), MultiHeadOutputs.of(y).withAverageWeights(weights));
        return weights.toArray();
    }

    /** Returns a Compute in which every array of a small call contains only NaN. */
    private static Compute poisoned() {
        Compute cpu = Compute.serial();
        for (int length = 1; length < 1 << 14; length *= 2) {
            for (int i = 0; i < 20; i++) {
                float[] array = new float[length];
                Arrays.fill(array, Float.NaN);
                Operation.execution(cpu).giveBack(array);
            }
        }
        return cpu;
    }
}
