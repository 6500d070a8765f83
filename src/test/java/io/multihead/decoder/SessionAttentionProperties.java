package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.model.SelfAttention;
import io.multihead.reference.ReferenceTransformer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/** The attention weights of the last token that a session returns are compared with the specification. */
class SessionAttentionProperties {
    private static final double U = 0x1p-24;
    /** The number of terms of all sums in a block, one after the other: five products of at most 512 terms, and six norms of 256. */
    private static final int ROUNDINGS = 5 * 512 + 6 * 256;

    private static final int MOST_TOKENS = 40;
    private static final SessionOptions WIDE = SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32);

    private static Path folder;
    private static Compute cpu;
    private static final Map<Kind, LanguageModel> MODELS = new EnumMap<>(Kind.class);
    private static final Map<Kind, ReferenceTransformer> REFERENCES = new EnumMap<>(Kind.class);

    @BeforeContainer
    static void load() throws IOException {
        folder = Files.createTempDirectory("attention");
        cpu = Compute.threads(2);
        for (Kind kind : Kind.values()) {
            FamilyFile file = new FamilyFile(kind, 5);
            Path path = folder.resolve(kind + ".gguf");
            file.write(path);
            MODELS.put(kind, LanguageModel.load(cpu, path));
            REFERENCES.put(kind, file.reference());
        }
    }

    @AfterContainer
    static void free() throws IOException {
        MODELS.values().forEach(LanguageModel::close);
        cpu.close();
        for (Kind kind : Kind.values()) {
            Files.delete(folder.resolve(kind + ".gguf"));
        }
        Files.delete(folder);
    }

    private static int[] attentionLayers(LanguageModel model) {
        var blocks = model.transformer().blocks();
        return IntStream.range(0, blocks.size())
                .filter(layer ->
                        blocks.get(layer).sublayers().stream().anyMatch(each -> each.part() instanceof SelfAttention))
                .toArray();
    }

    private static int[] ids(long seed, int tokens) {
        return new SplittableRandom(seed).ints(tokens, 3, 259).toArray();
    }

    /**
     * Returns models in which no router precedes the first attention, because rounding may change the choices of a router. The fixed text
     * below has no such choice.
     */
    @Provide
    Arbitrary<Kind> kinds() {
        return Arbitraries.of(Arrays.stream(Kind.values())
                .filter(kind -> !kind.hasExperts() || attentionLayers(MODELS.get(kind))[0] == 0)
                .toList());
    }

    @Property(tries = 50)
    void weightsAreThoseOfTheSpecification(
            @ForAll("kinds") Kind kind, @ForAll long seed, @ForAll @IntRange(min = 1, max = MOST_TOKENS) int tokens) {
        int[] layers = attentionLayers(MODELS.get(kind));
        assertClose(kind, ids(seed, tokens), kind.hasExperts() ? Arrays.copyOf(layers, 1) : layers);
    }

    @Example
    void allLayersOfAllFamiliesAreThoseOfTheSpecification() {
        for (Kind kind : Kind.values()) {
            assertClose(kind, ids(1, 30), attentionLayers(MODELS.get(kind)));
        }
    }

    private static void assertClose(Kind kind, int[] ids, int... layers) {
        ReferenceTransformer reference = REFERENCES.get(kind);
        double size = Arrays.stream(reference.states(ids)).map(Math::abs).max().orElseThrow();
        int tokens = ids.length;
        try (Sessions sessions = MODELS.get(kind).sessions(WIDE);
                Session session = sessions.open().append(ids)) {
            float[][][] weights = session.attention(layers);
            assertEquals(layers.length, weights.length);
            for (int i = 0; i < layers.length; i++) {
                double[] expected = reference.weights(layers[i], ids);
                // a score has the rounding errors of the sums before it, and a weight is a quotient of two exponentials
                double score = (layers[i] + 1) * ROUNDINGS * U * Math.max(size, 1);
                double relative = Math.expm1(2 * score);
                int keys = expected.length / FamilyFile.HEADS / tokens;
                assertEquals(FamilyFile.HEADS, weights[i].length);
                for (int head = 0; head < FamilyFile.HEADS; head++) {
                    assertEquals(tokens, weights[i][head].length);
                    for (int key = 0; key < tokens; key++) {
                        double of = expected[(head * tokens + tokens - 1) * keys + key];
                        String place = kind + ", layer " + layers[i] + ", head " + head + ", key " + key;
                        assertEquals(of, weights[i][head][key], of * relative + Float.MIN_NORMAL, place);
                    }
                }
            }
        }
    }

    /** With a window of four tokens and with sinks, a key that a layer does not see has weight 0, and the sum of weights is less than 1. */
    @Example
    void windowsAndSinksAreSeen() {
        try (Sessions sessions = MODELS.get(Kind.GPT_OSS).sessions(WIDE);
                Session session = sessions.open().append(ids(1, 20))) {
            float[] row = session.attention(0)[0][1];
            double sum = 0;
            for (int key = 0; key < row.length; key++) {
                assertEquals(key >= row.length - FamilyFile.WINDOW, row[key] > 0, "key " + key);
                sum += row[key];
            }
            assertTrue(sum < 1 - 1e-3, "sum " + sum);
        }
    }

    /** Requests for weights change neither the text of their session, nor the texts of simultaneous sessions, nor later weights. */
    @Property(tries = 10)
    void askingChangesNoBit(@ForAll Kind kind, @ForAll long seed) {
        int[] ids = ids(seed, 7);
        GenerationOptions options = GenerationOptions.DEFAULT
                .withMaxTokens(6)
                .withSampling(Sampling.of(1, seed))
                .withLogProbabilities(true);
        int[] layers = attentionLayers(MODELS.get(kind));
        try (Sessions sessions = MODELS.get(kind).sessions(SessionOptions.DEFAULT.withSessions(3))) {
            GeneratedText plain;
            float[][][] last;
            try (Session session = sessions.open().append(ids)) {
                plain = session.generate(options);
                last = session.attention(layers);
            }
            try (Session asked = sessions.open().append(ids);
                    Session other = sessions.open().append(ids)) {
                CompletableFuture<GeneratedText> otherText =
                        CompletableFuture.supplyAsync(() -> other.generate(options));
                asked.attention(layers);
                GeneratedText text = asked.generate(options, token -> {
                    asked.attention(layers);
                    return true;
                });
                assertEquals(plain, text, kind.toString());
                assertEquals(plain, otherText.join(), kind.toString());
                assertTrue(Arrays.deepEquals(last, asked.attention(layers)), kind.toString());
                assertTrue(Arrays.deepEquals(last, other.attention(layers)), kind.toString());
            }
        }
    }

    @Example
    void tokensThatSlidAwayHaveNone() {
        int context = 10;
        GenerationOptions options = GenerationOptions.DEFAULT.withMaxTokens(12).withWhenFull(WhenFull.SLIDE);
        try (Sessions sessions = MODELS.get(Kind.LLAMA).sessions(WIDE.withContextTokens(context));
                Session session = sessions.open().append(ids(3, 8))) {
            GeneratedText text = session.generate(options);
            assertEquals(12, text.tokens().size(), text.toString());
            for (float[] row : session.attention(2)[0]) {
                assertEquals(session.length(), row.length);
                for (int key = 0; key < row.length; key++) {
                    assertEquals(key >= session.length() - context, row[key] > 0, "key " + key);
                }
            }
        }
    }

    /** The last layers of Gemma 4 read the keys of earlier layers, and have weights, too. */
    @Example
    void layersThatShareKeysHaveWeights() throws IOException {
        Path path = folder.resolve("gemma4.gguf");
        FamilyModel.write(Gemma4File.NAME, path);
        try (LanguageModel model = LanguageModel.load(cpu, path);
                Sessions sessions = model.sessions(WIDE);
                Session session = sessions.open().append(ids(4, 30))) {
            int[] layers = attentionLayers(model);
            assertEquals(Gemma4File.LAYERS, layers.length);
            for (float[][] layer : session.attention(layers)) {
                for (float[] row : layer) {
                    double sum = 0;
                    for (float weight : row) {
                        sum += weight;
                    }
                    assertEquals(1, sum, 32 * 2 * U);
                }
            }
        } finally {
            Files.delete(path);
        }
    }

    @Example
    void layersWithoutAttentionAreNamed() {
        try (Sessions sessions = MODELS.get(Kind.QWEN_3_5).sessions(WIDE);
                Session session = sessions.open()) {
            String empty = assertThrows(IllegalStateException.class, () -> session.attention(3))
                    .getMessage();
            assertEquals("session: no tokens; expected a prompt", empty);
            session.append(ids(5, 3));
            assertEquals("layers: 1, which has no softmax attention; expected some of [3]", fails(session, 3, 1));
            assertEquals("layers[0]: 5; expected 0 to 4", fails(session, 5));
            assertEquals("layers: [3, 3]; expected at least one, none repeated", fails(session, 3, 3));
            assertArrayEquals(session.attention(3)[0][0], session.attention(3)[0][0]);
        }
    }

    private static String fails(Session session, int... layers) {
        return assertThrows(IllegalArgumentException.class, () -> session.attention(layers))
                .getMessage();
    }
}
