package io.multihead.nn.attention;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.nn.Gelu;
import io.multihead.nn.Layer;
import io.multihead.nn.Linear;
import io.multihead.nn.Sequence;
import io.multihead.support.TestTensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A sequence of layers computes large inputs slice by slice, with the same bits as for the whole input. */
class SlicedSequenceTest {
    private static final int BATCH = 37;
    private static final int TOKENS = 130;
    private static final int DIM = 256;
    private static final Compute CPU = Compute.threads(2);

    /** The input. Between all layers, it has more elements than a slice, which has 2^20. */
    private final Tensor x = TestTensors.random(new Random(1), BATCH, TOKENS, DIM);

    private final TransformerBlock block = TransformerBlock.initialize(
            Arena.ofAuto(), TransformerBlock.Config.of(DIM, 4, 320).withActivation(Activation.GELU), 2);

    @Test
    void blocksHaveTheBitsOfEachSequenceAlone() {
        Sequence stack = Sequence.of("layers.", List.of(block.withMask(Mask.CAUSAL), block));
        assertEquals(1, stack.independentAxes(x.shape()));
        requireEachAlone(stack);
    }

    @Test
    void blocksWithStridedInputsAndOutputsHaveTheSameBits() {
        Tensor expected = forward(block, x);
        Tensor tokensFirst = TestTensors.zeros(DType.F32, TOKENS, BATCH, DIM).permute(1, 0, 2);
        x.copyTo(tokensFirst);
        Tensor y = TestTensors.zeros(DType.F32, TOKENS, BATCH, DIM).permute(1, 0, 2);
        block.forward(CPU, tokensFirst, y);
        assertArrayEquals(expected.toArray(), y.toArray());
    }

    @Test
    void tokensOfOneLongSequenceAreSliced() {
        Sequence layers = Sequence.of("", List.of(Linear.initialize(Arena.ofAuto(), DIM, 300, 3), Gelu.erf()));
        Tensor one = x.reshape(1, BATCH * TOKENS, DIM);
        assertEquals(2, layers.independentAxes(one.shape()));
        Tensor wide = TestTensors.zeros(DType.F32, 1, BATCH * TOKENS, 300);
        Tensor y = TestTensors.zeros(DType.F32, 1, BATCH * TOKENS, 300);
        ((Layer) layers).forward(CPU, one, y);
        Linear.initialize(Arena.ofAuto(), DIM, 300, 3).forward(CPU, one, wide);
        Tensor expected = TestTensors.zeros(DType.F32, 1, BATCH * TOKENS, 300);
        Gelu.erf().forward(CPU, wide, expected);
        assertArrayEquals(expected.toArray(), y.toArray());
    }

    /** The leading axes of the input can be merged into one axis. The leading axes of the output cannot. */
    @Test
    void outputsWithGapsBetweenSequencesHaveTheSameBits() {
        Sequence layers = Sequence.of("", List.of(Linear.initialize(Arena.ofAuto(), DIM, 300, 3), Gelu.erf()));
        Tensor expected = TestTensors.zeros(DType.F32, BATCH, TOKENS, 300);
        layers.forward(CPU, x, expected);
        Tensor y = TestTensors.zeros(DType.F32, BATCH, TOKENS + 1, 300).slice(1, 0, TOKENS);
        layers.forward(CPU, x, y);
        assertArrayEquals(expected.toArray(), y.toArray());
    }

    /** Each sequence of the batch has a separate mask, so the batch is computed as a whole. */
    @Test
    void masksOfEachSequenceStayWithIt() {
        long[] lengths = new Random(4).longs(BATCH, 1, TOKENS + 1).toArray();
        TransformerBlock masked = block.withMask(Mask.keyLengths(lengths));
        assertEquals(0, masked.independentAxes(x.shape()));
        Tensor y = forward(masked, x);
        for (int i = 0; i < BATCH; i += 9) {
            Tensor alone = forward(block.withMask(Mask.keyLengths(lengths[i])), x.slice(0, i, i + 1));
            assertArrayEquals(alone.toArray(), y.slice(0, i, i + 1).toArray(), "sequence " + i);
        }
    }

    @Test
    void headMasksOfEachSequenceStayWithIt() {
        Tensor factors = TestTensors.random(new Random(5), BATCH, 4);
        TransformerBlock masked = block.withHeadMask(factors);
        assertEquals(0, masked.independentAxes(x.shape()));
        Tensor y = forward(masked, x);
        Tensor alone = forward(block.withHeadMask(factors.slice(0, 20, 21)), x.slice(0, 20, 21));
        assertArrayEquals(alone.toArray(), y.slice(0, 20, 21).toArray());
        assertEquals(1, block.withHeadMask(factors.select(0, 0)).independentAxes(x.shape()));
    }

    @Test
    void whatNeedsTheWholeBatchSaysSo() {
        MultiHeadConfig config = MultiHeadConfig.of(DIM, 4);
        Shape shape = x.shape();
        assertEquals(1, layer(config).independentAxes(shape));
        assertEquals(0, layer(config).independentAxes(Shape.of(TOKENS, DIM)));
        assertEquals(0, layer(config.withBatchFirst(false)).independentAxes(shape));
        ScoreOptions modified = ScoreOptions.NONE.withModifier((batch, head, query, key, score) -> score + batch);
        assertEquals(
                0,
                layer(config.withOptions(AttentionOptions.DEFAULT.withScores(modified)))
                        .independentAxes(shape));
        assertEquals(0, layer(withMask(config, Mask.queryOffset(1, 2))).independentAxes(shape));
        assertEquals(1, layer(withMask(config, Mask.queryOffset(1))).independentAxes(shape));
        Tensor bias = TestTensors.zeros(DType.F32, BATCH, 1, TOKENS, TOKENS);
        assertEquals(0, layer(withMask(config, Mask.bias(bias))).independentAxes(shape));
        assertEquals(1, layer(withMask(config, Mask.bias(bias.select(0, 0)))).independentAxes(shape));
    }

    private static MultiHeadAttention layer(MultiHeadConfig config) {
        return MultiHeadAttention.initialize(Arena.ofAuto(), config, 6);
    }

    private static MultiHeadConfig withMask(MultiHeadConfig config, Mask mask) {
        return config.withOptions(AttentionOptions.DEFAULT.withMask(mask));
    }

    private void requireEachAlone(Layer layer) {
        Tensor y = forward(layer, x);
        for (int i = 0; i < BATCH; i++) {
            Tensor alone = forward(layer, x.slice(0, i, i + 1));
            assertArrayEquals(alone.toArray(), y.slice(0, i, i + 1).toArray(), "sequence " + i);
        }
    }

    private static Tensor forward(Layer layer, Tensor x) {
        Tensor y = TestTensors.zeros(DType.F32, x.shape().toArray());
        layer.forward(CPU, x, y);
        return y;
    }
}
