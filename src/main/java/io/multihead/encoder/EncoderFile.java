package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An encoder in one file, its matrices packed as products read them: safetensors whose metadata says the layout of panels, the model's
 * sizes as {@code config.json} and the options. The tokenizer is a tensor of the bytes of a {@code tokenizer.json}, and perhaps of a
 * {@code tokenizer_config.json}.
 */
final class EncoderFile {
    private static final String FORMAT = "multihead sentence encoder 2";

    private EncoderFile() {}

    /** Writes an encoder, with the options of one of its views. */
    static void write(Path file, LoadedEncoder encoder, EncoderOptions options) throws IOException {
        EncoderCore core = encoder.core();
        Map<String, Tensor> tokenizer = encoder.tokenizerFiles().tensors(core.tokenizer);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<String, Tensor> others = new LinkedHashMap<>();
        encoder.dense().put(tensors, others);
        core.model.weights.put(tensors, others);
        tensors.putAll(others);
        tensors.putAll(tokenizer);
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put("format", FORMAT);
        metadata.put("panels", PackedWeights.layout());
        metadata.put("config", JsonWriter.write("config", core.model.config.toJson()));
        metadata.put("options", JsonWriter.write("options", toJson(encoder, options)));
        Safetensors.write(file, tensors, metadata);
    }

    /** Maps a file that {@link #write} wrote. */
    static LoadedEncoder map(Compute cpu, Path path) throws IOException {
        Loading loading = Loading.of(cpu);
        return EncoderCore.orClose(loading::close, () -> {
            Safetensors file = Safetensors.map(path, loading.arena());
            return Checks.in(path, () -> read(loading, file));
        });
    }

    private static LoadedEncoder read(Loading loading, Safetensors file) throws IOException {
        Map<String, String> metadata = file.metadata();
        require("format", metadata.get("format"), FORMAT);
        require("panels", metadata.get("panels"), PackedWeights.layout());
        EncoderConfig config = config(json(metadata, "config"));
        JsonObject described = json(metadata, "options");
        EncoderOptions options = options(described, config);
        Map<String, String> prompts = Map.copyOf(described.object("prompts").texts());
        Set<String> names = new LinkedHashSet<>(file.names());
        TokenizerFiles.NAMES.forEach(names::remove);
        int inputs = options.pooling().modes().size() * config.dim();
        DenseLayers dense = dense(loading, file, described, inputs);
        names.removeIf(DenseLayers::isNamed);
        EncoderCore core = ModelLoader.load(
                loading,
                () -> new EncoderModel(config, weights(loading, file, names)),
                () -> TokenizerFiles.read(file, config));
        String defaultPrompt = described.has("default_prompt") ? described.text("default_prompt") : options.prompt();
        return new LoadedEncoder(core, dense, options, prompts, defaultPrompt, TokenizerFiles.of(file));
    }

    private static EncoderConfig config(JsonObject json) {
        return StaticConfig.isOf(json) ? StaticConfig.of(json) : EncoderFamilies.configure(json);
    }

    private static DenseLayers dense(Loading loading, Safetensors file, JsonObject described, int inputs) {
        Set<String> names =
                file.names().stream().filter(DenseLayers::isNamed).collect(Collectors.toCollection(LinkedHashSet::new));
        return DenseLayers.takePacked(described.array("dense"), inputs, weights(loading, file, names));
    }

    private static Weights weights(Loading loading, Safetensors file, Set<String> names) {
        return new Weights(loading, WeightSource.of(file), new Weights.Naming(name -> name, names));
    }

    private static void require(String key, @Nullable String actual, String expected) {
        if (!expected.equals(actual)) {
            throw Checks.fail(key, String.valueOf(actual), "expected " + expected);
        }
    }

    private static JsonObject json(Map<String, String> metadata, String key) {
        String text = metadata.getOrDefault(key, "");
        return new JsonObject(key, Json.object(key, text.getBytes(StandardCharsets.UTF_8)));
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
