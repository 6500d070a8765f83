package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.internal.encoder.layer.DenseFunction;
import io.multihead.internal.encoder.layer.DenseLayer;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.DenseRun;
import io.multihead.internal.load.Loading;
import io.multihead.model.Pooling;
import io.multihead.support.WarmCalls;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Dense modules after pooling, and truncated vectors, with the tiny model. */
@Tag("lanes")
class DenseLayersTest extends TinyModelFolder {
    private static final int DIM = TinyModel.DIM;
    private static final TinyDense PLAIN = dense(1, "2_Dense", DIM, 10, true, DenseFunction.TANH, false);

    /** Results of the encoder in double before dense layers. Tests have different dense layers and share these results. */
    private static final Map<String, double[]> POOLED = new ConcurrentHashMap<>();

    private List<String> texts;

    @BeforeEach
    void makeTexts() {
        texts = new ArrayList<>(TinyReranker.texts(new SplittableRandom(1), 60, 12));
        texts.addAll(List.of("", "abc", "abc"));
    }

    private static TinyDense dense(
            long seed, String name, int inputs, int outputs, boolean bias, DenseFunction function, boolean residual) {
        return TinyDense.of(seed, name, new DenseLayer.Config(inputs, outputs, bias, function, residual));
    }

    @ParameterizedTest
    @EnumSource(DenseFunction.class)
    void everyFunctionIsThatOfTheReference(DenseFunction function) throws IOException {
        for (boolean bias : new boolean[] {true, false}) {
            for (boolean residual : new boolean[] {true, false}) {
                requireReference(List.of(dense(2, "2_Dense", DIM, 10, bias, function, residual)), true);
                requireReference(List.of(dense(3, "2_Dense", DIM, DIM, bias, function, residual)), false);
            }
        }
    }

    /** Wider and narrower layers follow each other, with and without a Normalize module. */
    @Test
    void severalLayersFollowEachOther() throws IOException {
        List<TinyDense> layers = List.of(
                dense(4, "2_Dense", DIM, 70, true, DenseFunction.GELU, false),
                dense(5, "3_Dense", 70, 33, false, DenseFunction.IDENTITY, true),
                dense(6, "4_Dense", 33, 5, true, DenseFunction.TANH, false));
        requireReference(layers, false);
        requireReference(layers, true);
    }

    private void requireReference(List<TinyDense> layers, boolean normalized) throws IOException {
        TinyDense.write(folder, layers, DType.F32, normalized);
        try (SentenceEncoder encoder = load()) {
            float[][] actual = encoder.embed(texts);
            assertEquals(layers.getLast().config().outputs(), encoder.dimension());
            for (int i = 0; i < actual.length; i++) {
                TinyDense.Bounded expected = expected(encoder, texts.get(i), layers);
                assertNear(normalized ? expected.normalized() : expected, actual[i], texts.get(i));
            }
        }
    }

    private static TinyDense.Bounded expected(SentenceEncoder encoder, String text, List<TinyDense> layers) {
        double[] pooled = POOLED.computeIfAbsent(text, key -> new ReferenceEncoder(TinyModel.weights(1))
                .embed(encoder.tokenizer().encodeWithSpecialTokens(key, encoder.maxTokens()), Pooling.MEAN, false));
        double largest = Math.max(1, Arrays.stream(pooled).map(Math::abs).max().orElseThrow());
        TinyDense.Bounded vector = new TinyDense.Bounded(pooled, SentenceEncoderTest.TOLERANCE * largest);
        for (TinyDense layer : layers) {
            vector = layer.forward(vector);
        }
        return vector;
    }

    private static void assertNear(TinyDense.Bounded expected, float[] actual, String text) {
        assertEquals(expected.vector().length, actual.length);
        for (int i = 0; i < actual.length; i++) {
            assertEquals(expected.vector()[i], actual[i], expected.error(), "\"" + text + "\", element " + i);
        }
    }

    @Test
    void bitsDoNotDependOnBatchOrThreads() throws IOException {
        TinyDense.write(folder, List.of(PLAIN), DType.F32, true);
        try (Compute threads = Compute.threads(3);
                SentenceEncoder threaded = SentenceEncoder.load(threads, folder);
                SentenceEncoder encoder = load()) {
            for (LongTexts way : new LongTexts[] {LongTexts.TRUNCATE, LongTexts.SPLIT_AND_AVERAGE}) {
                SentenceEncoder view = encoder.withLongTexts(way).withMaxTokens(6);
                float[][] all = view.embed(texts);
                assertArrayEquals(
                        all, threaded.withLongTexts(way).withMaxTokens(6).embed(texts));
                for (int i = 0; i < all.length; i++) {
                    assertArrayEquals(all[i], view.embed(texts.get(i)));
                }
                List<float[]> iterated = new ArrayList<>();
                view.embed(texts.iterator()).forEachRemaining(one -> iterated.add(one.vector()));
                assertArrayEquals(all, iterated.toArray(float[][]::new));
            }
        }
    }

    /** Weights in 16 bits give the same vectors as these rounded weights in f32. */
    @ParameterizedTest
    @EnumSource(
            value = DType.class,
            names = {"F16", "BF16"})
    void weightsMayBeNarrow(DType dtype) throws IOException {
        TinyDense residual = dense(7, "2_Dense", DIM, 10, true, DenseFunction.RELU, true);
        residual.write(folder, dtype);
        TinyDense.write(folder, List.of(residual), dtype, true);
        float[] narrow = embed("abc");
        Map<String, Tensor> wide = new LinkedHashMap<>();
        try (Arena arena = Arena.ofConfined()) {
            residual.weights().forEach((name, weight) -> {
                wide.put(name, weight.copy(arena, dtype).copy(arena, DType.F32));
            });
            TinyDense.write(folder, List.of(new TinyDense("2_Dense", residual.config(), wide)), DType.F32, true);
        }
        assertArrayEquals(narrow, embed("abc"));
    }

    /** The Normalize module of a folder precedes truncation, as in the reference, so that a truncated vector is shorter than 1. */
    @Test
    void vectorsAreCutAfterTheyAreNormalized() throws IOException {
        Path settings = folder.resolve("config_sentence_transformers.json");
        float[] whole = embed("abc de");
        Files.writeString(settings, "{\"truncate_dim\": 8}");
        try (SentenceEncoder encoder = load()) {
            assertEquals(8, encoder.dimension());
            float[] cut = encoder.embed("abc de");
            assertArrayEquals(Arrays.copyOf(whole, 8), cut);
            float[] unit = encoder.withNormalization(true).embed("abc de");
            double norm = norm(cut);
            assertTrue(norm < 0.95, "cut: " + norm);
            for (int i = 0; i < unit.length; i++) {
                // both are rounded once from the same doubles, and the length of the rounded vector has an error of the
                // same size
                assertEquals(cut[i] / norm, unit[i], 3 * 0x1p-24);
            }
            assertArrayEquals(
                    Arrays.copyOf(
                            encoder.withDimension(21).withNormalization(false).embed("abc de"), 8),
                    encoder.withNormalization(false).embed("abc de"));
            assertArrayEquals(whole, encoder.withDimension(21).embed("abc de"));
            assertArrayEquals(unit, encoder.withDimension(8).embed("abc de"));
            assertEquals(1, Math.abs(encoder.withDimension(1).embed("abc de")[0]));
            for (int wrong : new int[] {0, -1, 22, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                assertEquals(
                        "dimension: " + wrong + "; expected 1 to the model's 21",
                        assertThrows(IllegalArgumentException.class, () -> encoder.withDimension(wrong))
                                .getMessage());
            }
        }
        Files.writeString(settings, "{\"truncate_dim\": 22}"); // no effect, as in the reference
        assertArrayEquals(whole, embed("abc de"));
    }

    private static double norm(float[] vector) {
        double squares = 0;
        for (float x : vector) {
            squares += (double) x * x;
        }
        return Math.sqrt(squares);
    }

    @Test
    void aPackedFileHasAllOfIt() throws IOException {
        List<TinyDense> layers = List.of(
                dense(8, "2_Dense", DIM, 40, false, DenseFunction.SIGMOID, true),
                dense(9, "3_Dense", 40, 40, true, DenseFunction.SILU, true));
        TinyDense.write(folder, layers, DType.F32, true);
        Path file = folder.resolve("packed");
        try (SentenceEncoder encoder = load()) {
            for (SentenceEncoder view : List.of(
                    encoder, encoder.withDimension(7), encoder.withDimension(7).withNormalization(true))) {
                view.write(file);
                byte[] written = Files.readAllBytes(file);
                try (SentenceEncoder mapped = SentenceEncoder.map(Compute.serial(), file)) {
                    assertEquals(view.dimension(), mapped.dimension());
                    assertArrayEquals(view.embed(texts), mapped.embed(texts));
                    assertArrayEquals(
                            encoder.embed("abc"),
                            mapped.withDimension(40).withNormalization(true).embed("abc"),
                            1e-6f);
                    long panels = 2 * 21 * 64 + 40 * 64; // columns are padded to a multiple of 32
                    assertEquals(encoder.mappedBytes() + 4 * (panels + modelPanels()), mapped.mappedBytes());
                    assertEquals(4 * (panels + modelPanels()), encoder.ownBytes() - mapped.ownBytes());
                    mapped.write(file);
                }
                assertArrayEquals(written, Files.readAllBytes(file));
            }
        }
    }

    private static long modelPanels() {
        return 2 * (21 * 64 + 21 * 32 + 21 * 64 + 37 * 32);
    }

    @Test
    void settingsThatAreNotNamedHaveTheDefaults() throws IOException {
        TinyDense.write(folder, List.of(PLAIN), DType.F32, true);
        float[] expected = embed("abc");
        Path config = folder.resolve("2_Dense/config.json");
        for (String more : List.of(
                "",
                ", \"activation_function\": \"torch.nn.Tanh\"",
                ", \"module_input_name\": \"sentence_embedding\", \"module_output_name\": null, \"bias\": true")) {
            Files.writeString(config, "{\"in_features\": 21, \"out_features\": 10" + more + "}");
            assertArrayEquals(expected, embed("abc"));
        }
    }

    @Test
    void warmCallsAllocateNothing() throws IOException {
        List<TinyDense> layers = List.of(
                dense(8, "2_Dense", DIM, 40, false, DenseFunction.SIGMOID, true),
                dense(9, "3_Dense", 40, 40, true, DenseFunction.SILU, true));
        TinyDense.write(folder, layers, DType.F32, true);
        List<Path> folders = List.of(folder.resolve("2_Dense"), folder.resolve("3_Dense"));
        DenseRun run = new DenseRun(DenseLayers.load(Loading.of(Compute.serial()), folders, DIM));
        Arrays.fill(run.input(7), 0.5f);
        try (Compute cpu = Compute.serial()) {
            assertEquals(0, WarmCalls.allocatedBytes(() -> {
                run.input(7);
                run.forward(cpu, 7);
                run.forward(cpu, 3);
            }));
        }
    }

    /** A part of the configuration of the module, its replacement, and the message. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "in_features\":21 | in_features\":22 | in_features: 22; expected the 21 of a vector",
                "out_features\":10 | out_features\":0 | config.out_features: 0; expected an integer from 1",
                "out_features\":10 | out_features\":16777216 | tensor \"linear.weight\": F32 [10, 21]; expected floating numbers of shape [16777216, 21]",
                "torch.nn.modules.activation.Tanh | torch.nn.modules.activation.Softplus | config.activation_function: torch.nn.modules.activation.Softplus; expected one of [torch.nn.modules.linear.Identity, ",
                "torch.nn.modules.activation.Tanh | mine.Tanh | config.activation_function: mine.Tanh; expected one of",
                "\"bias\":true | \"bias\":false | tensors: 1 of no use, such as linear.bias; expected none",
                "\"bias\":true | \"bias\":1 | config.bias: 1; expected true or false",
                "use_residual\":false | use_residual\":true | tensor \"residual.weight\": not in the file",
                "\"bias\" | \"module_input_name\": \"token_embeddings\", \"bias\" | module_input_name: token_embeddings; expected sentence_embedding",
                "\"bias\" | \"module_output_name\": \"other\", \"bias\" | module_output_name: other; expected sentence_embedding",
            })
    void whatIsNotImplementedIsNamed(String part, String instead, String message) throws IOException {
        TinyDense.write(folder, List.of(PLAIN), DType.F32, true);
        Path config = folder.resolve("2_Dense/config.json");
        String before = Files.readString(config);
        assertTrue(before.contains(part), before);
        Files.writeString(config, before.replace(part, instead));
        assertFails(message);
    }

    @Test
    void modulesInAnotherOrderAreNamed() throws IOException {
        TinyDense.write(folder, List.of(PLAIN), DType.F32, true);
        Path modules = folder.resolve("modules.json");
        String before = Files.readString(modules);
        Files.writeString(modules, before.replace("Normalize\"", "Pooling\""));
        assertFails(
                "modules.type: sentence_transformers.models.Pooling; expected a Transformer, a Pooling, optional Dense and Normalize modules");
        Files.writeString(
                modules,
                before.replace("Dense\"", "x\"")
                        .replace("Normalize\"", "Dense\"")
                        .replace("x\"", "Normalize\""));
        assertFails(
                "modules.type: sentence_transformers.models.Dense; expected a Transformer, a Pooling, optional Dense and Normalize modules");
        Files.writeString(modules, before);
        Files.delete(folder.resolve("2_Dense/model.safetensors"));
        assertThrows(NoSuchFileException.class, this::load);
    }

    private void assertFails(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::load);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(folder.toString()), wrong.getMessage());
    }
}
