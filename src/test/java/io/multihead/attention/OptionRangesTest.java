package io.multihead.attention;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.internal.attention.mask.MaskPart;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The smallest and largest number that each option accepts, and the refused numbers next to them. */
class OptionRangesTest {
    @Test
    void blockSizesArePowersOfTwoFrom32To256() {
        Tensor kept = Tensor.of(new boolean[] {true}, 1, 1);
        for (int size = -1; size <= 513; size++) {
            int blockSize = size;
            if (size == 32 || size == 64 || size == 128 || size == 256) {
                assertDoesNotThrow(() -> Mask.blocks(kept, blockSize));
            } else {
                fails("blockSize: " + size + "; expected 32, 64, 128 or 256", () -> Mask.blocks(kept, blockSize));
            }
        }
        fails("mask: F32 [1]; expected I8, not zero for true", () -> Mask.blocks(Tensor.of(new float[1]), 64));
    }

    @Test
    void sidesOfAWindowBeginAtZero() {
        assertDoesNotThrow(() -> Mask.window(0, 0));
        assertDoesNotThrow(() -> Mask.window(Long.MAX_VALUE, Long.MAX_VALUE));
        assertDoesNotThrow(() -> Mask.keyLengths(0));
    }

    @Test
    void offsetsOfQueriesAreFarFromOverflow() {
        long most = MaskPart.MAX_OFFSET;
        assertDoesNotThrow(() -> Mask.queryOffset(most, -most));
        for (long beyond : new long[] {most + 1, -most - 1}) {
            fails("queryOffset: " + beyond + "; expected " + -most + " to " + most, () -> Mask.queryOffset(0, beyond));
        }
    }

    @Test
    void masksHaveUpToFourAxes() {
        Tensor flags = Tensor.of(new boolean[1], 1, 1, 1, 1);
        assertEquals(1, Mask.keep(flags).tensors().size());
        assertEquals(1, Mask.bias(Tensor.of(new float[1], 1, 1, 1, 1)).tensors().size());
        Tensor five = Tensor.of(new boolean[1], 1, 1, 1, 1, 1);
        fails("mask: I8 [1, 1, 1, 1, 1]; expected at most (batch, heads, queries, keys)", () -> Mask.drop(five));
        for (Tensor padding : new Tensor[] {
            Tensor.of(new boolean[1], 1, 1, 1), Tensor.of(new boolean[1]).select(0, 0)
        }) {
            fails(
                    "keyPadding: " + padding + "; expected I8 of [batch, keys] or [keys]",
                    () -> Mask.keyPadding(padding));
        }
    }

    /** A mask given twice is applied once, but a bias given twice is added twice. */
    @Test
    void partsOfAMaskAreAppliedOnceAndBiasesEachTime() {
        Mask bias = Mask.bias(Tensor.of(new float[1]));
        Mask keep = Mask.keep(Tensor.of(new boolean[1]));
        assertEquals(1, Mask.CAUSAL.and(Mask.CAUSAL).parts().size());
        assertEquals(1, keep.and(keep).parts().size());
        assertEquals(1, Mask.window(2, 0).and(Mask.window(2, 0)).parts().size());
        Tensor kept = Tensor.of(new boolean[1]);
        assertEquals(1, Mask.blocks(kept, 64).and(Mask.blocks(kept, 64)).parts().size());
        assertEquals(2, Mask.blocks(kept, 64).and(Mask.blocks(kept, 32)).parts().size());
        assertEquals(2, bias.and(bias).parts().size());
        assertEquals(3, bias.and(keep).and(Mask.CAUSAL).and(keep).parts().size());
        assertEquals(2, Mask.CAUSAL.and(Mask.CAUSAL_TOP_LEFT).parts().size());
        assertEquals(0, Mask.NONE.and(Mask.NONE).parts().size());
    }

    @Test
    void softCapsAndScalesAreNumbersOfF32() {
        assertEquals(
                Float.MAX_VALUE, ScoreOptions.NONE.withSoftCap(Float.MAX_VALUE).softCap());
        assertTrue(ScoreOptions.NONE.withSoftCap(0).isNone());
        assertEquals(
                Float.MIN_NORMAL,
                ScoreOptions.NONE.withSoftCap(Float.MIN_NORMAL).softCap());
        double small = Math.nextDown((double) Float.MIN_NORMAL);
        double large = Math.nextUp((double) Float.MAX_VALUE);
        for (double bad : new double[] {-Double.MIN_VALUE, Double.MIN_VALUE, small, large, Double.NaN}) {
            fails(
                    "softCap: " + bad + "; expected a normal f32 above 0, or 0 for none",
                    () -> ScoreOptions.NONE.withSoftCap(bad));
        }
        assertEquals(0.25, AttentionOptions.DEFAULT.scaleFor(16));
        assertEquals(1, AttentionOptions.DEFAULT.scaleFor(0));
        assertEquals(3, AttentionOptions.DEFAULT.withScale(3).scaleFor(16));
        fails("scale: 1.0E39; expected a number that f32 can hold", () -> AttentionOptions.DEFAULT.withScale(1e39));
        fails(
                "scale: Infinity; expected a finite number",
                () -> AttentionOptions.DEFAULT.withScale(Double.POSITIVE_INFINITY));
    }

    @Test
    void slopesAreFiniteAndSinksMayBeMinusInfinity() {
        assertEquals(1, ScoreOptions.NONE.withSinks(Float.NEGATIVE_INFINITY).sinks().length);
        for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY}) {
            fails("sinks: [1.0, " + bad + "]; expected finite numbers", () -> ScoreOptions.NONE.withSinks(1, bad));
        }
        for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
            fails("slopes: [1.0, " + bad + "]; expected finite numbers", () -> ScoreOptions.NONE.withSlopes(1, bad));
        }
    }

    @Test
    void optionsKeepWhatIsNotChanged() {
        ScoreModifier modifier = (batch, head, query, key, score) -> score;
        ScoreOptions all = ScoreOptions.NONE
                .withSoftCap(2)
                .withSlopes(3, 4)
                .withSinks(5, 6)
                .withModifier(modifier);
        for (ScoreOptions copy : new ScoreOptions[] {
            all,
            all.withSoftCap(1).withSoftCap(2),
            all.withSlopes(1).withSlopes(3, 4),
            all.withSinks(1).withSinks(5, 6),
            all.withModifier(null).withModifier(modifier)
        }) {
            assertEquals(2, copy.softCap());
            assertTrue(Arrays.equals(new float[] {3, 4}, copy.slopes()));
            assertTrue(Arrays.equals(new float[] {5, 6}, copy.sinks()));
            assertEquals(modifier, copy.modifier());
        }
        assertFalse(ScoreOptions.NONE.withSinks(1).changesScores());
        for (ScoreOptions changing : new ScoreOptions[] {
            ScoreOptions.NONE.withSoftCap(1), ScoreOptions.NONE.withSlopes(1), ScoreOptions.NONE.withModifier(modifier)
        }) {
            assertTrue(changing.changesScores() && !changing.isNone());
        }
    }

    private static void fails(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
