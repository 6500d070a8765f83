package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.attention.AttentionOptions;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.gemm.WeightFormat;
import io.multihead.position.Rope;
import io.multihead.support.Numbers;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A selection of heads of packed weights has the same bits as packed weights of these heads only. */
class PackedHeadsTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int DIM = 256;
    private static final int HEAD_DIM = 16;
    private static final int[] KEPT = {3, 2, 1, 0};

    private final Arena arena = Arena.ofAuto();
    private final SplittableRandom random = new SplittableRandom(1);
    private final ModelCase c =
            new ModelCase(new ModelCase.Shape(DIM, 4, 2, HEAD_DIM, 64, 1), ModelCase.Options.llama(HEAD_DIM), 2);
    private final int[] ids = c.ids(5);

    /** Matrices {@code [inputs, outputs]}, and the bias of the queries. */
    private record Weights(Tensor query, Tensor bias, Tensor key, Tensor value, Tensor output) {
        /** Returns the parameters of some query heads and of the key/value heads that they share. */
        Weights of(int[] heads, int[] shared, int valueDim) {
            int[] queries = elements(heads, HEAD_DIM);
            return new Weights(
                    Numbers.select(query, 1, queries),
                    Numbers.select(bias, 0, queries),
                    Numbers.select(key, 1, elements(shared, HEAD_DIM)),
                    Numbers.select(value, 1, elements(shared, valueDim)),
                    Numbers.select(output, 0, elements(heads, valueDim)));
        }

        LinearGroup projections(WeightFormat format, boolean isOneProduct) {
            if (!isOneProduct) {
                return LinearGroup.of(
                        PackedLinear.of(pack(query, format), bias),
                        PackedLinear.of(pack(key, format)),
                        PackedLinear.of(pack(value, format)));
            }
            int[] outputs = {(int) query.dim(1), (int) key.dim(1), (int) value.dim(1)};
            int width = Arrays.stream(outputs).sum();
            Tensor all = Tensor.of(new float[DIM * width], DIM, width);
            Tensor.concat(1, all, query, key, value);
            Tensor biases = Tensor.of(Arrays.copyOf(bias.toArray(), width));
            return LinearGroup.concatenated(PackedLinear.of(pack(all, format), biases), outputs);
        }

        SelfAttention attention(LinearGroup projections, PackedLinear packedOutput) {
            return SelfAttention.of(
                    (int) query.dim(1) / HEAD_DIM,
                    (int) key.dim(1) / HEAD_DIM,
                    projections,
                    packedOutput,
                    AttentionOptions.CAUSAL);
        }

        SelfAttention attention(WeightFormat format, boolean isOneProduct) {
            return attention(projections(format, isOneProduct), PackedLinear.of(pack(output, format)));
        }
    }

    private static PackedWeights pack(Tensor matrix, WeightFormat format) {
        return PackedWeights.ofInputRows(Arena.ofAuto(), matrix, format);
    }

    private static int[] elements(int[] heads, int dim) {
        return Arrays.stream(heads)
                .flatMap(head -> IntStream.range(head * dim, (head + 1) * dim))
                .toArray();
    }

    private Weights weights(int heads, int keyValueHeads, int valueDim) {
        return new Weights(
                matrix(DIM, heads * HEAD_DIM),
                matrix(heads * HEAD_DIM),
                matrix(DIM, keyValueHeads * HEAD_DIM),
                matrix(DIM, keyValueHeads * valueDim),
                matrix(heads * valueDim, DIM));
    }

    private Tensor matrix(long... dims) {
        Tensor matrix = Tensor.of(new float[(int) Shape.of(dims).elements()], dims);
        return Numbers.gaussian(matrix, random, 0.05, 0.1);
    }

    private float[] states(SelfAttention attention) {
        Block block = c.model.blocks().get(0).withAttention(attention);
        Transformer model = c.model.withBlocks(List.of(block));
        Buffers buffers = model.buffers(ids.length);
        TokenBatch batch = TokenBatch.of(ids.length);
        batch.begin();
        Arrays.stream(ids).forEach(batch::add);
        model.forward(SERIAL, batch, buffers);
        return buffers.states().toArray();
    }

    @Test
    void keptHeadsAreThoseOfTheirWeights() {
        for (WeightFormat format : WeightFormat.values()) {
            int valueDim = format.blockInputs() == 1 ? 10 : format.blockInputs();
            Weights all = weights(4, 2, valueDim);
            for (boolean isOneProduct : new boolean[] {false, true}) {
                SelfAttention whole = all.attention(format, isOneProduct);
                requireKept(all.of(new int[] {3, 2}, new int[] {1}, valueDim), format, whole, 3, 2);
                requireKept(all.of(new int[] {2, 0}, new int[] {1, 0}, valueDim), format, whole, 2, 0);
            }
        }
    }

    private void requireKept(Weights expected, WeightFormat format, SelfAttention whole, int... heads) {
        SelfAttention kept = whole.keepHeads(arena, heads);
        boolean isOneProduct = whole.projections().layers().size() == 1;
        assertEquals(format, kept.output().weights().format());
        assertEquals(
                whole.projections().layers().size(), kept.projections().layers().size());
        float[] states = states(kept);
        assertArrayEquals(states(expected.attention(format, isOneProduct)), states, format + " " + isOneProduct);
        assertFalse(Arrays.equals(states(whole), states), format.name());
    }

    /** The values are the projected keys before the norm and the rotation of keys. */
    @Test
    void keysThatAreValuesAreProjectedOnce() {
        Weights all = weights(4, 2, HEAD_DIM);
        PackedLinear query = PackedLinear.of(pack(all.query, WeightFormat.Q8_0), all.bias);
        PackedLinear key = PackedLinear.of(pack(all.key, WeightFormat.Q8_0));
        PackedLinear output = PackedLinear.of(pack(all.output, WeightFormat.F32));
        Norm norm = Norm.rms(matrix(HEAD_DIM), 1e-6);
        Rope rope = Rope.of(Rope.Config.of(HEAD_DIM));
        Tensor joined = Tensor.of(new float[DIM * 6 * HEAD_DIM], DIM, 6 * HEAD_DIM);
        Tensor.concat(1, joined, all.query, all.key);
        Tensor biases = Tensor.of(Arrays.copyOf(all.bias.toArray(), 6 * HEAD_DIM));
        PackedLinear queryAndKey = PackedLinear.of(pack(joined, WeightFormat.Q8_0), biases);
        for (UnaryOperator<SelfAttention> change : List.<UnaryOperator<SelfAttention>>of(
                same -> same, of -> of.withRope(rope).withHeadNorms(norm, norm).withValueNorm(norm))) {
            SelfAttention twice = change.apply(all.attention(LinearGroup.of(query, key, key), output));
            SelfAttention once = change.apply(all.attention(LinearGroup.of(query, key), output));
            SelfAttention asOne = change.apply(
                    all.attention(LinearGroup.concatenated(queryAndKey, query.outputs(), key.outputs()), output));
            assertEquals(HEAD_DIM, once.valueDim());
            assertArrayEquals(states(twice), states(once));
            assertArrayEquals(states(twice), states(asOne));
            float[] kept = states(twice.keepHeads(arena, 3, 2));
            assertArrayEquals(kept, states(once.keepHeads(arena, 3, 2)));
            assertArrayEquals(kept, states(asOne.keepHeads(arena, 3, 2)));
        }
    }

    /**
     * Four heads of 64 elements share a block of 256. A selection must keep such heads together, or widen the
     * projection.
     */
    @Test
    void headsThatAreNoWholeBlocksNeedAWideOutput() {
        int valueDim = 64;
        Weights all = weights(8, 8, valueDim);
        SelfAttention whole = all.attention(WeightFormat.Q4_K, false);
        String reason =
                "; expected heads of 64 elements that together fill whole blocks of 256 in their order, as the output projection has in "
                        + "Q4_K, or a part that withF32Output returned";
        assertRefused("heads: [5]" + reason, () -> whole.keepHeads(arena, 5));
        assertRefused("heads: [3, 2, 1, 0]" + reason, () -> whole.keepHeads(arena, KEPT));
        int[] last = {4, 5, 6, 7};
        float[] expected = states(all.of(last, last, valueDim).attention(WeightFormat.Q4_K, false));
        assertArrayEquals(expected, states(whole.keepHeads(arena, last)));

        Weights some = all.of(KEPT, KEPT, valueDim);
        BlockTensor blocks = BlockTensor.quantize(arena, all.output.transpose(0, 1), BlockType.Q4_K);
        Tensor output = Tensor.allocate(arena, DType.F32, Shape.of(DIM, 8 * valueDim));
        blocks.dequantize(output);
        Tensor rows = Numbers.select(output.transpose(0, 1), 0, elements(KEPT, valueDim));
        SelfAttention wide = some.attention(
                some.projections(WeightFormat.Q4_K, false), PackedLinear.of(pack(rows, WeightFormat.F32)));
        assertArrayEquals(states(wide), states(whole.withF32Output(arena).keepHeads(arena, KEPT)));
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
