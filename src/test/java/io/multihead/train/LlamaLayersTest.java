package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.nn.Gradients;
import io.multihead.nn.Sequence;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairs;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A decoder of layers is trained, then converted to parts, written to folders and files, and read again. */
class LlamaLayersTest {
    private static final Compute CPU = Compute.serial();
    private static final String TEXT = "The fox saw the crow, and the crow saw the fox. ".repeat(30);
    private static final BytePairs PIECES = BytePairs.learn(TEXT, 280);

    @TempDir
    private Path folder;

    private static LlamaLayers.Config sizes(boolean tied) {
        return LlamaLayers.Config.of(PIECES.vocabulary(), 32, 2, 4)
                .withKeyValueHeads(2)
                .withInner(40)
                .withContext(100)
                .withTheta(500_000)
                .withTiedHead(tied);
    }

    private static double[] train(LlamaLayers model, int steps) {
        int[] tokens = PIECES.tokenizer().encode(TEXT);
        Map<String, Tensor> gradients = Gradients.zeros(Arena.ofAuto(), model.layers());
        AdamW optimizer = AdamW.of(model.layers().parameters(), AdamW.Options.DEFAULT);
        double[] losses = new double[steps];
        for (int step = 0; step < steps; step++) {
            Gradients.clear(gradients);
            losses[step] = TokenWindows.next(tokens, 4, 16, step).learn(CPU, model.layers(), gradients, step);
            Gradients.clip(CPU, gradients, 1);
            optimizer.step(CPU, gradients, 1e-2);
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

    private static int[] ids() {
        return new SplittableRandom(9).ints(40, 0, PIECES.vocabulary()).toArray();
    }

    private static LanguageModel parts(Arena arena, LlamaLayers model) {
        return LanguageModel.of(CPU, model.transformer(arena), PIECES.tokenizer(), model.contextTokens());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFolderHasTheBitsOfTheParts(boolean tied) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            LlamaLayers model = LlamaLayers.initialize(arena, sizes(tied), 3);
            double[] losses = train(model, 12);
            assertEquals(Math.log(PIECES.vocabulary()), losses[0], 0.1);
            assertTrue(losses[11] < losses[0] - 1, losses[11] + " nats");
            float[] before;
            try (LanguageModel parts = parts(arena, model)) {
                before = logits(parts, ids());
            }
            model.save(folder);
            PIECES.writeTo(folder);
            try (LanguageModel loaded = LanguageModel.load(CPU, folder)) {
                assertArrayEquals(before, logits(loaded, ids()));
                assertEquals(100, loaded.contextTokens());
                assertTrue(loaded.tokenizer().isStopToken(256));
            }
            LlamaLayers again = LlamaLayers.load(arena, folder);
            assertSame(model, again);
            again.save(folder.resolve("again"));
            try (LanguageModel loaded = LanguageModel.load(CPU, folder.resolve("again"))) {
                assertArrayEquals(before, logits(loaded, ids()));
            }
            assertArrayEquals(train(model, 3), train(again, 3));
            assertSame(model, again);
        }
    }

    private static void assertSame(LlamaLayers expected, LlamaLayers actual) {
        assertEquals(
                expected.layers().parameters().keySet(),
                actual.layers().parameters().keySet());
        expected.layers()
                .parameters()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), actual.layers().parameters().get(name).toArray(), name));
    }

    /**
     * The bound is 1000 roundings of the largest logit: two layers of seven products of at most 48 terms each, with
     * another order for queries and keys.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void layersPartsAndGgufHaveTheSameLogits(boolean tied) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            LlamaLayers model = LlamaLayers.initialize(arena, sizes(tied), 4);
            train(model, 12);
            int[] ids = ids();
            float[] numbers = new float[ids.length];
            for (int i = 0; i < ids.length; i++) {
                numbers[i] = ids[i];
            }
            Tensor all = Tensor.of(new float[ids.length * PIECES.vocabulary()], 1, ids.length, PIECES.vocabulary());
            model.layers().forward(CPU, Tensor.of(numbers, 1, ids.length), all);
            float[] layers = all.select(0, 0).select(0, ids.length - 1L).toArray();
            double largest = 0;
            for (float logit : layers) {
                largest = Math.max(largest, Math.abs(logit));
            }
            assertTrue(largest > 0.5, largest + " at most");
            float bound = (float) (1000 * 0x1p-24 * largest);
            try (LanguageModel parts = parts(arena, model)) {
                assertArrayEquals(layers, logits(parts, ids), bound);
            }
            Path file = folder.resolve("model.gguf");
            model.putTo(PIECES.putTo(new GgufWriter())).write(file);
            try (LanguageModel loaded = LanguageModel.load(CPU, file)) {
                assertArrayEquals(layers, logits(loaded, ids), bound);
            }
        }
    }

    @Test
    void otherFoldersAreRefusedByName() throws IOException {
        LlamaLayers model = LlamaLayers.initialize(Arena.ofAuto(), sizes(true), 5);
        model.save(folder);
        Path config = folder.resolve("config.json");
        String settings = Files.readString(config);
        for (String[] change : new String[][] {
            {"\"llama\"", "\"gemma3\"", "model_type"},
            {"\"silu\"", "\"gelu\"", "hidden_act"},
            {"\"attention_bias\":false", "\"attention_bias\":true", "attention_bias"},
            {"\"num_key_value_heads\":2", "\"num_key_value_heads\":3", "keyValueHeads"},
            {"\"num_hidden_layers\":2", "\"num_hidden_layers\":1", "model.layers.1."},
            {"\"num_hidden_layers\":2", "\"num_hidden_layers\":3", "model.layers.2."},
            {"\"intermediate_size\":40", "\"intermediate_size\":41", "mlp.gate_proj.weight"},
            {"\"tie_word_embeddings\":true", "\"tie_word_embeddings\":false", "lm_head.weight"},
            {
                "\"tie_word_embeddings\":true",
                "\"tie_word_embeddings\":true,\"rope_parameters\":{\"rope_type\":\"default\"},"
                        + "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}",
                "rope_scaling"
            }
        }) {
            assertTrue(settings.contains(change[0]), change[0]);
            Files.writeString(config, settings.replace(change[0], change[1]));
            String message = assertThrows(
                            IllegalArgumentException.class, () -> LlamaLayers.load(Arena.ofAuto(), folder))
                    .getMessage();
            assertTrue(message.contains(change[2]), message);
        }
        Files.writeString(config, settings);
        LlamaLayers loaded = LlamaLayers.load(Arena.ofAuto(), folder);
        assertThrows(IllegalArgumentException.class, () -> loaded.save(folder));
        Map<String, Tensor> more = new LinkedHashMap<>(loaded.weights());
        more.put("model.other.weight", Tensor.of(new float[4], 4));
        Safetensors.write(folder.resolve("model.safetensors"), more, Map.of());
        assertTrue(assertThrows(IllegalArgumentException.class, () -> LlamaLayers.load(Arena.ofAuto(), folder))
                .getMessage()
                .contains("model.other.weight"));
    }

    @Test
    void sizesAreChecked() {
        LlamaLayers.Config config = LlamaLayers.Config.of(300, 32, 1, 4);
        Map<String, Runnable> bad = Map.of(
                "heads: 3; expected a divisor of half of dim 32", () -> LlamaLayers.Config.of(300, 32, 1, 3),
                "layers: 0; expected 1 to 1024", () -> LlamaLayers.Config.of(300, 32, 0, 4),
                "keyValueHeads: 3; expected a divisor of heads 4", () -> config.withKeyValueHeads(3),
                "inner: 0; expected 1 to 16777216", () -> config.withInner(0),
                "context: 0; expected at least 1", () -> config.withContext(0));
        bad.forEach((message, call) -> assertEquals(
                message, assertThrows(IllegalArgumentException.class, call::run).getMessage()));
    }

    @Test
    void windowsForetellTheNextToken() {
        int[] tokens = IntStream.range(0, 50).map(i -> i * 7 % 50).toArray();
        TokenWindows windows = TokenWindows.next(tokens, 200, 7, 3);
        float[] ids = windows.ids().toArray();
        int[] targets = windows.targets();
        Set<Integer> begins = new HashSet<>();
        for (int window = 0; window < 200; window++) {
            int at = 0;
            while (tokens[at] != ids[window * 7]) {
                at++;
            }
            begins.add(at);
            for (int i = 0; i < 7; i++) {
                assertEquals(tokens[at + i], ids[window * 7 + i]);
                assertEquals(tokens[at + i + 1], targets[window * 7 + i]);
            }
        }
        assertTrue(begins.size() > 30, begins.size() + " places");
        assertArrayEquals(ids, TokenWindows.next(tokens, 200, 7, 3).ids().toArray());
        assertEquals(
                "tokens: 7 tokens; expected at least 8",
                assertThrows(IllegalArgumentException.class, () -> TokenWindows.next(new int[7], 1, 7, 1))
                        .getMessage());
        assertArrayEquals(
                new int[] {1, 2},
                TokenWindows.next(new int[] {0, 1, 2}, 1, 2, 5).targets());
    }

    /** Rotary positions have no limit. Without the refusal, a model would learn positions that it never uses. */
    @Test
    void windowsOfMoreTokensThanTheContextAreRefused() throws IOException {
        LlamaLayers.initialize(Arena.ofAuto(), sizes(true), 3).save(folder);
        int[] tokens = PIECES.tokenizer().encode(TEXT);
        try (Arena arena = Arena.ofShared()) {
            LlamaLayers own = LlamaLayers.load(arena, folder);
            LoraLlama packed = LoraLlama.load(arena, folder, LoraAdapter.Config.of(2, "q_proj"), 1);
            for (Sequence model : List.of(own.layers(), packed.layers())) {
                Map<String, Tensor> gradients = Gradients.zeros(arena, model);
                assertTrue(TokenWindows.next(tokens, 2, 100, 1).learn(CPU, model, gradients, 1) > 0);
                Gradients.clear(gradients);
                TokenWindows longer = TokenWindows.next(tokens, 2, 101, 1);
                String message = "ids: shape [2, 101]; expected [batch, tokens] with at most the model's 100 tokens";
                assertRefused(message, () -> longer.learn(CPU, model, gradients, 1));
                assertRefused(message, () -> longer.loss(CPU, model));
                assertEquals(0, Gradients.norm(CPU, gradients));
            }
        }
    }

    private static void assertRefused(String message, Executable call) {
        assertEquals(message, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    /**
     * The counts of shares p among 100000 tokens have a standard deviation of at most 160. Bounds are six standard
     * deviations.
     */
    @Test
    void masksAreThoseOfBert() {
        int[] tokens = new SplittableRandom(1).ints(5000, 1, 1000).toArray();
        TokenWindows.Masking masking = new TokenWindows.Masking(0.15, 0, 1000);
        TokenWindows windows = TokenWindows.masked(tokens, 1000, 100, masking, 3);
        float[] ids = windows.ids().toArray();
        int[] targets = windows.targets();
        int chosen = 0;
        int masked = 0;
        int kept = 0;
        for (int i = 0; i < ids.length; i++) {
            if (targets[i] != -100) {
                chosen++;
                masked += ids[i] == 0 ? 1 : 0;
                kept += ids[i] == targets[i] ? 1 : 0;
            } else {
                assertTrue(ids[i] != 0);
            }
        }
        assertEquals(15_000, chosen, 700);
        assertEquals(12_000, masked, 700);
        assertEquals(1_500, kept, 300);
        assertEquals(
                "share: 0.0; expected above 0 to 1",
                assertThrows(IllegalArgumentException.class, () -> new TokenWindows.Masking(0, 0, 5))
                        .getMessage());
    }
}
