package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.format.GgufWriter;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.PackedFile;
import io.multihead.tensor.Tensor;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * The files of a model except its weights.
 *
 * @param name the name of the model, for messages
 * @param family the family, which determines the names of the weights in a folder
 * @param source the contents of the files, for a packed file
 */
record DecoderFiles(
        String name,
        Family family,
        DecoderConfig config,
        Tokenizer tokenizer,
        FileTemplates templates,
        EmbedderSettings embedder,
        Source source) {
    /** The tensors from which settings of a GGUF file are read. */
    static final List<String> GGUF_SETTINGS =
            List.of(GgufSettings.ROPE_FACTORS, GgufSettings.LONG_FACTORS, GgufSettings.SHORT_FACTORS);

    private static final String ADAPTER = "adapter_config.json";
    private static final String TEMPLATE = "chat_template.jinja";
    /** The ends of the names of the files that are read from a folder in addition to its weights. */
    private static final List<String> SMALL = List.of(".json", ".jinja", ".model", ".txt");

    private static final String INDEX = ".index.json";
    private static final long MOST_BYTES = 1L << 28;
    /** A fixed time that needs no extra field. It is shortly after the earliest time that an archive can store. */
    private static final LocalDateTime NO_TIME = LocalDateTime.of(1980, 1, 1, 0, 2);

    /** The files that were read, as tensors of bytes by their names in a packed file. */
    @FunctionalInterface
    interface Source {
        /** The metadata of a GGUF file, as one tensor. */
        String GGUF = "model.gguf";
        /** The files of a folder, as an archive. The archive is the last tensor, so that the packed file is an archive, too. */
        String FOLDER = "folder.zip";

        Map<String, Tensor> tensors() throws IOException;
    }

    /**
     * Reads a GGUF file.
     *
     * @param place the path of the file, for warnings
     * @param tensors the number of tensors of the model
     */
    static DecoderFiles of(Gguf file, Object place, int tensors) {
        String architecture = file.string("general.architecture");
        GgufSettings settings = new GgufSettings(file, place, tensors);
        Family family = Families.of(settings);
        return new DecoderFiles(
                file.findString("general.name").orElse(architecture),
                family,
                family.configure(settings),
                Tokenizers.of(file),
                FileTemplates.of(file),
                EmbedderSettings.of(file, architecture),
                () -> Map.of(Source.GGUF, PackedFile.bytes(MemorySegment.ofArray(metadata(file)))));
    }

    private static byte[] metadata(Gguf file) {
        GgufWriter writer = new GgufWriter();
        file.keys().stream()
                .filter(key -> !key.startsWith("split.")) // a packed file has only one part
                .forEach(key -> writer.put(key, file.value(key)));
        GGUF_SETTINGS.stream().filter(file::contains).forEach(name -> writer.tensor(name, file.tensor(name)));
        return writer.toArray();
    }

    /**
     * Reads a folder.
     *
     * @param tensors the number of tensors of the model
     * @param arena the owner of the mapped files
     */
    static DecoderFiles of(Path folder, int tensors, Arena arena) throws IOException {
        requireMerged(folder);
        JsonSettings settings = ModelFolder.config(folder, json -> JsonSettings.of(json, tensors));
        Path file = folder.resolve(ModelFolder.CONFIG);
        Family family = Checks.in(file, () -> Families.of(settings));
        DecoderConfig config = Checks.in(file, () -> family.configure(settings));
        Map<String, MemorySegment> files = files(folder, arena);
        return new DecoderFiles(
                String.valueOf(folder.toAbsolutePath().normalize().getFileName()),
                family,
                config,
                Tokenizers.load(folder),
                templates(folder),
                EmbedderSettings.of(folder),
                () -> Map.of(Source.FOLDER, PackedFile.bytes(MemorySegment.ofArray(archive(files)))));
    }

    /** Fails if a PEFT adapter is in the same folder as the weights, because transformers would apply it. */
    private static void requireMerged(Path folder) {
        if (Files.exists(folder.resolve(ADAPTER))) {
            throw Checks.fail(
                    folder.resolve(ADAPTER).toString(),
                    "an adapter",
                    "expected weights that it is merged into, or an option that names its folder");
        }
    }

    /** Returns the templates of {@code chat_template.jinja} or {@code tokenizer_config.json}. */
    private static FileTemplates templates(Path folder) throws IOException {
        Path jinja = folder.resolve(TEMPLATE);
        return Files.exists(jinja)
                ? FileTemplates.of(new String(FileMemory.bytes(jinja), StandardCharsets.UTF_8))
                : ModelFolder.find(folder.resolve("tokenizer_config.json"), FileTemplates::of)
                        .orElse(FileTemplates.NONE);
    }

    /** Maps the small files of a folder and of its subfolders, by their names relative to the folder, with slashes. */
    private static Map<String, MemorySegment> files(Path folder, Arena arena) throws IOException {
        Map<String, MemorySegment> files = new TreeMap<>();
        for (Path file : ModelFolder.files(folder)) {
            if (isSmall(String.valueOf(file.getFileName())) && Files.size(file) <= MOST_BYTES) {
                String separator = folder.getFileSystem().getSeparator();
                String name = folder.relativize(file).toString().replace(separator, "/");
                files.put(name, FileMemory.of(file, arena));
            }
        }
        return files;
    }

    private static boolean isSmall(String name) {
        return SMALL.stream().anyMatch(name::endsWith) && !name.endsWith(INDEX);
    }

    /** Returns an archive of uncompressed files. The same files always give the same bytes. */
    private static byte[] archive(Map<String, MemorySegment> files) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            zip.setLevel(0);
            for (Map.Entry<String, MemorySegment> file : files.entrySet()) {
                ZipEntry entry = new ZipEntry(file.getKey());
                entry.setTimeLocal(NO_TIME);
                zip.putNextEntry(entry);
                zip.write(file.getValue().toArray(ValueLayout.JAVA_BYTE));
                zip.closeEntry();
            }
        }
        return bytes.toByteArray();
    }

    /** Returns these files with another name and another source. */
    DecoderFiles with(String newName, Source newSource) {
        return new DecoderFiles(newName, family, config, tokenizer, templates, embedder, newSource);
    }
}
