package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.layer.DenseLayers;
import io.multihead.internal.encoder.layer.Normalization;
import io.multihead.internal.encoder.layer.PoolingConfig;
import io.multihead.internal.encoder.load.EncoderCore;
import io.multihead.internal.encoder.load.PackedCore;
import io.multihead.internal.encoder.load.TokenizerFiles;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.PackedFile;
import io.multihead.model.Pooling;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * An encoder in one safetensors file. Its matrices are packed in the form that products read. The metadata contains the layout of panels, the
 * model's sizes as {@code config.json}, and the options. A tensor contains the bytes of the {@code tokenizer.json}, and an optional second
 * tensor contains the bytes of a {@code tokenizer_config.json}.
 */
final class EncoderFile {
    private static final String FORMAT = "multihead sentence encoder 2";

    private EncoderFile() {}

    /** Writes an encoder, with the options of one of its views. */
    static void write(Path file, LoadedEncoder encoder, EncoderOptions options) throws IOException {
        EncoderCore core = encoder.core();
        PackedFile.Contents contents =
                PackedCore.contents(FORMAT, core, encoder.tokenizerFiles(), toJson(encoder, options));
        encoder.dense().weights().forEach(each -> contents.with("", each));
        contents.with("", core.model.weights).write(file);
    }

    /** Maps a file that {@link #write} wrote. */
    static LoadedEncoder map(Compute cpu, Path path) throws IOException {
        return PackedCore.map(Loading.of(cpu), path, FORMAT, EncoderFile::read);
    }

    private static LoadedEncoder read(PackedFile file, Loading loading, JsonObject described) throws IOException {
        EncoderConfig config = PackedCore.config(file);
        EncoderOptions options = options(described, config);
        Map<String, String> prompts = Map.copyOf(described.object("prompts").texts());
        int inputs = options.pooling().modes().size() * config.dim();
        DenseLayers dense = DenseLayers.takePacked(
                described.array("dense"), inputs, file.weights(loading, "", file.names(DenseLayers.PREFIX, Set.of())));
        EncoderCore core = PackedCore.core(loading, file, config, 0, DenseLayers.PREFIX);
        String defaultPrompt = described.has("default_prompt") ? described.text("default_prompt") : options.prompt();
        return new LoadedEncoder(core, dense, options, prompts, defaultPrompt, TokenizerFiles.of(file));
    }

    private static Map<String, Object> toJson(LoadedEncoder encoder, EncoderOptions options) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put(
                "pooling", options.pooling().modes().stream().map(Pooling::name).toList());
        json.put("includes_prompt", options.pooling().includesPrompt());
        json.put("normalization", options.normalization().name());
        json.put("dimension", options.dimension());
        json.put("dense", encoder.dense().toJson());
        json.put("max_tokens", options.maxTokens());
        json.put("long_texts", options.longTexts().name());
        json.put("prompt", options.prompt());
        json.put("default_prompt", encoder.defaultPrompt());
        json.put("prompts", new TreeMap<>(encoder.prompts())); // sorted, so that the file always has the same bytes
        return json;
    }

    private static EncoderOptions options(JsonObject json, EncoderConfig config) {
        return new EncoderOptions(
                pooling(json),
                PackedCore.choice(json, "normalization", Normalization.values()),
                json.integer("dimension", 1, Integer.MAX_VALUE),
                PackedCore.maxTokens(json, config),
                PackedCore.choice(json, "long_texts", LongTexts.values()),
                json.text("prompt"));
    }

    private static PoolingConfig pooling(JsonObject json) {
        List<Pooling> modes = json.array("pooling").stream()
                .map(name -> PackedCore.choice(json, "pooling", name, Pooling.values()))
                .toList();
        if (modes.isEmpty()) {
            throw json.fail("pooling", "of " + Arrays.toString(Pooling.values()));
        }
        return new PoolingConfig(modes, json.flag("includes_prompt"));
    }
}
