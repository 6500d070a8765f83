package io.multihead.decoder;

import io.multihead.compute.Compute;
import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.SlabArena;
import io.multihead.model.Transformer;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Loads a folder of Hugging Face's: {@code config.json}, the tokenizer's files, and weights in safetensors. */
final class FolderLoader {
    private static final String CONFIG = "config.json";
    private static final String TOKENIZER_CONFIG = "tokenizer_config.json";
    private static final String TEMPLATE = "chat_template";

    private FolderLoader() {}

    /** Loads a folder; {@code expected} is what a model's path may be. */
    static LoadedDecoder load(Compute cpu, Path folder, SlabArena arena, LoadOptions options, String expected)
            throws IOException {
        Checks.folderWith(folder, List.of(CONFIG), expected);
        JsonSettings settings = new JsonSettings(object(folder, CONFIG));
        Family family = Families.of(settings.family(), CONFIG + ".model_type");
        DecoderConfig config = Checks.in(folder, () -> family.configure(settings));
        Tokenizer tokenizer = Tokenizers.load(folder);
        SafetensorsFolder files = SafetensorsFolder.map(folder, arena);
        DecoderWeights weights =
                new DecoderWeights(cpu, new FolderModel(files, family), arena, options.eightBitInputs());
        Transformer model = Checks.in(files.path(), () -> {
            Transformer built = DecoderBuilder.build(config, weights, options.listener());
            GgufLoader.requireRows(built, tokenizer);
            return built;
        });
        String name = String.valueOf(folder.toAbsolutePath().normalize().getFileName());
        return new LoadedDecoder(name, config, model, tokenizer, weights, templates(folder), arena);
    }

    private static JsonObject object(Path folder, String name) throws IOException {
        byte[] utf8 = Files.readAllBytes(folder.resolve(name));
        return Checks.in(folder, () -> new JsonObject(name, Json.object(name, utf8)));
    }

    /** Returns the templates of {@code chat_template.jinja} or {@code tokenizer_config.json}. */
    private static FileTemplates templates(Path folder) throws IOException {
        Path jinja = folder.resolve(TEMPLATE + ".jinja");
        if (Files.exists(jinja)) {
            return FileTemplates.of(Files.readString(jinja, StandardCharsets.UTF_8));
        }
        if (!Files.exists(folder.resolve(TOKENIZER_CONFIG))) {
            return FileTemplates.NONE;
        }
        JsonObject config = object(folder, TOKENIZER_CONFIG);
        return Checks.in(folder, () -> FileTemplates.of(config));
    }
}
