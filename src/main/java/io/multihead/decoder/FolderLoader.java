package io.multihead.decoder;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.ModelFolder;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
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
    private static final String ADAPTER = "adapter_config.json";
    private static final String TOKENIZER_CONFIG = "tokenizer_config.json";
    private static final String TEMPLATE = "chat_template";

    private FolderLoader() {}

    /** Loads a folder; {@code expected} is what a model's path may be. */
    static LoadedDecoder load(Loading loading, Path folder, LoadOptions options, String expected) throws IOException {
        Checks.folderWith(folder, List.of(CONFIG), expected);
        requireMerged(folder);
        SafetensorsFolder files = SafetensorsFolder.map(folder, loading.arena());
        int tensors = files.names().size();
        JsonSettings settings = ModelFolder.config(folder, json -> new JsonSettings(json, tensors));
        Family family = Checks.in(folder.resolve(CONFIG), () -> Families.of(settings));
        DecoderConfig config = Checks.in(folder.resolve(CONFIG), () -> family.configure(settings));
        EmbedderSettings embedder = EmbedderSettings.of(folder);
        Tokenizer tokenizer = Tokenizers.load(folder);
        Weights weights = new Weights(loading, WeightSource.of(files), HuggingFaceNames.naming(files.names(), family));
        Transformer model = Checks.in(files.path(), () -> {
            Transformer built = DecoderBuilder.build(
                    config, weights, HuggingFaceNames.isForEmbeddings(files.names()), options.listener());
            GgufLoader.requireRows(built, tokenizer);
            return built;
        });
        String name = String.valueOf(folder.toAbsolutePath().normalize().getFileName());
        return new LoadedDecoder(name, config, model, tokenizer, weights, templates(folder), embedder, loading);
    }

    /** Fails where an adapter of PEFT stands beside the weights: transformers applies it. */
    private static void requireMerged(Path folder) {
        if (Files.exists(folder.resolve(ADAPTER))) {
            throw Checks.fail(
                    folder.resolve(ADAPTER).toString(), "an adapter", "expected weights that it is merged into");
        }
    }

    /** Returns the templates of {@code chat_template.jinja} or {@code tokenizer_config.json}. */
    private static FileTemplates templates(Path folder) throws IOException {
        Path jinja = folder.resolve(TEMPLATE + ".jinja");
        if (Files.exists(jinja)) {
            return FileTemplates.of(new String(FileMemory.bytes(jinja), StandardCharsets.UTF_8));
        }
        return ModelFolder.find(folder.resolve(TOKENIZER_CONFIG), FileTemplates::of)
                .orElse(FileTemplates.NONE);
    }
}
