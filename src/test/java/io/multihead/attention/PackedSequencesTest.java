package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Boundaries of packed sequences, and attention over them. */
class PackedSequencesTest {
    @Test
    void lengthsAndOffsetsSayTheSame() {
        PackedSequences sequences = PackedSequences.of(0, 3, 3, 7);
        assertEquals(3, sequences.count());
        assertEquals(7, sequences.tokens());
        assertEquals(4, sequences.maxLength());
        assertEquals(List.of(3L, 3L, 0L), List.of(sequences.start(1), sequences.end(1), sequences.length(1)));
        assertEquals(sequences, PackedSequences.ofLengths(3, 0, 4));
        assertEquals(sequences.hashCode(), PackedSequences.ofLengths(3, 0, 4).hashCode());
        assertNotEquals(sequences, PackedSequences.ofLengths(3, 4));
        assertNotEquals(sequences.hashCode(), PackedSequences.ofLengths(3, 4).hashCode());
        assertEquals("sequences at [0, 3, 3, 7]", sequences.toString());
        assertEquals(0, PackedSequences.ofLengths().tokens());
    }

    @Test
    void sequencesDoNotChange() {
        long[] offsets = {0, 2};
        PackedSequences sequences = PackedSequences.of(offsets);
        offsets[1] = 9;
        sequences.offsets()[1] = 9;
        assertArrayEquals(new long[] {0, 2}, sequences.offsets());
    }

    @Test
    void badBoundariesAreIllegalArguments() {
        Named.message("offsets: []; expected 0 and numbers that rise from there", () -> PackedSequences.of());
        Named.message("offsets: [1, 2]; expected 0 and numbers that rise from there", () -> PackedSequences.of(1, 2));
        Named.message(
                "offsets: [0, 2, 1]; expected 0 and numbers that rise from there", () -> PackedSequences.of(0, 2, 1));
        Named.message("lengths: -1; expected at least 0", () -> PackedSequences.ofLengths(2, -1));
        Named.message(
                "sequence: 1; expected 0 to 0", () -> PackedSequences.of(0, 2).start(1));
        Tensor tokens = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, 1, 5, 2);
        Named.message(
                "key: 5 tokens in shape [1, 1, 5, 2]; expected the 4 of sequences at [0, 4]",
                () -> KeyValueView.packed(tokens, tokens, PackedSequences.of(0, 4)));
    }

    @Test
    void attentionOverPackedSequencesEqualsAttentionOverEach() {
        Tensor tokens = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, 2, 7, 3);
        for (int i = 0; i < 42; i++) {
            Positions.set(tokens, Math.sin(i), i);
        }
        PackedSequences sequences = PackedSequences.ofLengths(3, 4);
        Tensor output = Tensor.zeros(Arena.ofAuto(), DType.F32, 1, 2, 7, 3);
        Compute cpu = Compute.serial();
        Attention.forward(
                cpu,
                tokens,
                sequences,
                KeyValueView.packed(tokens, tokens, sequences),
                AttentionOutputs.of(output),
                AttentionOptions.CAUSAL);
        for (int s = 0; s < 2; s++) {
            Tensor one = tokens.slice(2, sequences.start(s), sequences.end(s));
            Tensor alone = Tensor.zeros(Arena.ofAuto(), DType.F32, one.shape().toArray());
            Attention.forward(cpu, one, one, one, alone, AttentionOptions.CAUSAL);
            assertArrayEquals(
                    alone.toArray(),
                    output.slice(2, sequences.start(s), sequences.end(s)).toArray());
        }
    }

    @Test
    void keyPaddingHidesKeysOfItsBatch() {
        Tensor padding = Tensor.of(new boolean[] {false, true, false, false}, 2, 2);
        Mask mask = Mask.keyPadding(padding);
        assertEquals("[2, 1, 1, 2]", mask.tensors().get(0).shape().toString());
        Tensor value = Tensor.of(new float[] {1, 2, 3, 5}, 2, 1, 2, 1);
        Tensor zeros = Tensor.of(new float[4], 2, 1, 2, 1);
        Tensor output = Tensor.of(new float[4], 2, 1, 2, 1);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(mask);
        Attention.forward(Compute.serial(), zeros, zeros, value, output, options);
        assertArrayEquals(new float[] {1, 1, 4, 4}, output.toArray());
        Mask all = Mask.keyPadding(padding.select(0, 0));
        Attention.forward(
                Compute.serial(), zeros, zeros, value, output, AttentionOptions.DEFAULT.withMask(all.and(Mask.CAUSAL)));
        assertArrayEquals(new float[] {1, 1, 3, 3}, output.toArray());
        Named.message(
                "keyPadding: F32 [2]; expected I8 of [batch, keys] or [keys]",
                () -> Mask.keyPadding(Tensor.of(new float[2])));
        assertEquals(List.of(), Mask.CAUSAL.tensors());
    }
}
