package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.cache.CacheFormat;
import io.multihead.cache.CacheFullException;
import io.multihead.cache.KeyValueCache;
import io.multihead.cache.RecurrentCache;
import io.multihead.compute.Compute;
import io.multihead.gemm.Activation;
import io.multihead.gemm.PackedWeights;
import io.multihead.position.Rope;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ScoreRule;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * The errors and allocations of a model. A further test proves that the comparison with the specification detects each
 * option.
 */
class TransformerTest {
    private static final Compute SERIAL = Compute.serial();
    private static final ModelCase.Shape SHAPE = new ModelCase.Shape(32, 4, 2, 16, 64, 2);

    private final ModelCase llama = new ModelCase(SHAPE, ModelCase.Options.llama(16), 1);
    private final Transformer model = llama.model;
    private final KeyValueCache cache = KeyValueCache.paged(model.cacheConfig(), 1 << 20);

    @Test
    void warmCallsAllocateNothing() {
        for (ModelCase.Arrangement arrangement : ModelCase.Arrangement.values()) {
            boolean experts = arrangement == ModelCase.Arrangement.PRE || arrangement == ModelCase.Arrangement.SANDWICH;
            ModelCase.Routing routing = experts ? ModelCase.Routing.SIGMOID_WITH_BIAS : ModelCase.Routing.NONE;
            ModelCase c = new ModelCase(SHAPE, everything(arrangement, routing), 2);
            KeyValueCache held = KeyValueCache.contiguous(c.model.cacheConfig(), 2, 64);
            TokenBatch batch = TokenBatch.of(held, 8);
            Buffers buffers = c.model.buffers(8);
            Tensor logits = Tensor.of(new float[2 * ModelCase.VOCABULARY], 2, ModelCase.VOCABULARY);
            long bytes = WarmCalls.allocatedBytes(() -> {
                held.truncate(0, 20);
                held.truncate(1, 20);
                batch.clear();
                batch.begin(0);
                batch.add(5);
                batch.begin(1);
                batch.add(7);
                batch.add(9);
                c.model.forward(SERIAL, batch, buffers);
                c.model.logits(SERIAL, batch.lastRows(), logits, buffers);
            });
            assertEquals(0, bytes, arrangement.toString());
        }
    }

    @Test
    void warmCallsFromGivenStatesAllocateNothing() {
        Buffers buffers = model.buffers(3);
        TokenBatch batch = TokenBatch.of(3);
        fill(batch, 3);
        Tensor given = Tensor.of(new float[3 * 32], 3, 32);
        assertEquals(0, WarmCalls.allocatedBytes(() -> {
            model.forwardFrom(SERIAL, batch, given, buffers);
            model.forwardFrom(SERIAL, batch, buffers.states(), buffers);
        }));
    }

    private static ModelCase.Options everything(ModelCase.Arrangement arrangement, ModelCase.Routing routing) {
        return new ModelCase.Options(
                arrangement,
                ModelCase.NormKind.LAYER,
                ModelCase.HeadNorm.HEAD,
                true,
                true,
                Activation.SILU,
                8,
                false,
                true,
                true,
                true,
                true,
                true,
                false,
                routing);
    }

    /** A specification without one of the options differs by much more than the bound of the comparison. */
    @Test
    void theComparisonSeesEveryOption() {
        ModelCase c = new ModelCase(SHAPE, everything(ModelCase.Arrangement.SANDWICH, ModelCase.Routing.NONE), 3);
        int[] ids = c.ids(12);
        double[] right = c.reference.logits(ids);
        List<UnaryOperator<ReferenceTransformer.Scores>> wrong = List.of(
                s -> new ReferenceTransformer.Scores(1, s.rule(), s.sinks(), s.rope(), s.queryNorm(), s.keyNorm()),
                s -> new ReferenceTransformer.Scores(
                        s.scale(), ScoreRule.causalTopLeft(), s.sinks(), s.rope(), s.queryNorm(), s.keyNorm()),
                s -> new ReferenceTransformer.Scores(s.scale(), s.rule(), null, s.rope(), s.queryNorm(), s.keyNorm()),
                s -> new ReferenceTransformer.Scores(s.scale(), s.rule(), s.sinks(), null, s.queryNorm(), s.keyNorm()),
                s -> new ReferenceTransformer.Scores(s.scale(), s.rule(), s.sinks(), s.rope(), null, s.keyNorm()),
                s -> new ReferenceTransformer.Scores(s.scale(), s.rule(), s.sinks(), s.rope(), s.queryNorm(), null));
        for (int i = 0; i < wrong.size(); i++) {
            UnaryOperator<ReferenceTransformer.Scores> change = wrong.get(i);
            List<ReferenceTransformer.Block> blocks = c.reference.blocks().stream()
                    .map(block -> new ReferenceTransformer.Block(
                            changed(block.attention(), change),
                            block.attentionNorms(),
                            block.feedForward(),
                            block.feedForwardNorms(),
                            false))
                    .toList();
            assertFarther(
                    right, with(c.reference, blocks, c.reference.logitCap()).logits(ids), "option " + i);
        }
        assertFarther(right, with(c.reference, c.reference.blocks(), 0).logits(ids), "logit cap");
        List<ReferenceTransformer.Block> ungated = c.reference.blocks().stream()
                .map(block -> new ReferenceTransformer.Block(
                        block.attention() instanceof ReferenceTransformer.GatedAttention gated
                                ? gated.attention()
                                : block.attention(),
                        block.attentionNorms(),
                        block.feedForward(),
                        block.feedForwardNorms(),
                        false))
                .toList();
        assertFarther(right, with(c.reference, ungated, c.reference.logitCap()).logits(ids), "gates");
    }

    private static ReferenceTransformer.Part changed(
            ReferenceTransformer.Part part, UnaryOperator<ReferenceTransformer.Scores> change) {
        if (part instanceof ReferenceTransformer.GatedAttention gated) {
            return new ReferenceTransformer.GatedAttention(
                    (ReferenceTransformer.Attention) changed(gated.attention(), change), gated.gates());
        }
        ReferenceTransformer.Attention of = (ReferenceTransformer.Attention) part;
        return new ReferenceTransformer.Attention(
                of.projections(), of.output(), of.heads(), of.keyValueHeads(), change.apply(of.scores()));
    }

    private static ReferenceTransformer with(
            ReferenceTransformer of, List<ReferenceTransformer.Block> blocks, double cap) {
        return new ReferenceTransformer(of.embedding(), blocks, of.finalNorm(), of.head(), cap);
    }

    private static void assertFarther(double[] right, double[] wrong, String what) {
        double most = 0;
        for (int i = 0; i < right.length; i++) {
            most = Math.max(most, Math.abs(right[i] - wrong[i]));
        }
        assertTrue(most > 1e-2, what + ": " + most);
    }

    /** A head factor multiplies the columns of the output projection that read the head. */
    @Test
    void headsMayBeDropped() {
        float[] factors = {1, 0, -0.5f, 1};
        List<Block> blocks = model.blocks().stream()
                .map(block -> block.withAttention(block.attention().withHeadFactors(factors)))
                .toList();
        List<ReferenceTransformer.Block> specified = llama.reference.blocks().stream()
                .map(block -> new ReferenceTransformer.Block(
                        HeadWeights.weighted(block.attention(), factors),
                        block.attentionNorms(),
                        block.feedForward(),
                        block.feedForwardNorms(),
                        false))
                .toList();
        int[] ids = llama.ids(9);
        TokenBatch batch = TokenBatch.of(9);
        batch.begin();
        Arrays.stream(ids).forEach(batch::add);
        Transformer dropping = Transformer.of(model.embeddings(), blocks);
        Buffers buffers = dropping.buffers(9);
        dropping.forward(SERIAL, batch, buffers);
        double[] expected = with(llama.reference, specified, 0).states(ids);
        float[] actual = buffers.states().toArray();
        double[] all = llama.reference.states(ids);
        double farthest = 0;
        for (int i = 0; i < actual.length; i++) {
            assertEquals(expected[i], actual[i], 2 * 900 * 0x1p-24 * 10, "element " + i);
            farthest = Math.max(farthest, Math.abs(expected[i] - all[i]));
        }
        assertTrue(farthest > 0.1, "dropped heads changed " + farthest);
        SelfAttention attention = model.blocks().get(0).attention();
        assertRefused("factors: 3 elements; expected 4, one per query head", () -> attention.withHeadFactors(1, 1, 0));
        assertThrows(IllegalArgumentException.class, () -> attention.withHeadFactors(1, 1, 0, Float.NaN));
    }

    @Test
    void headsThatCannotStayAreNamed() {
        SelfAttention attention = model.blocks().get(0).attention();
        Arena arena = Arena.ofAuto();
        assertRefused("heads: [1, 1]; expected at least one, none repeated", () -> attention.keepHeads(arena, 1, 1));
        assertRefused("heads: []; expected at least one, none repeated", () -> attention.keepHeads(arena));
        assertRefused("heads[0]: 4; expected 0 to 3", () -> attention.keepHeads(arena, 4));
        String sharing = "; expected as many of each key/value head, side by side; 2 heads share one";
        assertRefused("heads: [0, 1, 2]" + sharing, () -> attention.keepHeads(arena, 0, 1, 2));
        assertRefused("heads: [0, 2, 1, 3]" + sharing, () -> attention.keepHeads(arena, 0, 2, 1, 3));
        float[] ones = new float[64];
        Arrays.fill(ones, 1);
        Norm ofAll = Norm.rms(Tensor.of(ones), 1e-5);
        assertRefused(
                "queries: a norm of 64 elements; expected one of each head's 16, which does not depend on other heads",
                () -> attention.withHeadNorms(ofAll, null).keepHeads(arena, 0));
    }

    @Test
    void givenStatesMustFit() {
        Buffers buffers = model.buffers(3);
        TokenBatch batch = TokenBatch.of(3);
        fill(batch, 2);
        Tensor other = Tensor.of(new float[3 * 32], 3, 32);
        assertRefused(
                "states: shape [3, 32]; expected [2, 32]", () -> model.forwardFrom(SERIAL, batch, other, buffers));
        Tensor bytes = Tensor.allocate(Arena.ofAuto(), DType.I8, Shape.of(2, 32));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> model.forwardFrom(SERIAL, batch, bytes, buffers))
                .getMessage()
                .startsWith("states: "));
        model.forward(SERIAL, batch, buffers);
        float[] before = buffers.states().toArray();
        Tensor part = buffers.states().slice(0, 0, 1);
        fill(batch, 1);
        assertRefused(
                "buffers: " + part + " overlaps states; expected separate memory",
                () -> model.forwardFrom(SERIAL, batch, part, buffers));
        assertArrayEquals(before, buffers.states().toArray());
        assertRefused("buffers: 1 tokens of 32 and 192 floats; expected room for 2 tokens of 32 and 192", () -> {
            fill(batch, 2);
            model.forwardFrom(SERIAL, batch, other.slice(0, 0, 2), model.buffers(1));
        });
    }

    private static void fill(TokenBatch batch, int tokens) {
        batch.clear();
        batch.begin();
        for (int i = 0; i < tokens; i++) {
            batch.add(i);
        }
    }

    @Test
    void aCacheOfMoreBytesThanALongHasIsRefused() {
        for (long tokens : new long[] {Long.MAX_VALUE, 1L << 54}) {
            String message = assertThrows(
                            IllegalArgumentException.class, () -> model.cache(Arena.ofAuto(), CacheFormat.F32, tokens))
                    .getMessage();
            assertTrue(message.startsWith("tokens: " + tokens + "; expected at most "), message);
        }
    }

    @Test
    void whatIsRefusedLeavesTheCache() {
        Buffers buffers = model.buffers(8);
        TokenBatch batch = TokenBatch.of(cache, 8);
        int sequence = cache.open();
        batch.begin(sequence);
        batch.add(3);
        model.forward(SERIAL, batch, buffers);
        batch.add(ModelCase.VOCABULARY);
        assertRefused("token 1: 61; expected 0 to 60", () -> model.forward(SERIAL, batch, buffers));
        fill(batch, sequence, 1);
        batch.add(3, 1);
        assertRefused("token 1: type 1; expected 0 to 0", () -> model.forward(SERIAL, batch, buffers));
        fill(batch, sequence, 5);
        assertRefused(
                "buffers: 4 tokens of 32 and 192 floats; expected room for 5 tokens of 32 and 192",
                () -> model.forward(SERIAL, batch, model.buffers(4)));
        batch.clear();
        batch.begin(sequence);
        assertEquals(
                "batch: no tokens in sequence 0; expected at least one",
                assertThrows(IllegalStateException.class, () -> model.forward(SERIAL, batch, buffers))
                        .getMessage());
        fill(batch, sequence, 1);
        batch.begin(sequence);
        batch.add(1);
        assertRefused(
                "batch: sequence 0 twice; expected no sequence twice", () -> model.forward(SERIAL, batch, buffers));
        int other = cache.open();
        fill(batch, other, 1);
        batch.begin(sequence);
        batch.add(1);
        batch.begin(other);
        batch.add(1);
        assertRefused(
                "batch: sequence 1 twice; expected no sequence twice", () -> model.forward(SERIAL, batch, buffers));
        assertEquals(1, cache.length(0, sequence));
        assertEquals(1, cache.length(1, sequence));
    }

    private static void fill(TokenBatch batch, int sequence, int tokens) {
        batch.clear();
        batch.begin(sequence);
        for (int i = 0; i < tokens; i++) {
            batch.add(i);
        }
    }

    @Test
    void aFullCacheStaysAsItIs() {
        KeyValueCache small =
                KeyValueCache.paged(model.cacheConfig(), model.cacheConfig().layers() * 64L * 2 * 2 * 32 * Float.BYTES);
        TokenBatch batch = TokenBatch.of(small, 100);
        Buffers buffers = model.buffers(100);
        int sequence = small.open();
        fill(batch, sequence, 60);
        model.forward(SERIAL, batch, buffers);
        assertThrows(CacheFullException.class, () -> model.forward(SERIAL, batch, buffers));
        assertEquals(60, small.length(0, sequence));
        assertEquals(60, small.length(1, sequence));
    }

    /** The first layer of a sequence takes a state, so the states of all sequences are checked before. */
    @Test
    void aFullCacheOfStatesStaysAsItIs() {
        Part part = new OwnConvolution(new float[] {1, 1}, new float[] {2, 2});
        RecurrentCache small = RecurrentCalls.cache(part);
        small.limitStates(1);
        TokenBatch batch = TokenBatch.of(small, 2);
        for (int i = 0; i < 2; i++) {
            batch.begin(small.open());
            batch.add(0);
        }
        Tensor x = Tensor.of(new float[4], 2, 2);
        Tensor y = Tensor.of(new float[4], 2, 2);
        assertThrows(CacheFullException.class, () -> part.forward(SERIAL, batch, x, y, part.buffers(2)));
        assertEquals(0, small.length(0, 0));
        assertEquals(0, small.usedBytes());
    }

    @Test
    void cachesOfOtherModelsAreRefused() {
        KeyValueCache.Config right = model.cacheConfig();
        assertEquals(DType.F32, right.format().dtype());
        for (KeyValueCache.Config wrong : List.of(
                KeyValueCache.Config.of(1, 2, 16),
                KeyValueCache.Config.of(2, 4, 16),
                KeyValueCache.Config.of(2, 2, 32),
                right.withValueDim(8),
                right.withRopes(Rope.of(Rope.Config.of(16))))) {
            KeyValueCache other = KeyValueCache.paged(wrong, 1 << 20);
            TokenBatch batch = TokenBatch.of(other, 2);
            batch.begin(other.open());
            batch.add(1);
            String message = "cache: " + wrong + "; expected " + right + " of any element type";
            assertRefused(message, () -> model.forward(SERIAL, batch, model.buffers(2)));
        }
        KeyValueCache narrow = KeyValueCache.paged(right.withFormat(CacheFormat.BF16), 1 << 20);
        TokenBatch batch = TokenBatch.of(narrow, 2);
        batch.begin(narrow.open());
        batch.add(1);
        model.forward(SERIAL, batch, model.buffers(2));
    }

    @Test
    void logitsAreForTokensOfTheCall() {
        TokenBatch batch = TokenBatch.of(3);
        Buffers buffers = model.buffers(3);
        batch.begin();
        batch.add(1);
        batch.add(2);
        model.forward(SERIAL, batch, buffers);
        Tensor one = Tensor.of(new float[ModelCase.VOCABULARY], 1, ModelCase.VOCABULARY);
        assertRefused("rows[0]: 2; expected 0 to 1", () -> model.logits(SERIAL, new int[] {2}, one, buffers));
        assertRefused(
                "logits: shape [1, 61]; expected [2, 61]", () -> model.logits(SERIAL, new int[] {0, 1}, one, buffers));
        Tensor outputs = Tensor.of(new float[32], 1, 32);
        model.outputs(SERIAL, new int[] {1}, outputs, buffers);
        float[] states = Arrays.copyOfRange(buffers.states().toArray(), 32, 64);
        assertTrue(!Arrays.equals(states, outputs.toArray()));
        Transformer bare = Transformer.of(model.embeddings(), model.blocks());
        bare.outputs(SERIAL, new int[] {1}, outputs, buffers);
        assertArrayEquals(states, outputs.toArray());
        assertThrows(IllegalStateException.class, () -> bare.logits(SERIAL, new int[] {1}, one, buffers));
    }

    /** Rows of blocks are widened when they are read. They have the same bits as a table of their values. */
    @Test
    void wordsMayBeQuantized() {
        byte[] bytes = new byte[ModelCase.VOCABULARY * 34];
        new SplittableRandom(1).nextBytes(bytes);
        for (int at = 0; at < bytes.length; at += 34) {
            bytes[at + 1] = 0x2c; // the exponent of a scale between 2^-4 and 2^-3
        }
        Shape shape = Shape.of(ModelCase.VOCABULARY, 32);
        BlockTensor blocks = BlockTensor.view(MemorySegment.ofArray(bytes), BlockType.Q8_0, shape, 0);
        Tensor numbers = Tensor.of(new float[ModelCase.VOCABULARY * 32], ModelCase.VOCABULARY, 32);
        blocks.dequantize(numbers);
        assertArrayEquals(states(EmbeddingTables.of(numbers)), states(EmbeddingTables.of(blocks)));
    }

    private float[] states(EmbeddingTables words) {
        TokenBatch batch = TokenBatch.of(3);
        batch.begin();
        for (int id : new int[] {60, 0, 17}) {
            batch.add(id);
        }
        Transformer stack = Transformer.of(words.withScale(1.5), model.blocks());
        Buffers buffers = stack.buffers(3);
        stack.forward(SERIAL, batch, buffers);
        return buffers.states().toArray();
    }

    @Test
    void batchesSayWhatTheyExpect() {
        TokenBatch batch = TokenBatch.of(1);
        assertThrows(IllegalStateException.class, () -> batch.add(1));
        assertThrows(IllegalStateException.class, () -> batch.begin(0));
        assertThrows(IllegalStateException.class, () -> TokenBatch.of(cache, 1).begin());
        batch.begin();
        batch.add(1);
        assertEquals(
                "batch: full; expected at most 1 tokens",
                assertThrows(IllegalStateException.class, () -> batch.add(1)).getMessage());
    }

    @Test
    void partsThatDoNotFitAreRefused() {
        PackedLinear square = linear(8, 8);
        LinearGroup three = LinearGroup.of(square, square, square);
        AttentionOptions causal = AttentionOptions.CAUSAL;
        assertRefused("keyValueHeads: 3; expected a divisor of 4", () -> SelfAttention.of(4, 3, three, square, causal));
        assertRefused(
                "projections: 1 outputs; expected query, key and value, or query and key",
                () -> SelfAttention.of(2, 2, LinearGroup.of(square), square, causal));
        assertRefused(
                "projections: key heads of 8; expected 4, as in queries",
                () -> SelfAttention.of(2, 1, three, square, causal));
        assertRefused(
                "output: 8 inputs, 4 outputs; expected 8 and 8",
                () -> SelfAttention.of(2, 2, three, linear(8, 4), causal));
        AttentionOptions dropped = causal.withDropout(new AttentionDropout(0.1, 1));
        assertThrows(IllegalArgumentException.class, () -> SelfAttention.of(2, 2, three, square, dropped));
        SelfAttention attention = SelfAttention.of(2, 2, three, square, causal);
        assertThrows(IllegalArgumentException.class, () -> attention.withRope(Rope.of(Rope.Config.of(6))));
        Norm norm = Norm.rms(Tensor.of(new float[] {1, 1, 1}), 1e-5);
        assertRefused("queries: 3 elements; expected 4 or 8", () -> attention.withHeadNorms(norm, null));
        assertRefused("layers: 4 inputs; expected 8, as in the first", () -> LinearGroup.of(square, linear(4, 8)));
        assertRefused("outputs: 7 in all; expected 8, as in the layer", () -> LinearGroup.concatenated(square, 3, 4));
        assertRefused(
                "gateAndUp: 3 of 24 outputs in all; expected 2 with as many each",
                () -> FeedForward.gated(Activation.SILU, three, square));
        LinearGroup two = LinearGroup.of(square, square);
        assertRefused("slope: 0.0; expected a finite number above 0", () -> FeedForward.clamped(0, 7, two, square));
        assertRefused(
                "limit: 1.0E300; expected a finite number above 0",
                () -> FeedForward.clamped(1.702, 1e300, two, square));
        FeedForward network = FeedForward.of(square, square);
        assertRefused(
                "before: 3 elements; expected 8, as in the part", () -> Block.preNorm(norm, attention, norm, network));
        Norm eight = Norm.rms(Tensor.of(new float[8]), 1e-5);
        Block block = Block.preNorm(eight, attention, eight, network);
        assertRefused("sum: 3 elements; expected 8, as in the part", () -> block.withResultNorm(norm));
        Block post = Block.postNorm(attention, eight, network, eight);
        assertThrows(IllegalStateException.class, () -> post.withResultNorm(eight));
        Block parallel = Block.parallel(eight, attention, null, network);
        assertThrows(IllegalStateException.class, () -> parallel.withResultNorm(eight));
    }

    private static PackedLinear linear(int inputs, int outputs) {
        try (Arena arena = Arena.ofConfined()) {
            return PackedLinear.of(PackedWeights.ofInputRows(Tensor.zeros(arena, DType.F32, inputs, outputs)));
        }
    }

    private static void assertRefused(String message, Runnable call) {
        assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage());
    }
}
