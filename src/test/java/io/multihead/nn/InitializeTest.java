package io.multihead.nn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.faults.Named;
import io.multihead.gemm.Activation;
import io.multihead.nn.attention.GatedCrossAttention;
import io.multihead.nn.attention.MultiHeadInputs;
import io.multihead.nn.attention.TransformerBlock;
import io.multihead.support.SmallArena;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** New parameters have PyTorch's distributions, and the same numbers for the same seed. */
class InitializeTest {
    private final Arena arena = Arena.ofAuto();

    @Test
    void linearLayersAreUniformWithinTheirBound() {
        Map<String, Tensor> drawn = Linear.initialize(arena, 100, 400, 1).parameters();
        assertEquals(Shape.of(400, 100), drawn.get("weight").shape());
        assertUniform(drawn.get("weight"), 0.1);
        assertUniform(drawn.get("bias"), 0.1);
        Map<String, Tensor> without =
                Linear.initialize(arena, 100, 400, false, 1).parameters();
        assertNull(without.get("bias"));
        assertArrayEquals(drawn.get("weight").toArray(), without.get("weight").toArray());
        Map<String, Tensor> other = Linear.initialize(arena, 100, 400, 2).parameters();
        assertFalse(Arrays.equals(drawn.get("bias").toArray(), other.get("bias").toArray()));
    }

    @Test
    void feedForwardNetworksAreLinearLayers() {
        Map<String, Tensor> drawn =
                FeedForward.initialize(arena, 64, 256, Activation.GELU, 0.1, 3).parameters();
        assertUniform(drawn.get("linear1.weight"), 1 / 8.0);
        assertUniform(drawn.get("linear1.bias"), 1 / 8.0);
        assertUniform(drawn.get("linear2.weight"), 1 / 16.0);
        assertUniform(drawn.get("linear2.bias"), 1 / 16.0);
    }

    /** The arena has no memory, so refused calls must not have requested any. */
    @Test
    void checksComeBeforeMemory() {
        Arena none = new SmallArena(arena, 0, 0);
        Activation gelu = Activation.GELU;
        Named.message("dropout: NaN; expected 0 to 1", () -> FeedForward.initialize(none, 4, 8, gelu, Double.NaN, 1));
        Named.named("activation", () -> FeedForward.initialize(none, 4, 8, null, 0, 1));
        String epsilon = "epsilon: NaN; expected a finite number of at least 0";
        Named.message(epsilon, () -> LayerNorm.initialize(none, Shape.of(4), Double.NaN));
        Named.message(epsilon, () -> RmsNorm.initialize(none, Shape.of(4), Double.NaN));
        String empty = "normalized: []; expected one axis or more, and elements";
        Named.message(empty, () -> LayerNorm.initialize(none, Shape.of(), 0));
        Named.message(empty, () -> RmsNorm.initialize(none, Shape.of(), 0));
        Named.message("dim: 2147483648; expected 0 to 2147483575", () -> Embedding.initialize(none, 1, 1L << 31, 1));
        Named.message("inputs: 0; expected at least 1", () -> Linear.initialize(none, 0, 1, 1));
    }

    @Test
    void aRateThatIsNoProbabilityIsNamed() {
        for (double dropout : new double[] {-0.1, 1.5, Double.NaN}) {
            Named.message(
                    "dropout: " + dropout + "; expected 0 to 1",
                    () -> FeedForward.initialize(arena, 4, 8, Activation.GELU, dropout, 3));
        }
    }

    @Test
    void normalizationsBeginAsSuch() {
        Map<String, Tensor> layer =
                LayerNorm.initialize(arena, Shape.of(2, 3), 1e-5).parameters();
        assertArrayEquals(new float[] {1, 1, 1, 1, 1, 1}, layer.get("weight").toArray());
        assertArrayEquals(new float[6], layer.get("bias").toArray());
        assertArrayEquals(
                new float[] {1, 1},
                RmsNorm.initialize(arena, Shape.of(2), 1e-6)
                        .parameters()
                        .get("weight")
                        .toArray());
    }

    /** The mean of n normal numbers is within 5 / sqrt(n), their variance within 5 sqrt(2 / n) of 1, except once in a million. */
    @Test
    void embeddingsAreNormal() {
        float[] table = Embedding.initialize(arena, 100, 100, 7)
                .parameters()
                .get("weight")
                .toArray();
        double sum = 0;
        double squares = 0;
        for (float element : table) {
            sum += element;
            squares += (double) element * element;
        }
        assertEquals(0, sum / table.length, 5 / Math.sqrt(table.length));
        assertEquals(1, squares / table.length, 5 * Math.sqrt(2.0 / table.length));
    }

    @Test
    void gatedCrossAttentionBeginsAsTheIdentity() {
        GatedCrossAttention.Config config = GatedCrossAttention.Config.of(12, 10, 3, 20);
        GatedCrossAttention block = GatedCrossAttention.initialize(arena, config, 1);
        Tensor x = TestTensors.random(new Random(1), 2, 5, 12);
        Tensor media = TestTensors.random(new Random(2), 2, 7, 10);
        Tensor y = Tensor.zeros(arena, DType.F32, 2, 5, 12);
        block.forward(Compute.serial(), MultiHeadInputs.of(x, media), y);
        assertArrayEquals(x.toArray(), y.toArray());
        assertUniform(block.parameters().get("ff.linear1.weight"), 1 / Math.sqrt(12));
    }

    @Test
    void theNormsOfABlockHaveItsEpsilon() {
        TransformerBlock.Config config = TransformerBlock.Config.of(4, 2, 6);
        assertEquals(1e-12, config.withEpsilon(1e-12).epsilon());
        Tensor x = Tensor.zeros(arena, DType.F32, 1, 2, 4);
        x.fill(0.5);
        x.set(0.50001, 0, 0, 0);
        Tensor small = Tensor.zeros(arena, DType.F32, 1, 2, 4);
        Tensor large = Tensor.zeros(arena, DType.F32, 1, 2, 4);
        TransformerBlock.initialize(arena, config.withEpsilon(1e-12), 1).forward(Compute.serial(), x, small);
        TransformerBlock.initialize(arena, config.withEpsilon(1), 1).forward(Compute.serial(), x, large);
        assertTrue(norm(small) > 1.2 * norm(large), norm(small) + " for " + norm(large));
    }

    private static double norm(Tensor tensor) {
        double sum = 0;
        for (float element : tensor.toArray()) {
            sum += (double) element * element;
        }
        return Math.sqrt(sum);
    }

    /**
     * Requires that all numbers are within the bound, and some are in the last tenth at each end. The probability that
     * none of n numbers is in such a tenth is 0.95^n.
     */
    private static void assertUniform(Tensor tensor, double bound) {
        double least = 0;
        double most = 0;
        for (float element : tensor.toArray()) {
            least = Math.min(least, element);
            most = Math.max(most, element);
        }
        float limit = (float) bound;
        assertTrue(-limit <= least && least < -0.9 * limit, least + " for " + limit);
        assertTrue(0.9 * limit < most && most <= limit, most + " for " + limit);
    }
}
