package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.cache.CacheFormat;
import io.multihead.cache.KeyValueCache;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.BertConfig;
import io.multihead.internal.encoder.load.EncoderModel;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.model.Buffers;
import io.multihead.model.TokenBatch;
import io.multihead.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;

/**
 * Tests tokens at the end of a sequence that no token sees, with the tiny model. They do not change the states of other tokens, and have
 * the states of the specification.
 */
@Tag("lanes")
class UnseenTokensProperties {
    private static final Compute THREADS = Compute.threads(3);
    private static final Map<String, Tensor> WEIGHTS = TinyModel.weights(1);
    private static final EncoderModel MODEL = new EncoderModel(
            BertConfig.of(
                    new JsonObject("config", Json.object("config", TinyModel.CONFIG.getBytes(StandardCharsets.UTF_8)))),
            new Weights(Loading.of(THREADS), WeightSource.of(WEIGHTS)));

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void unseenTokensSeeAndAreNotSeen(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 12) int seen,
            @ForAll @IntRange(min = 0, max = 12) int unseen) {
        SplittableRandom random = new SplittableRandom(seed);
        int[] before = ids(random, 5);
        int[] ids = ids(random, seen + unseen);
        int[] after = ids(random, 9);
        TokenBatch batch = TokenBatch.of(40);
        add(batch, before);
        batch.begin();
        for (int token = 0; token < ids.length; token++) {
            if (token == seen) {
                batch.endKeys();
            }
            batch.add(ids[token]);
        }
        add(batch, after);
        Buffers buffers = MODEL.transformer.buffers(40);
        MODEL.transformer.forward(THREADS, batch, buffers);
        float[][] states = rows(buffers.states());
        assertArrayEquals(alone(before), Arrays.copyOfRange(states, 0, 5), "the preceding sequence");
        assertArrayEquals(alone(Arrays.copyOf(ids, seen)), Arrays.copyOfRange(states, 5, 5 + seen), "visible tokens");
        assertArrayEquals(
                alone(after), Arrays.copyOfRange(states, 5 + ids.length, states.length), "the following sequence");
        double[][] expected = new ReferenceEncoder(WEIGHTS).states(ids, seen);
        for (int token = 0; token < ids.length; token++) {
            for (int i = 0; i < TinyModel.DIM; i++) {
                double most = SentenceEncoderTest.TOLERANCE * Math.max(1, Math.abs(expected[token][i]));
                assertEquals(expected[token][i], states[5 + token][i], most, "token " + token);
            }
        }
    }

    private static int[] ids(SplittableRandom random, int count) {
        return random.ints(count, 0, TinyModel.VOCABULARY.size()).toArray();
    }

    private static void add(TokenBatch batch, int[] ids) {
        batch.begin();
        Arrays.stream(ids).forEach(batch::add);
    }

    private static float[][] alone(int[] ids) {
        TokenBatch batch = TokenBatch.of(ids.length);
        add(batch, ids);
        Buffers buffers = MODEL.transformer.buffers(ids.length);
        MODEL.transformer.forward(Compute.serial(), batch, buffers);
        return rows(buffers.states());
    }

    private static float[][] rows(Tensor states) {
        float[][] rows = new float[(int) states.dim(0)][];
        Arrays.setAll(rows, row -> states.select(0, row).toArray());
        return rows;
    }

    @Example
    void aSequenceHasKeys() {
        TokenBatch batch = TokenBatch.of(4);
        assertThrows(IllegalStateException.class, batch::endKeys);
        batch.begin();
        assertEquals(
                "batch: no tokens in the last sequence; expected at least one",
                assertThrows(IllegalStateException.class, batch::endKeys).getMessage());
        KeyValueCache cache =
                KeyValueCache.paged(new KeyValueCache.Config(1, 1, 8, 8, CacheFormat.F32, List.of()), 1 << 16);
        TokenBatch cached = TokenBatch.of(cache, 4);
        cached.begin(cache.open());
        cached.add(1);
        assertEquals(
                "batch: one with a cache; expected complete sequences",
                assertThrows(IllegalStateException.class, cached::endKeys).getMessage());
    }
}
