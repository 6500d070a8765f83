package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/** Reads JSON files of a model's folder. */
final class SettingsFile {
    private SettingsFile() {}

    /** Fails unless a path is a folder, with what one of a model has; {@code more} may say where else to look. */
    static void requireModel(Path folder, String more) throws IOException {
        Checks.folderWith(
                folder,
                List.of("config.json", "modules.json"),
                "a model's folder, with config.json or modules.json, model.safetensors, and tokenizer.json or vocab.txt"
                        + more);
    }

    /** Reads the {@code modules.json} of a folder; messages begin with its path. */
    static <T> T modules(Path folder, Function<List<JsonObject>, T> reader) throws IOException {
        Path file = folder.resolve("modules.json");
        return Checks.in(
                file,
                () -> reader.apply(Json.array("modules", Files.readAllBytes(file)).stream()
                        .map(module -> JsonObject.of("modules", module))
                        .toList()));
    }

    /** Reads a file of an object; messages begin with its path. */
    static <T> T read(Path file, Function<JsonObject, T> reader) throws IOException {
        String name = String.valueOf(file.getFileName());
        String source = name.endsWith(".json") ? name.substring(0, name.length() - ".json".length()) : name;
        return Checks.in(
                file, () -> reader.apply(new JsonObject(source, Json.object(source, Files.readAllBytes(file)))));
    }
}
