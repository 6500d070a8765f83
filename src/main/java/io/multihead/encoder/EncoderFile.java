package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.PackedFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * An encoder in one file, its matrices packed as products read them: safetensors whose metadata says the layout of panels, the model's
 * sizes as {@code config.json} and the options. The tokenizer is a tensor of the bytes of a {@code tokenizer.json}, and perhaps of a
 * {@code tokenizer_config.json}.
 */
final class EncoderFile {
    private static final String FORMAT = "multihead sentence encoder 2";

    /** What names begin with that are not the encoder's own. */
    private static final Set<String> OTHERS = Set.of(DenseLayers.PREFIX, TokenizerFiles.JSON, TokenizerFiles.CONFIG);

    private EncoderFile() {}

    /** Writes an encoder, with the options of one of its views. */
    static void write(Path file, LoadedEncoder encoder, EncoderOptions options) throws IOException {
        EncoderCore core = encoder.core();
        PackedFile.Contents contents = new PackedFile.Contents(FORMAT);
        encoder.dense().weights().forEach(each -> contents.with("", each));
        contents.with("", core.model.weights)
                .withFiles(encoder.tokenizerFiles().tensors(core.tokenizer))
                .with("config", core.model.config.toJson())
                .with("options", toJson(encoder, options))
                .write(file, (done, all) -> {});
    }

    /** Maps a file that {@link #write} wrote. */
    static LoadedEncoder map(Compute cpu, Path path) throws IOException {
        Loading loading = Loading.of(cpu);
        return EncoderCore.orClose(loading::close, () -> {
            PackedFile file = PackedFile.map(path, FORMAT, loading);
            return Checks.in(path, () -> read(loading, file));
        });
    }

    private static LoadedEncoder read(Loading loading, PackedFile file) throws IOException {
        EncoderConfig config = config(file.json("config"));
        JsonObject described = file.json("options");
        EncoderOptions options = options(described, config);
        Map<String, String> prompts = Map.copyOf(described.object("prompts").texts());
        int inputs = options.pooling().modes().size() * config.dim();
        DenseLayers dense = DenseLayers.takePacked(
                described.array("dense"), inputs, file.weights(loading, "", file.names(DenseLayers.PREFIX, Set.of())));
        EncoderCore core = ModelLoader.load(
                loading,
                () -> new EncoderModel(config, file.weights(loading, "", file.names("", OTHERS))),
                () -> TokenizerFiles.read(file, config));
        String defaultPrompt = described.has("default_prompt") ? described.text("default_prompt") : options.prompt();
        return new LoadedEncoder(core, dense, options, prompts, defaultPrompt, TokenizerFiles.of(file));
    }

    private static EncoderConfig config(JsonObject json) {
        return StaticConfig.isOf(json) ? StaticConfig.of(json) : EncoderFamilies.configure(json);
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
        json.put("prompts", new TreeMap<>(encoder.prompts())); // the same bytes each time
        return json;
    }

    private static EncoderOptions options(JsonObject json, EncoderConfig config) {
        return new EncoderOptions(
                pooling(json),
                choice(json, "normalization", Normalization.values()),
                json.integer("dimension", 1, Integer.MAX_VALUE),
                json.integer("max_tokens", config.isStatic() ? 1 : 3, config.positions()),
                choice(json, "long_texts", LongTexts.values()),
                json.text("prompt"));
    }

    private static PoolingConfig pooling(JsonObject json) {
        List<Pooling> modes = json.array("pooling").stream()
                .map(name -> choice(json, "pooling", name, Pooling.values()))
                .toList();
        if (modes.isEmpty()) {
            throw json.fail("pooling", "of " + Arrays.toString(Pooling.values()));
        }
        return new PoolingConfig(modes, json.flag("includes_prompt"));
    }

    private static <E extends Enum<E>> E choice(JsonObject json, String member, E[] values) {
        return choice(json, member, json.text(member), values);
    }

    private static <E extends Enum<E>> E choice(JsonObject json, String member, @Nullable Object name, E[] values) {
        return Arrays.stream(values)
                .filter(value -> value.name().equals(name))
                .findFirst()
                .orElseThrow(() -> Checks.fail(
                        json.name() + "." + member,
                        String.valueOf(name),
                        "expected one of " + Arrays.toString(values)));
    }
}
