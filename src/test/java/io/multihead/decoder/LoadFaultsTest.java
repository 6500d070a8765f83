package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every error in a model file or folder names the file and the fault. */
class LoadFaultsTest {
    /** Contents of the small files of a folder. */
    private static final Map<String, String> SMALL = Map.of(
            "generation_config.json", "{\"eos_token_id\": [2, 7], \"temperature\": 0.5}",
            "tokenizer_config.json",
                    "{\"bos_token\": \"<s>\", \"eos_token\": {\"content\": \"</s>\"}, \"add_bos_token\": true}",
            "1_Pooling/config.json", "{\"pooling_mode_lasttoken\": true, \"pooling_mode_mean_tokens\": false}",
            "config_sentence_transformers.json",
                    "{\"prompts\": {\"query\": \"q: \"}, \"default_prompt_name\": \"query\", \"truncate_dim\": null}",
            "sentence_bert_config.json", "{\"max_seq_length\": 60, \"do_lower_case\": false}");

    private static final String POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 7\n";

    private static final String CUT = "; the file is incomplete, as after an interrupted download";

    private static final byte[] CHARACTERS = "0123456789-.eE\"{}[],:ntf \\".getBytes(StandardCharsets.US_ASCII);

    @TempDir
    private Path folder;

    private final Compute cpu = Compute.serial();

    private Path config() {
        return folder.resolve("config.json");
    }

    private String refused(Path path) {
        return assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, path))
                .getMessage();
    }

    private void writeFolder() throws IOException {
        new FamilyFile(Kind.QWEN_3, 5).writeFolder(folder, BytePieces.tokenizerJson());
    }

    private void replace(String before, String after) throws IOException {
        writeFolder();
        String json = Files.readString(config());
        assertTrue(json.contains(before), json);
        Files.writeString(config(), json.replace(before, after));
    }

    @Test
    void errorsOfSettingsNameTheirFile() throws IOException {
        replace("\"model_type\": \"qwen3\"", "\"model_type\": \"mamba\"");
        String message = refused(folder);
        assertTrue(message.startsWith(config() + ": config.model_type: mamba; expected one of llama"), message);
        replace("\"model_type\": \"qwen3\", ", "");
        message = refused(folder);
        assertTrue(message.startsWith(config() + ": config.model_type: null; expected a string"), message);
        replace("\"head_dim\"", "\"quantization_config\": {\"bits\": 4}, \"head_dim\"");
        message = refused(folder);
        assertTrue(message.startsWith(config() + ": config.quantization_config: {bits=4}; expected none"), message);
        replace("\"hidden_size\": 64", "\"hidden_size\": \"x\"");
        message = refused(folder);
        assertTrue(message.startsWith(config() + ": config.hidden_size: x; expected an integer"), message);
    }

    /** Large sizes in a small file take no memory and no time. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "num_hidden_layers\": 3",
                "hidden_size\": 64",
                "num_attention_heads\": 4",
                "num_key_value_heads\": 2",
                "head_dim\": 32",
                "max_position_embeddings\": 128"
            })
    void largeSizesTakeNoMemory(String size) throws IOException {
        String key = size.substring(0, size.indexOf('"'));
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (String number : new String[] {"16777216", "9223372036854775807", "-1", "0", "null", "[3]", "3.5"}) {
            replace("\"" + size, "\"" + key + "\": " + number);
            long before = threads.getCurrentThreadAllocatedBytes();
            try (LanguageModel model = LanguageModel.load(cpu, folder)) {
                // a long context is not an error, because memory is allocated per token, and null is not an error
                assertTrue(
                        key.equals("max_position_embeddings") && number.equals("16777216") || number.equals("null"),
                        size + " " + number);
                assertEquals(3, model.embedder().embed("abc").length / 64 + 2);
            } catch (IllegalArgumentException named) {
                assertTrue(named.getMessage().startsWith(folder.toString()), named.getMessage());
            }
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            assertTrue(bytes < 64 << 20, size + " as " + number + ": " + bytes + " bytes");
        }
    }

    @Test
    void anotherKindOfFileIsNamed() throws IOException {
        writeFolder();
        Path weights = folder.resolve("model.safetensors");
        Files.delete(weights);
        new FamilyFile(Kind.QWEN_3, 5).write(weights);
        assertEquals(weights + ": file: a GGUF file; expected safetensors", refused(folder));
        Files.writeString(weights, "PK\u0003\u0004" + "x".repeat(100));
        assertEquals(weights + ": file: a zip archive, as PyTorch writes; expected safetensors", refused(folder));
        writeFolder();
        assertTrue(refused(weights).startsWith(weights + ": magic: 0x"), refused(weights));
    }

    /** Users may have folders with missing files, pointers of Git LFS, saved web pages, and incomplete downloads. */
    @ParameterizedTest
    @ValueSource(strings = {"config.json", "tokenizer.json", "model.safetensors"})
    void aFileThatIsMissingOrNoneOfAModelIsNamed(String name) throws IOException {
        writeFolder();
        Path file = folder.resolve(name);
        byte[] whole = Files.readAllBytes(file);
        Files.delete(file);
        String missing = assertThrows(NoSuchFileException.class, () -> LanguageModel.load(cpu, folder))
                .getMessage();
        assertTrue(missing.startsWith(folder + ": a folder with ") && missing.contains(", no " + name), missing);
        assertTrue(missing.endsWith("; get one by: hf download OWNER/NAME --local-dir " + folder), missing);
        Files.writeString(file, POINTER);
        assertEquals(
                file
                        + ": a pointer of Git LFS; expected the file itself, 7 bytes; get it by: git lfs pull, or hf download",
                refused(folder));
        Files.writeString(file, "<!DOCTYPE html>\n<html lang=\"en\">");
        assertTrue(
                refused(folder).startsWith(file + ": a web page (HTML); expected the file itself; "), refused(folder));
        Files.write(file, Arrays.copyOf(whole, whole.length / 2));
        assertTrue(refused(folder).startsWith(file + ": "), refused(folder));
        assertTrue(name.endsWith(".json") || refused(folder).endsWith(CUT), refused(folder));
    }

    @Test
    void aGgufFileThatIsNoneIsNamed() throws IOException {
        Path file = folder.resolve("model.gguf");
        Files.writeString(file, POINTER);
        assertTrue(refused(file).startsWith(file + ": a pointer of Git LFS; "), refused(file));
        Files.writeString(file, "<html>");
        assertTrue(refused(file).startsWith(file + ": a web page (HTML); "), refused(file));
        Files.writeString(file, "Entry not found");
        assertEquals(file + ": file: begins with the text \"Entry not found\"; expected GGUF", refused(file));
        new FamilyFile(Kind.QWEN_3, 5).write(file);
        byte[] whole = Files.readAllBytes(file);
        for (int length : new int[] {whole.length - 1, whole.length / 2}) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertTrue(refused(file).endsWith(CUT), refused(file));
        }
    }

    @Test
    void aFolderInPlaceOfAFileIsNamed() throws IOException {
        for (String name : new String[] {"config.json", "tokenizer.json", "model.safetensors"}) {
            writeFolder();
            Path file = folder.resolve(name);
            Files.delete(file);
            Files.createDirectory(file);
            assertEquals(file + ": a folder; expected a file", refused(folder));
            Files.delete(file);
        }
    }

    @Test
    void aThreadThatIsInterruptedNamesTheFile() throws IOException {
        writeFolder();
        Path file = folder.resolve("model.gguf");
        new FamilyFile(Kind.QWEN_3, 5).write(file);
        for (Path path : new Path[] {folder, file}) {
            Thread.currentThread().interrupt();
            String message = assertThrows(InterruptedIOException.class, () -> LanguageModel.load(cpu, path))
                    .getMessage();
            assertTrue(Thread.interrupted());
            assertTrue(message.startsWith(path.toString()), message);
            assertTrue(message.endsWith(": the thread that reads it was interrupted"), message);
        }
    }

    @Test
    void aTemplateThatIsNullIsNamed() throws IOException {
        Path file = folder.resolve("model.gguf");
        new FamilyFile(Kind.QWEN_3, 5).write(file);
        try (LanguageModel model = LanguageModel.load(cpu, file)) {
            assertEquals(
                    "chosen: null; expected a value",
                    assertThrows(NullPointerException.class, () -> model.withChatTemplate(null))
                            .getMessage());
        }
    }

    @Test
    void numbersOfTokensOfGgufAreNamed() throws IOException {
        Path file = folder.resolve("model.gguf");
        FamilyFile family = new FamilyFile(Kind.QWEN_3, 5);
        for (String key : new String[] {"eot_token_id", "padding_token_id", "eom_token_id"}) {
            for (long id : new long[] {99_999, 1L << 40, -7}) {
                GgufWriter writer =
                        family.metadata().put("tokenizer.ggml." + key, GgufValue.ofInteger(GgufType.I64, id));
                Stream.concat(family.matrices().stream(), family.others().stream())
                        .forEach(name -> writer.tensor(name, family.tensor(name)));
                writer.write(file);
                String message = refused(file);
                assertTrue(message.startsWith(file + ": tokenizer.ggml." + key + ": " + id), message);
            }
        }
    }

    /**
     * An unknown setting of the architecture is not an error, because other engines add settings that do not affect results, but it is
     * logged.
     */
    @Test
    void settingsOfGgufThatAreNotKnownAreOneWarning() throws IOException {
        Path file = folder.resolve("model.gguf");
        FamilyFile family = new FamilyFile(Kind.QWEN_3, 5);
        GgufWriter writer = family.metadata()
                .put("qwen3.attention.sinks", FamilyFile.number(4))
                .put("qwen3.mystery", GgufValue.ofBool(true));
        Stream.concat(family.matrices().stream(), family.others().stream())
                .forEach(name -> writer.tensor(name, family.tensor(name)));
        writer.write(file);
        List<String> warnings = Collections.synchronizedList(new ArrayList<>());
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                warnings.add(line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("io.multihead");
        logger.addHandler(handler);
        try {
            LanguageModel.load(cpu, file).close();
        } finally {
            logger.removeHandler(handler);
        }
        assertEquals(
                List.of(file + ": settings that are not known and not read: qwen3.attention.sinks (U32 4),"
                        + " qwen3.mystery (BOOL true)"),
                warnings.stream()
                        .filter(line -> line.startsWith(file.toString()))
                        .toList());
    }

    /** A file with changed bytes is refused by a message that names a file, or the model can be used. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "config.json",
                "generation_config.json",
                "tokenizer_config.json",
                "tokenizer.json",
                "modules.json",
                "1_Pooling/config.json",
                "config_sentence_transformers.json",
                "sentence_bert_config.json",
                "model.safetensors",
                "model.gguf"
            })
    void filesOfOtherBytesAreRefusedOrUsable(String name) throws IOException {
        writeFolder();
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(
                folder.resolve("modules.json"),
                "[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"},"
                        + " {\"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}]");
        if (name.endsWith(".gguf")) {
            new FamilyFile(Kind.QWEN_3, 5).write(file);
        } else if (!Files.exists(file)) {
            Files.writeString(file, SMALL.get(name));
        }
        byte[] whole = Files.readAllBytes(file);
        // only the header of weights is changed
        int most = Math.min(whole.length, name.endsWith(".json") ? whole.length : 6000);
        SplittableRandom random = new SplittableRandom(7);
        int refused = 0;
        for (int i = 0; i < 80; i++) {
            byte[] changed = i % 8 == 0 ? Arrays.copyOf(whole, random.nextInt(most)) : whole.clone();
            if (i % 8 != 0) {
                int at = random.nextInt(most);
                changed[at] = i % 2 == 0 ? CHARACTERS[random.nextInt(CHARACTERS.length)] : (byte) random.nextInt(256);
            }
            Files.write(file, changed);
            refused += isRefused(name.endsWith(".gguf") ? file : folder) ? 1 : 0;
        }
        assertTrue(refused > 10, refused + " refused");
    }

    private boolean isRefused(Path path) {
        try (LanguageModel model = LanguageModel.load(cpu, path)) {
            try (Sessions sessions = model.sessions(SessionOptions.DEFAULT.withContextTokens(8));
                    Session session = sessions.open().append(5, 6)) {
                session.generate(GenerationOptions.DEFAULT.withMaxTokens(2));
                model.embedder().embed("ab");
            } catch (IllegalArgumentException | ArithmeticException named) {
                // a text may have no tokens, or weights may have other values
                assertTrue(named.getMessage().contains("expected"), named.getMessage());
            }
            return false;
        } catch (IllegalArgumentException named) {
            assertTrue(named.getMessage().startsWith(folder.toString()), named.getMessage());
            return true;
        } catch (IOException named) {
            assertTrue(String.valueOf(named.getMessage()).contains(folder.toString()), named.toString());
            return true;
        }
    }
}
