package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.nn.Gradients;
import io.multihead.support.Numbers;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairs;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Adapters that are trained with a frozen packed model: memory, gradients, bits, and the conversion for inference. */
@Tag("lanes")
class LoraLlamaTest {
    private static final Compute CPU = Compute.serial();
    private static final String TEXT = "The fox saw the crow, and the crow saw the fox. ".repeat(30);
    private static final BytePairs PIECES = BytePairs.learn(TEXT, 280);
    private static final int DIM = 32;
    private static final int INNER = 64;

    @TempDir
    private Path folder;

    @BeforeEach
    void write() throws IOException {
        LlamaLayers.Config sizes = LlamaLayers.Config.of(PIECES.vocabulary(), DIM, 2, 4)
                .withKeyValueHeads(2)
                .withInner(INNER);
        LlamaLayers.initialize(Arena.ofAuto(), sizes, 3).save(folder.resolve("base"));
        PIECES.writeTo(folder.resolve("base"));
    }

    /** The storage of frozen weights. */
    enum Kept {
        F32(null),
        Q8(BlockType.Q8_0),
        Q4(BlockType.Q4_0);

        private final BlockType type;

        Kept(BlockType type) {
            this.type = type;
        }

        private LoraAdapter.Config of(int rank, String... modules) {
            LoraAdapter.Config config = LoraAdapter.Config.of(rank, modules);
            return type == null ? config : config.withFrozen(type);
        }
    }

    private LoraLlama load(Arena arena, Kept kept) throws IOException {
        return LoraLlama.load(
                arena, folder.resolve("base"), kept.of(4, "q_proj", "v_proj", "o_proj", "up_proj", "down_proj"), 5);
    }

    private static TokenWindows windows(long seed) {
        return TokenWindows.next(PIECES.tokenizer().encode(TEXT), 4, 12, seed);
    }

    /** Only panels, adapters, norms, and the word embedding table in the folder's type are allocated. */
    @ParameterizedTest
    @EnumSource
    void theFrozenPartTakesTheBytesOfItsPanels(Kept kept) throws IOException {
        try (Counting arena = new Counting()) {
            LoraLlama model = load(arena, kept);
            // a panel has 32 columns, and all sizes except the vocabulary and the 16 columns of keys are multiples of
            // 32
            long each = DIM * (DIM + 2 * 32 + DIM) + 3 * DIM * INNER;
            long bytes = kept.type == null ? 4 * each : each / kept.type.elements() * kept.type.bytes();
            long padded = (PIECES.vocabulary() + 31) / 32 * 32;
            assertEquals(2 * bytes + 4 * padded * DIM, model.frozenBytes());
            long others = model.layers().parameters().values().stream()
                    .mapToLong(
                            tensor -> tensor.shape().elements() * tensor.dtype().bytes())
                    .sum();
            assertEquals(model.frozenBytes() + others, arena.bytes);
            long words = 4L * PIECES.vocabulary() * DIM;
            long adapters = model.adapters().values().stream()
                    .mapToLong(tensor -> 4 * tensor.shape().elements())
                    .sum();
            assertEquals(words + 4 * 5 * DIM + adapters, others);
            assertEquals(
                    adapters,
                    model.gradients(Arena.ofAuto()).values().stream()
                            .mapToLong(tensor -> 4 * tensor.shape().elements())
                            .sum());
        }
    }

    /** An arena that counts allocated bytes. */
    private static final class Counting implements Arena {
        private final Arena arena = Arena.ofShared();
        private long bytes;

        @Override
        public MemorySegment allocate(long size, long alignment) {
            bytes += size;
            return arena.allocate(size, alignment);
        }

        @Override
        public MemorySegment.Scope scope() {
            return arena.scope();
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    /** Before the first step, adapters add zeros, so that the model equals the model of the folder. */
    @Test
    void freshAdaptersChangeNoBit() throws IOException {
        LlamaLayers plain = LlamaLayers.load(Arena.ofAuto(), folder.resolve("base"));
        LoraLlama model = load(Arena.ofAuto(), Kept.F32);
        assertEquals(windows(1).loss(CPU, plain.layers()), windows(1).loss(CPU, model.layers()));
    }

    private static void draw(LoraLlama model) {
        SplittableRandom random = new SplittableRandom(8);
        model.adapters().values().forEach(tensor -> Numbers.gaussian(tensor, random, 0, 0.1));
    }

    @ParameterizedTest
    @EnumSource
    void gradientsAreDifferencesWithTheSameBitsOnAnyThreads(Kept kept) throws IOException {
        LoraLlama model = load(Arena.ofAuto(), kept);
        draw(model);
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto());
        double loss = windows(1).learn(CPU, model.layers(), gradients, 0);
        assertEquals(loss, windows(1).loss(CPU, model.layers()));
        Map<String, Tensor> threaded = model.gradients(Arena.ofShared());
        try (Compute threads = Compute.threads(3)) {
            windows(1).learn(threads, model.layers(), threaded, 0);
        }
        gradients.forEach((name, tensor) ->
                assertArrayEquals(tensor.toArray(), threaded.get(name).toArray(), name));
        Slopes.assertSlopes(model.adapters(), gradients, () -> {
            model.layers().parametersChanged();
            return windows(1).loss(CPU, model.layers());
        });
    }

    private static double[] train(LoraLlama model, int steps) {
        Map<String, Tensor> gradients = model.gradients(Arena.ofAuto());
        AdamW optimizer = AdamW.of(model.adapters(), AdamW.Options.DEFAULT);
        double[] losses = new double[steps];
        for (int step = 0; step < steps; step++) {
            Gradients.clear(gradients);
            losses[step] = windows(step).learn(CPU, model.layers(), gradients, step);
            optimizer.step(CPU, gradients, 5e-2);
            model.layers().parametersChanged();
        }
        return losses;
    }

    private static float[] logits(LanguageModel model, int[] ids) {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open().append(ids)) {
            return session.nextLogits();
        }
    }

    /**
     * The merged model of a folder has the logits of the layers. The bound is 1000 roundings of the largest logit: two
     * layers of seven products of at most 64 terms, with sums in another order. Adapters that were trained with
     * quantized weights are merged into the weights of the folder, which differ.
     */
    @ParameterizedTest
    @EnumSource
    void itLearnsAndIsMergedAtLoading(Kept kept) throws IOException {
        LoraLlama model = load(Arena.ofAuto(), kept);
        double[] losses = train(model, 40);
        assertTrue(losses[39] < losses[0] - 0.3, losses[0] + " to " + losses[39]);
        model.save(folder.resolve("adapter"));
        int[] ids = new SplittableRandom(9).ints(30, 0, PIECES.vocabulary()).toArray();
        float[] numbers = new float[ids.length];
        for (int i = 0; i < ids.length; i++) {
            numbers[i] = ids[i];
        }
        Tensor all = Tensor.of(new float[ids.length * PIECES.vocabulary()], 1, ids.length, PIECES.vocabulary());
        model.layers().forward(CPU, Tensor.of(numbers, 1, ids.length), all);
        float[] own = all.select(0, 0).select(0, ids.length - 1L).toArray();
        LoadOptions options = LoadOptions.DEFAULT.withAdapter(folder.resolve("adapter"));
        LlamaLayers merged = LlamaLayers.load(Arena.ofAuto(), folder.resolve("base"));
        LoraAdapter.load(Arena.ofAuto(), merged.weights(), folder.resolve("adapter"), null)
                .apply(CPU);
        merged.save(folder.resolve("merged"));
        try (LanguageModel loaded = LanguageModel.load(CPU, folder.resolve("base"), options);
                LanguageModel plain = LanguageModel.load(CPU, folder.resolve("base"));
                LanguageModel written = LanguageModel.load(CPU, folder.resolve("merged"))) {
            float[] actual = logits(loaded, ids);
            assertArrayEquals(logits(written, ids), actual);
            assertTrue(distance(logits(plain, ids), actual) > 0.1);
            if (kept == Kept.F32) {
                float largest = 0;
                for (float logit : own) {
                    largest = Math.max(largest, Math.abs(logit));
                }
                assertArrayEquals(own, actual, 1000 * 0x1p-24f * largest);
            }
        }
    }

    private static double distance(float[] a, float[] b) {
        double most = 0;
        for (int i = 0; i < a.length; i++) {
            most = Math.max(most, Math.abs(a[i] - b[i]));
        }
        return most;
    }

    @Test
    void whatDoesNotFitIsRefusedByName() {
        String message = assertThrows(
                        IllegalArgumentException.class,
                        () -> LoraLlama.load(
                                Arena.ofAuto(), folder.resolve("base"), LoraAdapter.Config.of(2, "query"), 1))
                .getMessage();
        assertTrue(
                message.contains(
                        "modules: query; expected some of down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj"),
                message);
    }
}
