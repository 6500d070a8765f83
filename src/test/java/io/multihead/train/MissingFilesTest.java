package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.encoder.TinyMasked;
import io.multihead.encoder.TinyModel;
import io.multihead.encoder.TinyReranker;
import io.multihead.format.Gguf;
import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.load.ModelFolder;
import io.multihead.text.BytePairs;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The error of each reader of a model's folder names the missing file, and ends with a command that downloads the
 * folder.
 */
class MissingFilesTest {
    private static final BytePairs PIECES = BytePairs.learn("the fox and the crow ".repeat(20), 270);
    private static final LoraAdapter.Config ADAPTER = LoraAdapter.Config.of(2, "q_proj");
    private static final Set<String> WEIGHTS = Set.of("model.safetensors");

    @TempDir
    Path folder;

    private interface Writer {
        Path write(Path folder) throws IOException;
    }

    private interface Reader {
        Object read(Arena arena, Path folder) throws IOException;
    }

    private enum Kind {
        LLAMA(MissingFilesTest::llama, LlamaLayers::load, Set.of("config.json", "model.safetensors")),
        LORA_LLAMA(
                MissingFilesTest::llama,
                (arena, folder) -> LoraLlama.load(arena, folder, ADAPTER, 1),
                Set.of("config.json", "model.safetensors")),
        ADAPTERS(
                MissingFilesTest::adapter,
                (arena, folder) -> LoraAdapter.load(arena, model().weights(), folder, null),
                Set.of("adapter_config.json", "adapter_model.safetensors")),
        BERT(TinyModel::write, BertLayers::load, Set.of("config.json", "model.safetensors", "vocab.txt")),
        CROSS_ENCODER(
                folder -> new TinyReranker(3, 1).write(folder),
                (arena, folder) -> BertCrossEncoder.load(arena, folder, 1),
                Set.of("config.json", "model.safetensors", "vocab.txt")),
        MASKED(
                folder -> new TinyMasked(1, true).writePlain(folder),
                BertMaskedModel::load,
                Set.of("config.json", "model.safetensors", "vocab.txt")),
        TOKENIZER(MissingFilesTest::llama, (arena, folder) -> Tokenizers.load(folder), Set.of("tokenizer.json")),
        ENCODER_TOKENIZER(TinyModel::write, (arena, folder) -> Tokenizers.loadEncoder(folder), Set.of("vocab.txt")),
        WEIGHTS_ALONE(TinyModel::write, SafetensorsFolder::map, WEIGHTS);

        private final Writer writer;
        private final Reader reader;
        private final Set<String> needed;

        Kind(Writer writer, Reader reader, Set<String> needed) {
            this.writer = writer;
            this.reader = reader;
            this.needed = needed;
        }

        Object read(Path folder) throws IOException {
            return reader.read(Arena.ofAuto(), folder);
        }

        String missing(Path folder) {
            return assertThrows(NoSuchFileException.class, () -> read(folder)).getMessage();
        }
    }

    private static LlamaLayers model() {
        LlamaLayers.Config sizes =
                LlamaLayers.Config.of(PIECES.vocabulary(), 32, 2, 4).withKeyValueHeads(2);
        return LlamaLayers.initialize(Arena.ofAuto(), sizes, 1);
    }

    private static Path llama(Path folder) throws IOException {
        model().save(folder);
        PIECES.writeTo(folder);
        return folder;
    }

    private static Path adapter(Path folder) throws IOException {
        LoraAdapter.initialize(Arena.ofAuto(), model().weights(), ADAPTER, 3).save(folder);
        return folder;
    }

    private static void assertEndsWithOneCommand(Path folder, String message) {
        String command = "; get one by: hf download OWNER/NAME --local-dir " + folder;
        assertTrue(message.endsWith(command), message);
        assertEquals(message.length() - command.length(), message.indexOf("; get one by: "), message);
    }

    @ParameterizedTest
    @EnumSource
    void theMessageEndsWithTheCommand(Kind kind) throws IOException {
        Path none = folder.resolve("none");
        assertEndsWithOneCommand(none, kind.missing(none));
        Path all = kind.writer.write(folder.resolve("all"));
        int needed = 0;
        for (Path file : ModelFolder.files(all)) {
            String name = all.relativize(file).toString();
            byte[] bytes = Files.readAllBytes(file);
            Files.delete(file);
            if (kind.needed.contains(name)) {
                needed++;
                String message = kind.missing(all);
                assertTrue(message.contains(name), message);
                assertEndsWithOneCommand(all, message);
            }
            Files.write(file, bytes);
        }
        assertEquals(kind.needed.size(), needed);
        kind.read(all);
    }

    @Test
    void aGgufFileIsInTheCommand() {
        Path file = folder.resolve("model.gguf");
        String message = assertThrows(NoSuchFileException.class, () -> Gguf.map(Arena.ofAuto(), file))
                .getMessage();
        assertTrue(message.startsWith(file + ": nothing there, in "), message);
        assertTrue(message.endsWith("; get one by: hf download OWNER/NAME model.gguf --local-dir " + folder), message);
    }
}
