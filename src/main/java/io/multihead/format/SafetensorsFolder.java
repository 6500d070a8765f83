package io.multihead.format;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The weights of a model's folder as transformers writes them: {@code model.safetensors}, or the parts that {@code
 * model.safetensors.index.json} names. Files are mapped as in {@link Safetensors#map}, and tensors are views of them.
 *
 * <p>Immutable and thread-safe as far as the arena allows.
 */
public final class SafetensorsFolder {
    private static final String FILE = "model.safetensors";
    private static final String INDEX = FILE + ".index.json";
    /** Names that stand for a folder. */
    private static final Set<String> NO_FILES = Set.of("", ".", "..");

    private final Path path;
    private final Map<String, Safetensors> files;

    private SafetensorsFolder(Path path, Map<String, Safetensors> files) {
        this.path = path;
        this.files = files;
    }

    /**
     * Maps the files of a folder.
     *
     * @param arena owns the mappings
     * @param folder the folder
     * @return the weights
     * @throws IOException if both files are missing, or a file cannot be read
     * @throws IllegalArgumentException if a file is malformed, the index names a file that is not in the folder, a file lacks a tensor of the
     *     index, or two files have a tensor of the same name; the message names the file
     */
    public static SafetensorsFolder map(Arena arena, Path folder) throws IOException {
        Checks.notNull(arena, "arena");
        Checks.notNull(folder, "folder");
        return Downloads.withCommand(folder, () -> mapFiles(arena, folder));
    }

    private static SafetensorsFolder mapFiles(Arena arena, Path folder) throws IOException {
        Path single = folder.resolve(FILE);
        Path index = folder.resolve(INDEX);
        Checks.folderWith(
                folder, List.of(FILE, INDEX), "weights in safetensors; pytorch_model.bin and the like are not read");
        if (Files.exists(single)) {
            Map<String, Safetensors> all = new LinkedHashMap<>();
            add(Safetensors.map(arena, single), all);
            return new SafetensorsFolder(single, all);
        }
        Map<String, String> parts =
                Checks.in(index, () -> new JsonObject("index", Json.object("index", FileMemory.bytes(index)))
                        .object("weight_map")
                        .texts());
        Map<String, Safetensors> files = new LinkedHashMap<>();
        for (String part : new TreeSet<>(parts.values())) {
            files.put(part, Safetensors.map(arena, Checks.in(index, () -> within(folder, part))));
        }
        return Checks.in(index, () -> {
            parts.forEach((name, part) -> requireStored(name, part, files));
            Map<String, Safetensors> all = new LinkedHashMap<>();
            files.values().forEach(file -> add(file, all));
            return new SafetensorsFolder(index, all);
        });
    }

    private static void add(Safetensors file, Map<String, Safetensors> all) {
        for (String name : file.names()) {
            if (all.put(name, file) != null) {
                throw Checks.fail("tensor \"" + name + "\"", "in two files", "expected it in one file");
            }
        }
    }

    private static void requireStored(String name, String part, Map<String, Safetensors> files) {
        Safetensors file = files.get(part);
        if (file == null || !file.contains(name)) {
            throw Checks.fail("tensor \"" + name + "\"", "not in " + part, "expected the tensor in this file");
        }
    }

    /** Returns a file in the folder of the index: the index must not make the library read other files. */
    private static Path within(Path folder, String name) {
        try {
            Path path = folder.getFileSystem().getPath(name);
            if (!path.isAbsolute() && path.getNameCount() == 1 && !NO_FILES.contains(name)) {
                return folder.resolve(path);
            }
        } catch (InvalidPathException malformed) {
            // falls through to the message for paths that leave the folder
        }
        throw Checks.fail("index.weight_map", name, "expected a file in the folder of the index");
    }

    /** {@return the file that names all tensors, for messages} */
    public Path path() {
        return path;
    }

    /** {@return the names of all tensors} */
    public Set<String> names() {
        return Collections.unmodifiableSet(files.keySet());
    }

    /**
     * Returns a tensor.
     *
     * @param name its name
     * @return a read-only view of its file
     * @throws IllegalArgumentException if there is no such tensor, or its element type is not supported
     */
    public Tensor get(String name) {
        return file(name).get(name);
    }

    /**
     * Returns the file's name for a tensor's element type.
     *
     * @param name its name
     * @return the type, as {@link Safetensors#elementType} returns it
     * @throws IllegalArgumentException if there is no such tensor
     */
    public String elementType(String name) {
        return file(name).elementType(name);
    }

    /**
     * {@return a tensor's shape, for any element type}
     *
     * @param name its name
     * @throws IllegalArgumentException if there is no such tensor
     */
    public Shape shape(String name) {
        return file(name).shape(name);
    }

    /**
     * Returns the elements of a tensor of integers.
     *
     * @param name its name
     * @return the elements, as {@link Safetensors#longs} returns them
     * @throws IllegalArgumentException if there is no such tensor, or it has another element type
     */
    public long[] longs(String name) {
        return file(name).longs(name);
    }

    private Safetensors file(String name) {
        Safetensors file = files.get(Checks.notNull(name, "name"));
        if (file == null) {
            throw Checks.fail(
                    "tensor \"" + name + "\"",
                    "not in the file",
                    "expected one of " + files.keySet().stream().limit(10).toList());
        }
        return file;
    }
}
