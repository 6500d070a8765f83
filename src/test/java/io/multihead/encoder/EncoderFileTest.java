package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.internal.gemm.PackedMatrix;
import io.multihead.model.Pooling;
import io.multihead.model.TokenBatch;
import io.multihead.model.Transformer;
import io.multihead.support.Patience;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** An encoder mapped from a packed file has the same results as the encoder that wrote the file, and other files are refused. */
class EncoderFileTest {
    private static final List<String> TEXTS =
            List.of("", "abc de", "query: a b c d e f g h i j k l m n o p", "[MASK] z");

    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void write() throws IOException {
        file = folder.resolve("packed");
        Path model = TinyModel.write(folder.resolve("model"));
        Files.writeString(
                model.resolve("config_sentence_transformers.json"),
                "{\"prompts\": {\"query\": \"query: \", \"document\": \"\\\"d\\\"\\n\"}, \"default_prompt_name\": \"query\"}");
        try (SentenceEncoder encoder = load()) {
            encoder.write(file);
        }
    }

    private SentenceEncoder load() throws IOException {
        return SentenceEncoder.load(Compute.serial(), folder.resolve("model"));
    }

    private SentenceEncoder map() throws IOException {
        return SentenceEncoder.map(Compute.serial(), file);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void theBitsAreTheSame(int threads) throws IOException {
        try (Compute cpu = Compute.threads(threads);
                SentenceEncoder encoder = load();
                SentenceEncoder mapped = SentenceEncoder.map(cpu, file)) {
            assertArrayEquals(encoder.embed(TEXTS), mapped.embed(TEXTS));
            assertArrayEquals(
                    encoder.forDocuments().embed(TEXTS), mapped.forDocuments().embed(TEXTS));
            assertEquals(encoder.prompts(), mapped.prompts());
        }
    }

    @ParameterizedTest
    @EnumSource(LongTexts.class)
    void theOptionsAreTheSame(LongTexts longTexts) throws IOException {
        for (Pooling pooling : Pooling.values()) {
            for (boolean normalized : new boolean[] {false, true}) {
                try (SentenceEncoder encoder = load()) {
                    SentenceEncoder changed = encoder.withPooling(pooling)
                            .withNormalization(normalized)
                            .withMaxTokens(longTexts == LongTexts.FAIL ? 24 : 5)
                            .withLongTexts(longTexts)
                            .withPrompt("a ");
                    changed.write(file);
                    try (SentenceEncoder mapped = map()) {
                        assertArrayEquals(changed.embed(TEXTS), mapped.embed(TEXTS));
                    }
                }
            }
        }
    }

    @Test
    void weightsMayBeNarrow() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            Map<String, Tensor> narrow = TinyModel.weights(1);
            narrow.replaceAll((name, tensor) -> tensor.copy(arena, DType.BF16));
            TinyModel.write(folder.resolve("model"), narrow);
        }
        try (SentenceEncoder encoder = load()) {
            encoder.write(file);
            try (SentenceEncoder mapped = map()) {
                assertArrayEquals(encoder.embed(TEXTS), mapped.embed(TEXTS));
            }
        }
    }

    /** The file contains all settings of the encoder. */
    @Test
    void aMappedEncoderIsWrittenWithTheSameBytes() throws IOException {
        byte[] before = Files.readAllBytes(file);
        try (SentenceEncoder mapped = map()) {
            mapped.write(file);
        }
        assertArrayEquals(before, Files.readAllBytes(file));
    }

    /** Only biases and normalizations are copied. */
    @Test
    void memoryIsCounted() throws IOException {
        try (SentenceEncoder mapped = map()) {
            long tables = (60 + TinyModel.POSITIONS + 2) * TinyModel.DIM;
            long panels = 2 * (21 * 64 + 21 * 32 + 21 * 64 + 37 * 32);
            assertEquals(4 * (tables + panels), mapped.mappedBytes());
            assertEquals(4 * (2 * (63 + 21 + 37 + 21) + 10 * 21), mapped.ownBytes());
        }
    }

    @Test
    void closingUnmaps() throws IOException {
        SentenceEncoder mapped = map();
        Transformer parts = mapped.transformer();
        mapped.close();
        mapped.close();
        assertThrows(IllegalStateException.class, () -> mapped.embed("a"));
        TokenBatch batch = TokenBatch.of(1);
        batch.begin();
        batch.add(1);
        assertThrows(IllegalStateException.class, () -> parts.forward(Compute.serial(), batch, parts.buffers(1)));
        Path other = folder.resolve("other");
        assertThrows(IllegalStateException.class, () -> mapped.write(other));
        assertTrue(Files.notExists(other));
    }

    /** A call that runs while the weights are unmapped has the same error as a later call. A new mapping is not affected. */
    @Test
    void closingEndsCallsThatRun() throws Exception {
        float[] expected;
        try (SentenceEncoder mapped = map()) {
            expected = mapped.embed("abc");
        }
        for (int i = 0; i < 20; i++) {
            SentenceEncoder mapped = map();
            CountDownLatch started = new CountDownLatch(1);
            FutureTask<IllegalStateException> calls = inThread(() -> {
                while (true) {
                    assertArrayEquals(expected, mapped.embed("abc"));
                    started.countDown();
                }
            });
            assertTrue(started.await(Patience.HANG_SECONDS, TimeUnit.SECONDS));
            mapped.close();
            calls.get(Patience.HANG_SECONDS, TimeUnit.SECONDS);
        }
    }

    /** A thread that writes mapped memory to a file must not prevent closing. The model is large enough to be closed during the write. */
    @Test
    void closingEndsWriting() throws Exception {
        MiniLm.load(Compute.serial()).write(file);
        SentenceEncoder mapped = map();
        Path copy = folder.resolve("copy");
        FutureTask<IllegalStateException> call = inThread(() -> mapped.write(copy));
        while (!call.isDone() && temporaryBytes() == 0) {
            Thread.onSpinWait();
        }
        mapped.close();
        call.get(Patience.HANG_SECONDS, TimeUnit.SECONDS);
        assertTrue(Files.notExists(copy));
        assertEquals(0, temporaryBytes());
    }

    private static FutureTask<IllegalStateException> inThread(Executable calls) {
        FutureTask<IllegalStateException> task =
                new FutureTask<>(() -> assertThrows(IllegalStateException.class, calls));
        new Thread(task).start();
        return task;
    }

    private long temporaryBytes() {
        return Arrays.stream(Objects.requireNonNull(folder.toFile().listFiles((dir, name) -> name.endsWith(".tmp"))))
                .mapToLong(File::length)
                .sum();
    }

    /** The file is replaced instead of changed, so the old file remains mapped. */
    @Test
    void aMappedFileMayBeWrittenAgain() throws IOException {
        try (SentenceEncoder mapped = map()) {
            float[][] before = mapped.embed(TEXTS);
            Path other = TinyModel.write(folder.resolve("other"), TinyModel.weights(2));
            try (SentenceEncoder encoder = SentenceEncoder.load(Compute.serial(), other)) {
                encoder.write(file);
            }
            assertArrayEquals(before, mapped.embed(TEXTS));
        }
    }

    @Test
    void whatCouldNotBeReadAgainIsNotWritten() throws IOException {
        Path other = folder.resolve("other");
        try (SentenceEncoder encoder = load()) {
            SentenceEncoder unpaired = encoder.withPrompt("\ud83d");
            assertThrows(IllegalArgumentException.class, () -> unpaired.write(other));
        }
        assertTrue(Files.notExists(other));
    }

    @Test
    void aMissingFileIsNamed() {
        Path none = folder.resolve("none");
        NoSuchFileException missing =
                assertThrows(NoSuchFileException.class, () -> SentenceEncoder.map(Compute.serial(), none));
        assertTrue(missing.getMessage().startsWith(none + ": nothing there, in "), missing.getMessage());
    }

    @Test
    void aCheckpointIsNoPackedFile() {
        file = folder.resolve("model/model.safetensors");
        assertRefused("format: pt; expected multihead sentence encoder 2");
    }

    /** A key in the metadata, a part of its value, the replacement, and the message. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "format | 2 | 1 | format: multihead sentence encoder 1; expected multihead sentence encoder 2",
                "panels | 512 | 256 | panels: f32 panels of 32 columns, depth blocks of 256 rows; expected f32 panels of 32",
                "config | { | [ | config: malformed at character 0; expected '{'",
                "config | gelu | relu | config.hidden_act: relu; expected gelu",
                "config | \"hidden_size\":21 | \"hidden_size\":24 | F32 [60, 21]; expected floating numbers of shape [60, 24]",
                "config | \"intermediate_size\":37 | \"intermediate_size\":70 | panels\": panels: F32 [1344]; expected dense F32 [2016] for 21 inputs and 70 outputs",
                "config | layers\":2 | layers\":3 | tensor \"encoder.layer.2.attention.self.query.weight\": not in the file",
                "config | layers\":2 | layers\":1 | tensors: 12 of no use, such as encoder.layer.1.attention.output.LayerNorm.bias, ",
                "options | MEAN | SUM | options.pooling: SUM; expected one of [MEAN, CLS, MAX,",
                "options | \"MEAN\" | null | options.pooling: null; expected one of [MEAN, CLS, MAX,",
                "options | TRUNCATE | CUT | options.long_texts: CUT; expected one of [TRUNCATE, SPLIT_AND_AVERAGE, FAIL]",
                "options | max_tokens\":12 | max_tokens\":25 | options.max_tokens: 25; expected an integer from 3 to 24",
                "options | [\"MEAN\"] | [] | options.pooling: []; expected of [MEAN, CLS, MAX,",
                "options | \"includes_prompt\":true, | | options.includes_prompt: null; expected true or false",
                "options | WHOLE | HALF | options.normalization: HALF; expected one of [NONE, WHOLE, CUT]",
                "options | \"dimension\":2147483647 | \"dimension\":0 | options.dimension: 0; expected an integer from 1",
                "options | \"dense\":[] | \"dense\":[1] | options.dense: 1; expected an object",
                "options | \"dense\":[] | \"dense\":{} | options.dense: {}; expected an array",
                "options | prompt\":\"query: \" | prompt\":1 | options.prompt: 1; expected a string",
                "options | \"query\":\"query: \" | \"query\":1 | options.prompts.query: 1; expected a string",
            })
    void whatIsNotAsWrittenIsNamed(String key, String part, String instead, String message) throws IOException {
        rewrite((tensors, metadata) -> {
            String before = metadata.get(key);
            metadata.put(key, before.replace(part, instead == null ? "" : instead));
            assertTrue(!metadata.get(key).equals(before), "nothing was replaced in " + before);
        });
        assertRefused(message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"format", "panels", "config", "options"})
    void missingMetadataIsNamed(String key) throws IOException {
        rewrite((tensors, metadata) -> metadata.remove(key));
        assertRefused(key + ": ");
    }

    @Test
    void everyTensorIsUsedOrNamed() throws IOException {
        rewrite((tensors, metadata) -> tensors.put("more", Tensor.of(new float[1])));
        assertRefused("tensors: 1 of no use, such as more; expected none");
        rewrite((tensors, metadata) -> tensors.remove("tokenizer.json"));
        assertRefused("tensor \"tokenizer.json\": not in the file");
        rewrite((tensors, metadata) -> tensors.put("tokenizer.json", Tensor.of(new float[1])));
        assertRefused("tokenizer.json: F32 [1]; expected bytes");
    }

    /** Panels must begin at cache lines, because products read whole lines. */
    @Test
    void panelsThatBeginBetweenCacheLinesAreRefused() throws IOException {
        String panels = "encoder.layer.0.attention.projections.panels";
        rewrite((tensors, metadata) -> {
            Tensor moved = tensors.remove(panels);
            tensors.put(panels, moved);
        });
        assertRefused(panels + "\": panels: ");
        assertRefused("expected native memory aligned to 64 bytes");
    }

    @Test
    void panelsOfAnotherTypeAreRefused() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            rewrite((tensors, metadata) -> tensors.computeIfPresent(
                    "encoder.layer.1.output.dense.panels", (name, f32) -> f32.copy(arena, DType.F16)));
        }
        assertRefused(
                "encoder.layer.1.output.dense.panels\": panels: F16 [1184]; expected dense F32 [1184] for 37 inputs");
    }

    private void rewrite(BiConsumer<Map<String, Tensor>, Map<String, String>> change) throws IOException {
        try (SentenceEncoder encoder = load()) {
            encoder.write(file);
        }
        try (Arena arena = Arena.ofConfined()) {
            Safetensors read = Safetensors.map(arena, file);
            Map<String, Tensor> tensors = new LinkedHashMap<>();
            read.names().forEach(name -> tensors.put(name, read.get(name)));
            Map<String, String> metadata = new LinkedHashMap<>(read.metadata());
            assertEquals(PackedMatrix.layout(), metadata.get("panels"));
            change.accept(tensors, metadata);
            Safetensors.write(file, tensors, metadata);
        }
    }

    private void assertRefused(String message) {
        IllegalArgumentException wrong = assertThrows(IllegalArgumentException.class, this::map);
        assertTrue(wrong.getMessage().contains(message), wrong.getMessage());
        assertTrue(wrong.getMessage().startsWith(file.toString()), wrong.getMessage());
    }
}
