package io.multihead.model;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.position.Rope;
import io.multihead.reference.ReferenceActivation;
import io.multihead.reference.ReferenceRope;
import io.multihead.reference.ReferenceTransformer;
import io.multihead.reference.ReferenceTransformer.Linear;
import io.multihead.reference.ReferenceTransformer.Norms;
import io.multihead.reference.ScoreRule;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The decoder of docs/inference.md and the parts of docs/parts.md, in the words of these pages, are compared with the
 * specification.
 */
@Tag("lanes")
class LlamaTest {
    private static final int DIM = 64;
    private static final int HEADS = 4;
    private static final int KEY_HEADS = 2;
    private static final int INNER = 96;
    private static final int WORDS = 50;
    private static final int LAYERS = 2;
    /**
     * The bound of {@code TransformerProperties}, here with products of up to 96 terms and norms of 64. It is relative
     * to the largest logit.
     */
    private static final double MOST = (LAYERS + 1) * 900 * 0x1p-24;

    /** The hash of the logits of 30 tokens. */
    private static final int HASH = -609451985;

    private final Map<String, Tensor> weights = new HashMap<>();
    private final SplittableRandom random = new SplittableRandom(1);
    private final Transformer model;
    private final ReferenceTransformer reference;

    LlamaTest() {
        Rope rope = Rope.of(Rope.Config.of(DIM / HEADS));
        List<Block> blocks = new ArrayList<>();
        List<ReferenceTransformer.Block> specified = new ArrayList<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            draw("model.layers." + layer + ".");
            specified.add(block("model.layers." + layer + "."));
            blocks.add(LlamaBlock.block(weights::get, layer, HEADS, KEY_HEADS, rope));
        }
        draw("model.embed_tokens.weight", 1, WORDS, DIM);
        draw("model.norm.weight", 1, DIM);
        draw("lm_head.weight", 0.2, WORDS, DIM);
        model = Llama.model(weights::get, blocks);
        ReferenceTransformer.Embedding words =
                new ReferenceTransformer.Embedding(values("model.embed_tokens.weight"), 1, null, null, null, DIM);
        reference = new ReferenceTransformer(words, specified, norm("model.norm"), linear("lm_head", WORDS, DIM), 0);
    }

    private void draw(String layer) {
        int keys = DIM / HEADS * KEY_HEADS;
        draw(layer + "self_attn.q_proj.weight", 0.2, DIM, DIM);
        draw(layer + "self_attn.k_proj.weight", 0.2, keys, DIM);
        draw(layer + "self_attn.v_proj.weight", 0.2, keys, DIM);
        draw(layer + "self_attn.o_proj.weight", 0.1, DIM, DIM);
        draw(layer + "mlp.gate_proj.weight", 0.2, INNER, DIM);
        draw(layer + "mlp.up_proj.weight", 0.2, INNER, DIM);
        draw(layer + "mlp.down_proj.weight", 0.1, DIM, INNER);
        draw(layer + "input_layernorm.weight", 1, DIM);
        draw(layer + "post_attention_layernorm.weight", 1, DIM);
    }

    private void draw(String name, double size, int... shape) {
        float[] values = new float[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(0.1 * size, size);
        }
        weights.put(name, Tensor.of(values, Arrays.stream(shape).asLongStream().toArray()));
    }

    private ReferenceTransformer.Block block(String layer) {
        int keys = DIM / HEADS * KEY_HEADS;
        ReferenceRope rope = ReferenceRope.of(DIM / HEADS, 10_000, false);
        ReferenceTransformer.Scores scores = new ReferenceTransformer.Scores(
                1 / Math.sqrt(DIM / HEADS), ScoreRule.causalTopLeft(), null, rope, null, null);
        ReferenceTransformer.Attention attention = new ReferenceTransformer.Attention(
                List.of(
                        linear(layer + "self_attn.q_proj", DIM, DIM),
                        linear(layer + "self_attn.k_proj", keys, DIM),
                        linear(layer + "self_attn.v_proj", keys, DIM)),
                linear(layer + "self_attn.o_proj", DIM, DIM),
                HEADS,
                KEY_HEADS,
                scores);
        ReferenceTransformer.FeedForward network = new ReferenceTransformer.FeedForward(
                linear(layer + "mlp.gate_proj", INNER, DIM),
                linear(layer + "mlp.up_proj", INNER, DIM),
                linear(layer + "mlp.down_proj", DIM, INNER),
                ReferenceActivation::silu);
        return new ReferenceTransformer.Block(
                attention,
                new Norms(norm(layer + "input_layernorm"), null, null),
                network,
                new Norms(norm(layer + "post_attention_layernorm"), null, null),
                false);
    }

    private Linear linear(String name, int outputs, int inputs) {
        return new Linear(values(name + ".weight"), null, outputs, inputs);
    }

    private ReferenceTransformer.Norm norm(String name) {
        return new ReferenceTransformer.Norm(values(name + ".weight"), null, 1e-5, false, false);
    }

    private double[] values(String name) {
        float[] values = weights.get(name).toArray();
        return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
    }

    @Test
    void promptAtOnceAndTokenByTokenHaveTheSameBitsNearTheSpecification() {
        int[] ids = random.ints(30, 0, WORDS).toArray();
        double[] expected = reference.logits(ids);
        double size = Arrays.stream(expected).map(Math::abs).max().orElseThrow();
        float[] atOnce = new float[ids.length * WORDS];
        run(ids, 0, ids.length, KeyValueCache.contiguous(model.cacheConfig(), 1, 30), atOnce);
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], atOnce[i], MOST * size, "token " + i / WORDS);
        }
        float[] oneByOne = new float[atOnce.length];
        KeyValueCache cache = KeyValueCache.contiguous(model.cacheConfig(), 1, 30);
        for (int token = 0; token < ids.length; token++) {
            run(ids, token, token + 1, cache, oneByOne);
        }
        assertArrayEquals(atOnce, oneByOne);
    }

    /** The hash is the same at every lane width, with and without vectors, on any machine. */
    @Test
    void bitsAreThoseOfEveryLaneWidth() {
        int[] ids = IntStream.range(0, 30).map(i -> i * 7 % WORDS).toArray();
        float[] logits = new float[ids.length * WORDS];
        run(ids, 0, ids.length, KeyValueCache.contiguous(model.cacheConfig(), 1, 30), logits);
        assertEquals(HASH, Arrays.hashCode(logits));
    }

    private void run(int[] ids, int from, int end, KeyValueCache cache, float[] logits) {
        TokenBatch batch = TokenBatch.of(cache, end - from);
        batch.begin(0);
        for (int token = from; token < end; token++) {
            batch.add(ids[token]);
        }
        Buffers buffers = model.buffers(end - from);
        model.forward(Compute.serial(), batch, buffers);
        Tensor to = Tensor.of(logits, logits.length / WORDS, WORDS).slice(0, from, end);
        model.logits(Compute.serial(), IntStream.range(0, end - from).toArray(), to, buffers);
    }

    @Test
    void generatesWhatTheSpecificationFindsMostLikely() {
        int[] prompt = {3, 1, 4, 1, 5};
        int[] generated = Llama.generate(Compute.serial(), model, prompt, 6);
        int[] all = Arrays.copyOf(prompt, prompt.length + generated.length);
        for (int i = 0; i < generated.length; i++) {
            double[] logits = reference.logits(Arrays.copyOf(all, prompt.length + i));
            double[] last = Arrays.copyOfRange(logits, logits.length - WORDS, logits.length);
            int best = IntStream.range(0, WORDS).reduce(0, (a, b) -> last[b] > last[a] ? b : a);
            assertEquals(best, generated[i], "token " + i);
            all[prompt.length + i] = best;
        }
    }

    @Test
    void thePageHasThisCode() throws IOException {
        String pages = Files.readString(Path.of("docs/inference.md")) + Files.readString(Path.of("docs/parts.md"));
        for (String name : List.of("LlamaBlock", "Llama", "Mixture", "OwnConvolution")) {
            String code = Files.readString(Path.of("src/test/java/io/multihead/model/" + name + ".java"));
            assertTrue(pages.contains(code.substring(code.indexOf("/**"))), name);
        }
    }
}
