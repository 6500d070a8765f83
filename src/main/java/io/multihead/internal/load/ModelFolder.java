package io.multihead.internal.load;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** The JSON files of a model's folder. Messages begin with the path of the file. */
public final class ModelFolder {
    /** The configuration of a model. */
    public static final String CONFIG = "config.json";

    /** The settings of sentence-transformers for a model as a whole. */
    public static final String FRAMEWORK = "config_sentence_transformers.json";

    private static final String MODULES = "modules.json";
    private static final String JSON = ".json";

    private ModelFolder() {}

    /** Fails unless a path is a model's folder; {@code more} may state other places to check. */
    public static void require(Path folder, String more) throws IOException {
        Checks.folderWith(
                folder,
                List.of(CONFIG, MODULES),
                "a model's folder, with config.json or modules.json, model.safetensors, and tokenizer.json or vocab.txt"
                        + more);
    }

    /** Reads a file with a JSON object. In messages, the object has the name of the file. */
    public static <T> T read(Path file, Function<JsonObject, T> reader) throws IOException {
        String name = String.valueOf(file.getFileName());
        String object = name.endsWith(JSON) ? name.substring(0, name.length() - JSON.length()) : name;
        return Checks.in(file, () -> reader.apply(new JsonObject(object, Json.object(object, FileMemory.bytes(file)))));
    }

    /** Reads a file that may be missing. */
    public static <T> Optional<T> find(Path file, Function<JsonObject, T> reader) throws IOException {
        return Files.exists(file) ? Optional.of(read(file, reader)) : Optional.empty();
    }

    /** Returns the regular files of a folder and of its subfolders. */
    public static List<Path> files(Path folder) throws IOException {
        List<Path> found = new ArrayList<>();
        Files.walkFileTree(folder, Set.of(), 2, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (Files.isRegularFile(file)) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }

            /** Skips an unreadable subfolder, such as a file system's own folder, which does not belong to the model. */
            @Override
            public FileVisitResult visitFileFailed(Path file, IOException failed) throws IOException {
                if (file.equals(folder)) {
                    throw failed;
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }

    /** Reads the {@code config.json} of a folder. */
    public static <T> T config(Path folder, Function<JsonObject, T> reader) throws IOException {
        return read(folder.resolve(CONFIG), reader);
    }

    /** Returns a copy of the weights of a folder; messages begin with their path. Afterwards, nothing refers to the files. */
    public static <T> T copy(Path folder, Function<SafetensorsFolder, T> copying) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            SafetensorsFolder files = SafetensorsFolder.map(arena, folder);
            return Checks.in(files.path(), () -> copying.apply(files));
        }
    }

    /** Returns whether sentence-transformers wrote a folder; in other folders, sentence-transformers reads none of its own files. */
    public static boolean isModular(Path folder) {
        return Files.exists(folder.resolve(MODULES));
    }

    /** Reads the modules of a folder that {@link #isModular is modular}. */
    public static <T> T modules(Path folder, Function<List<Module>, T> reader) throws IOException {
        Path file = folder.resolve(MODULES);
        return Checks.in(
                file,
                () -> reader.apply(Json.array("modules", FileMemory.bytes(file)).stream()
                        .map(module -> Module.of(folder, JsonObject.of("modules", module)))
                        .toList()));
    }

    /**
     * A module of sentence-transformers or PyLate.
     *
     * @param folder the folder with its files: the model's folder or a subfolder
     * @param json its entry in {@code modules.json}
     */
    public record Module(Path folder, JsonObject json) {
        /**
         * Returns a module. It fails for a folder outside the model's folder, because a file must not make the library read files elsewhere.
         */
        private static Module of(Path model, JsonObject json) {
            String name = json.text("path");
            try {
                Path path = model.getFileSystem().getPath(name).normalize();
                if (!path.isAbsolute() && !path.startsWith("..")) {
                    return new Module(model.resolve(path), json);
                }
            } catch (InvalidPathException malformed) {
                // continues to the message for paths that leave the folder
            }
            throw json.fail("path", "a path within the model's folder");
        }

        /**
         * Returns whether the module has a class of sentence-transformers. The packages within sentence-transformers do not matter, because
         * they differ between its versions, unlike the names of classes.
         */
        public boolean is(String name) {
            return isOf("sentence_transformers", name);
        }

        public boolean isOf(String library, String name) {
            String type = json.text("type");
            return type.startsWith(library + ".") && type.endsWith("." + name);
        }

        /** Returns the exception for a module other than the expected one. */
        public IllegalArgumentException fail(String expected) {
            return json.fail("type", expected);
        }
    }

    /**
     * The contents of {@code config_sentence_transformers.json}.
     *
     * @param json the whole object
     * @param prompts the prompts by name
     * @param prompt the default prompt; empty for none
     */
    public record Framework(JsonObject json, Map<String, String> prompts, String prompt) {
        /** The settings of folders that sentence-transformers did not write. */
        public static final Framework NONE =
                new Framework(new JsonObject("config_sentence_transformers", Map.of()), Map.of(), "");

        private static Framework of(JsonObject json, String type) {
            json.require("model_type", type);
            Map<String, String> prompts =
                    json.has("prompts") ? json.object("prompts").texts() : Map.of();
            String name = json.find("default_prompt_name");
            if (name != null && !prompts.containsKey(name)) {
                throw json.fail("default_prompt_name", "one of " + prompts.keySet());
            }
            return new Framework(json, Map.copyOf(prompts), name == null ? "" : prompts.getOrDefault(name, ""));
        }
    }

    /** Reads a folder's settings of a {@code SentenceTransformer} or a {@code SparseEncoder}; the defaults if the folder has no such file. */
    public static <T> T framework(Path folder, String type, Function<Framework, T> reader) throws IOException {
        Path file = folder.resolve(FRAMEWORK);
        return isModular(folder) && Files.exists(file)
                ? read(file, json -> reader.apply(Framework.of(json, type)))
                : Checks.in(file, () -> reader.apply(Framework.NONE));
    }
}
