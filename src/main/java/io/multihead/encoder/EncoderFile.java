package io.multihead.encoder;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.base.JsonWriter;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.WordPiece;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An encoder in one file, its matrices packed as products read them: safetensors whose metadata says the layout of panels, the model's
 * sizes as {@code config.json} and the options. The tokenizer is a tensor of the bytes of a {@code tokenizer.json}.
 */
final class EncoderFile {
    private static final String FORMAT = "multihead sentence encoder 2";
    private static final String TOKENIZER = "tokenizer.json";

    private EncoderFile() {}

    static void write(
            Path file, EmbeddingRuns runs, EncoderOptions options, Map<String, String> prompts, String defaultPrompt)
            throws IOException {
        EncoderCore core = runs.core();
        DenseLayers dense = runs.dense();
        byte[] tokenizer = json(core.tokenizer);
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<String, Tensor> others = new LinkedHashMap<>();
        dense.put(tensors, others); // panels come first, as in the model
        tensors.putAll(core.model.packed());
        tensors.putAll(others);
        tensors.put(TOKENIZER, Tensor.view(MemorySegment.ofArray(tokenizer), DType.I8, Shape.of(tokenizer.length)));
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put("format", FORMAT);
        metadata.put("panels", PackedWeights.layout());
        metadata.put("config", JsonWriter.write("config", core.model.config.toJson()));
        metadata.put("options", JsonWriter.write("options", toJson(options, dense, prompts, defaultPrompt)));
        Safetensors.write(file, tensors, metadata);
    }

    private static byte[] json(EncoderTokenizer tokenizer) {
        if (tokenizer instanceof WordPiece wordPiece) {
            return wordPiece.toTokenizerJson();
        }
        throw Checks.fail("tokenizer", tokenizer.toString(), "expected WordPiece, which alone is written");
    }

    /** Maps a file that {@link #write} wrote. */
    static LoadedEncoder map(Compute cpu, Path path) throws IOException {
        Arena arena = Arena.ofShared();
        try {
            Safetensors file = Safetensors.map(path, arena);
            return Checks.in(path, () -> read(cpu, file, arena));
        } catch (Throwable failed) {
            arena.close();
            throw failed;
        }
    }

    private static LoadedEncoder read(Compute cpu, Safetensors file, Arena arena) throws IOException {
        Map<String, String> metadata = file.metadata();
        require("format", metadata.get("format"), FORMAT);
        require("panels", metadata.get("panels"), PackedWeights.layout());
        EncoderConfig config = EncoderFamilies.configure(json(metadata, "config"));
        JsonObject described = json(metadata, "options");
        EncoderOptions options = options(described, config);
        Map<String, String> prompts = Map.copyOf(described.object("prompts").texts());
        Set<String> names = new HashSet<>(file.names());
        names.remove(TOKENIZER);
        int inputs = options.pooling().modes().size() * config.dim();
        DenseLayers dense = dense(file, described, inputs);
        names.removeIf(DenseLayers::isNamed);
        EncoderCore core = ModelLoader.load(
                cpu,
                () -> EncoderModel.ofPacked(config, new Weights(names, file::get)),
                () -> WordPiece.ofTokenizerJson(bytes(file)));
        String defaultPrompt = described.has("default_prompt") ? described.text("default_prompt") : options.prompt();
        return new LoadedEncoder(core, dense, options, prompts, defaultPrompt, new Unmapping(arena));
    }

    private static DenseLayers dense(Safetensors file, JsonObject described, int inputs) {
        Set<String> names = file.names().stream().filter(DenseLayers::isNamed).collect(Collectors.toSet());
        Weights weights = new Weights(names, file::get);
        DenseLayers dense = DenseLayers.takePacked(described.array("dense"), inputs, weights);
        weights.requireAllUsed("dense layers");
        return dense;
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

    private static byte[] bytes(Safetensors file) {
        Tensor bytes = file.get(TOKENIZER);
        if (bytes.dtype() != DType.I8) {
            throw Checks.fail(TOKENIZER, bytes.toString(), "expected bytes");
        }
        Checks.fitsInt(bytes.memory().byteSize(), "bytes of " + TOKENIZER);
        return bytes.memory().toArray(ValueLayout.JAVA_BYTE);
    }

    private static Map<String, Object> toJson(
            EncoderOptions options, DenseLayers dense, Map<String, String> prompts, String defaultPrompt) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put(
                "pooling", options.pooling().modes().stream().map(Pooling::name).toList());
        json.put("includes_prompt", options.pooling().includesPrompt());
        json.put("normalization", options.normalization().name());
        json.put("dimension", options.dimension());
        json.put("dense", dense.toJson());
        json.put("max_tokens", options.maxTokens());
        json.put("long_texts", options.longTexts().name());
        json.put("prompt", options.prompt());
        json.put("default_prompt", defaultPrompt);
        json.put("prompts", new TreeMap<>(prompts)); // the same bytes each time
        return json;
    }

    private static EncoderOptions options(JsonObject json, EncoderConfig config) {
        return new EncoderOptions(
                pooling(json),
                choice(json, "normalization", Normalization.values()),
                json.integer("dimension", 1, Integer.MAX_VALUE),
                json.integer("max_tokens", 3, config.positions()),
                choice(json, "long_texts", LongTexts.values()),
                json.text("prompt"));
    }

    private static PoolingConfig pooling(JsonObject json) {
        List<Pooling> modes = json.array("pooling").stream()
                .map(name -> choice(new JsonObject(json.name(), Map.of("pooling", name)), "pooling", Pooling.values()))
                .toList();
        if (modes.isEmpty()) {
            throw json.fail("pooling", "of " + Arrays.toString(Pooling.values()));
        }
        return new PoolingConfig(modes, json.flag("includes_prompt"));
    }

    private static <E extends Enum<E>> E choice(JsonObject json, String member, E[] values) {
        String name = json.text(member);
        return Arrays.stream(values)
                .filter(value -> value.name().equals(name))
                .findFirst()
                .orElseThrow(() -> json.fail(member, "one of " + Arrays.toString(values)));
    }
}
