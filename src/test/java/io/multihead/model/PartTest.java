package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionOptions;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.SequenceCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Parts that are called alone, and a user's parts in blocks with parts of the library. */
class PartTest {
    private static final Compute SERIAL = Compute.serial();
    private static final int DIM = 20;
    private static final int TOKENS = 5;

    private final SplittableRandom random = new SplittableRandom(3);
    private final Tensor x = gaussian(TOKENS, DIM);
    private final Norm norm = Norm.layer(gaussian(DIM), gaussian(DIM), 1e-5);
    private final FeedForward network =
            FeedForward.gated(Activation.SILU, LinearGroup.of(linear(DIM, 24), linear(DIM, 24)), linear(24, DIM));
    private final SelfAttention attention = SelfAttention.of(
            4,
            2,
            LinearGroup.of(linear(DIM, 32), linear(DIM, 16), linear(DIM, 16)),
            linear(32, DIM),
            AttentionOptions.CAUSAL);

    /** Computes {@code factor x}, and stands for any product, norm or softmax. */
    private record Scaled(int dim, float factor) implements Part {
        @Override
        public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
            float[] values = x.toArray();
            float[] before = y.toArray();
            for (int i = 0; i < values.length; i++) {
                values[i] = adds ? factor * values[i] + before[i] : factor * values[i];
            }
            Tensor.of(values, x.dim(0), dim).copyTo(y);
        }
    }

    /** A part made of two others; the second reads the output of the first. */
    private record Chained(Part first, Part second) implements Part {
        @Override
        public int dim() {
            return first.dim();
        }

        @Override
        public int scratch() {
            return Math.max(first.scratch(), second.scratch());
        }

        @Override
        public List<StateSizes> states() {
            return first.states();
        }

        @Override
        public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
            Tensor between = Tensor.of(new float[(int) x.dim(0) * dim()], x.dim(0), dim());
            first.compute(cpu, x, between, false, buffers);
            second.compute(cpu, between, y, adds, buffers);
        }
    }

    @Test
    void rowsOfAPartAloneAreThoseInABlock() {
        float[] inBlock = states(Block.of(Sublayer.preNorm(norm, network)), x);
        Tensor normalized = Tensor.of(new float[TOKENS * DIM], TOKENS, DIM);
        norm.forward(SERIAL, x, normalized);
        float[] result = forward(network, normalized);
        float[] expected = x.toArray();
        for (int i = 0; i < expected.length; i++) {
            expected[i] += result[i];
        }
        assertArrayEquals(expected, inBlock);
    }

    @Test
    void attentionAloneContinuesACache() {
        Tensor whole = zeros();
        attention.forward(SERIAL, batch(TokenBatch.of(TOKENS), TOKENS), x, whole, attention.buffers(TOKENS));
        KeyValueCache cache = KeyValueCache.contiguous(LayerCaches.config(attention.states()), 1, TOKENS);
        TokenBatch batch = TokenBatch.of(cache, TOKENS);
        Buffers buffers = attention.buffers(3);
        Tensor parts = zeros();
        int done = 0;
        for (int count : new int[] {3, 1, 1}) {
            batch.clear();
            batch.begin(0);
            for (int i = 0; i < count; i++) {
                batch.add(0);
            }
            attention.forward(
                    SERIAL, batch, x.slice(0, done, done + count), parts.slice(0, done, done + count), buffers);
            done += count;
        }
        assertArrayEquals(whole.toArray(), parts.toArray());
    }

    @Test
    void normsAndGroupsHaveTheBitsOfRows() {
        Tensor columns = Tensor.allocate(Arena.ofAuto(), DType.F64, Shape.of(DIM, TOKENS));
        x.copyTo(columns.permute(1, 0));
        Tensor strided = columns.permute(1, 0);
        Tensor one = zeros();
        Tensor other = zeros();
        norm.forward(SERIAL, x, one);
        norm.forward(SERIAL, strided, other);
        assertArrayEquals(one.toArray(), other.toArray());
        LinearGroup group = attention.projections();
        Tensor all = Tensor.of(new float[TOKENS * 64], TOKENS, 64);
        group.forward(SERIAL, x, all);
        Tensor key = Tensor.of(new float[TOKENS * 16], TOKENS, 16);
        group.layers().get(1).forward(SERIAL, x, key);
        Tensor copy = Tensor.of(new float[TOKENS * 16], TOKENS, 16);
        all.slice(1, 32, 48).copyTo(copy);
        assertArrayEquals(key.toArray(), copy.toArray());
    }

    /**
     * A user's part next to attention, and a part around attention, have the same bits as the same arithmetic in the
     * library's parts.
     */
    @Test
    void aUsersPartStandsBesideOurs() {
        Block ours = Block.preNorm(norm, attention, norm, network);
        Block same = Block.of(
                Sublayer.preNorm(norm, new Chained(attention, new Scaled(DIM, 1))),
                Sublayer.preNorm(norm, new Chained(network, new Scaled(DIM, 1))));
        assertArrayEquals(states(ours, x), states(same, x));
        Block third = Block.of(
                Sublayer.preNorm(norm, attention),
                Sublayer.preNorm(norm, network),
                new Sublayer(new Scaled(DIM, 3), null, null, null));
        float[] expected = states(ours, x);
        for (int i = 0; i < expected.length; i++) {
            expected[i] = 3 * expected[i] + expected[i];
        }
        assertArrayEquals(expected, states(third, x));
        Transformer model = Transformer.of(EmbeddingTables.of(gaussian(7, DIM)), List.of(third, same, ours));
        assertEquals(3, model.cacheConfig().layers());
        assertArrayEquals(whole(model), byTokens(model));
    }

    /** Checks the convolution of docs/parts.md. */
    @Test
    void theConvolutionOfThePageIsCausalAndOfEachSequenceAlone() {
        float[][] taps = {
            gaussian(DIM).toArray(), gaussian(DIM).toArray(), gaussian(DIM).toArray()
        };
        OwnConvolution part = new OwnConvolution(taps);
        TokenBatch two = TokenBatch.of(TOKENS);
        two.begin();
        two.add(0);
        batch(two, TOKENS - 1);
        Tensor y = zeros();
        part.forward(SERIAL, two, x, y, part.buffers(TOKENS));
        float[] from = x.toArray();
        for (int token = 0; token < TOKENS; token++) {
            for (int i = 0; i < DIM; i++) {
                float expected = 0;
                for (int back = 0; back < taps.length && token - back >= (token == 0 ? 0 : 1); back++) {
                    expected += taps[back][i] * from[(token - back) * DIM + i];
                }
                assertEquals(expected, y.toArray()[token * DIM + i]);
            }
        }
        Block block = Block.of(Sublayer.preNorm(norm, part), Sublayer.preNorm(norm, attention));
        Transformer model = Transformer.of(EmbeddingTables.of(gaussian(7, DIM)), List.of(block));
        assertFails(
                "blocks: recurrent states; expected only keys and values, or a call of cache()",
                () -> model.cacheConfig());
        SequenceCache cache = model.cache(Arena.ofAuto(), CacheFormat.F32, TOKENS);
        assertEquals(taps.length - 1L, cache.bytesPerSequence() / Float.BYTES / DIM);
        assertArrayEquals(whole(model), byTokens(model, cache));
    }

    @Test
    void theExpertsOfThePageAreThoseOfTheirMatrices() {
        Map<String, Tensor> weights = new HashMap<>();
        weights.put("model.layers.1.mlp.gate.weight", gaussian(3, DIM));
        for (int i = 0; i < 3; i++) {
            String expert = "model.layers.1.mlp.experts." + i + ".";
            weights.put(expert + "gate_proj.weight", gaussian(24, DIM));
            weights.put(expert + "up_proj.weight", gaussian(24, DIM));
            weights.put(expert + "down_proj.weight", gaussian(DIM, 24));
        }
        Experts all = Mixture.experts(weights::get, 1, 3, 3);
        float[] logits = new float[TOKENS * 3];
        all.router().logits().forward(SERIAL, x, Tensor.of(logits, TOKENS, 3));
        double[] expected = new double[TOKENS * DIM];
        for (int expert = 0; expert < 3; expert++) {
            float[] rows = forward(all.experts().get(expert), x);
            for (int i = 0; i < expected.length; i++) {
                double sum = 0;
                for (int other = 0; other < 3; other++) {
                    sum += Math.exp(logits[i / DIM * 3 + other] - logits[i / DIM * 3 + expert]);
                }
                expected[i] += rows[i] / sum;
            }
        }
        float[] actual = forward(all, x);
        for (int i = 0; i < expected.length; i++) {
            // three products and three sums, each rounded once
            assertEquals(expected[i], actual[i], 9 * 0x1p-24 * 30, "element " + i);
        }
    }

    @Test
    void aPartThatSaysWrongThingsIsNamed() {
        Part silent = new Part() {
            @Override
            public int dim() {
                return DIM;
            }

            @Override
            public int scratch() {
                return attention.scratch();
            }

            @Override
            public void compute(Compute cpu, Tensor rows, Tensor y, boolean adds, Buffers buffers) {
                attention.compute(cpu, rows, y, adds, buffers);
            }
        };
        Block block = Block.of(Sublayer.preNorm(norm, silent));
        assertFails("part: 1 states of sequences used; expected 0, as states() says", () -> states(block, x));
        assertFails("block: no SelfAttention among its parts; expected one", block::attention);
        assertFails("block: no FeedForward among its parts; expected one", block::feedForward);
        Tensor y = zeros();
        assertFails(
                "batch: none; expected a call with one",
                () -> attention.forward(SERIAL, x, y, attention.buffers(TOKENS)));
        assertFails(
                "buffers: in no call; expected a running call",
                () -> network.compute(SERIAL, x, y, false, network.buffers(TOKENS)));
        assertRefused("sublayers: none; expected at least one", Block::of);
        assertRefused(
                "part 1: states of 8; expected 20, as in the first",
                () -> Block.of(Sublayer.preNorm(norm, network), new Sublayer(new Scaled(8, 1), null, null, null)));
        assertRefused("x: shape [5, 20]; expected [4, 20]", () -> {
            TokenBatch batch = batch(TokenBatch.of(TOKENS), 4);
            attention.forward(SERIAL, batch, x, y, attention.buffers(TOKENS));
        });
        assertRefused(
                "buffers: 1 tokens of 20 and 64 floats; expected room for 5 tokens of 20 and 64",
                () -> network.forward(SERIAL, x, y, network.buffers(1)));
        Tensor overlapping = x;
        assertRefused(
                "y: " + x + " overlaps x; expected separate memory",
                () -> network.forward(SERIAL, x, overlapping, network.buffers(TOKENS)));
    }

    @Test
    void warmCallsOfAPartAloneAllocateNothing() {
        Buffers buffers = network.buffers(TOKENS);
        Tensor y = zeros();
        TokenBatch batch = batch(TokenBatch.of(TOKENS), TOKENS);
        Buffers ofAttention = attention.buffers(TOKENS);
        assertEquals(0, WarmCalls.allocatedBytes(() -> {
            network.forward(SERIAL, x, y, buffers);
            attention.forward(SERIAL, batch, x, y, ofAttention);
            norm.forward(SERIAL, x, y);
        }));
    }

    private static void assertFails(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalStateException.class, call::run).getMessage());
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }

    private static float[] forward(Part part, Tensor rows) {
        Tensor y = zeros();
        part.forward(SERIAL, rows, y, part.buffers(TOKENS));
        return y.toArray();
    }

    private static Tensor zeros() {
        return Tensor.of(new float[TOKENS * DIM], TOKENS, DIM);
    }

    private static float[] states(Block block, Tensor given) {
        Transformer model = Transformer.of(EmbeddingTables.of(Tensor.of(new float[DIM], 1, DIM)), List.of(block));
        Buffers buffers = model.buffers(TOKENS);
        model.forwardFrom(SERIAL, batch(TokenBatch.of(TOKENS), TOKENS), given, buffers);
        return buffers.states().toArray();
    }

    private static float[] whole(Transformer model) {
        Buffers buffers = model.buffers(TOKENS);
        model.forward(SERIAL, batch(TokenBatch.of(TOKENS), TOKENS), buffers);
        return buffers.states().toArray();
    }

    private static float[] byTokens(Transformer model) {
        return byTokens(model, KeyValueCache.contiguous(model.cacheConfig(), 1, TOKENS));
    }

    private static float[] byTokens(Transformer model, SequenceCache cache) {
        int sequence = cache instanceof KeyValueCache ? 0 : cache.open();
        TokenBatch batch = TokenBatch.of(cache, 1);
        Buffers buffers = model.buffers(1);
        float[] all = new float[TOKENS * DIM];
        for (int token = 0; token < TOKENS; token++) {
            batch.clear();
            batch.begin(sequence);
            batch.add(token);
            model.forward(SERIAL, batch, buffers);
            assertEquals(token, batch.position(0));
            System.arraycopy(buffers.states().toArray(), 0, all, token * DIM, DIM);
        }
        assertTrue(Arrays.stream(new int[] {0, 1}).allMatch(i -> cache.length(i, sequence) == TOKENS));
        return all;
    }

    private static TokenBatch batch(TokenBatch batch, int tokens) {
        batch.begin();
        for (int token = 0; token < tokens; token++) {
            batch.add(token);
        }
        return batch;
    }

    private PackedLinear linear(int inputs, int outputs) {
        return PackedLinear.of(PackedWeights.ofInputRows(gaussian(inputs, outputs)));
    }

    private Tensor gaussian(long... dims) {
        int count = (int) Arrays.stream(dims).reduce(1, (a, b) -> a * b);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian(0.1, 0.4);
        }
        return Tensor.of(values, dims);
    }
}
