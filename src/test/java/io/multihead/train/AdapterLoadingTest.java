package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.cache.CacheFormat;
import io.multihead.compute.Compute;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.encoder.EncoderLoadOptions;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TinyModel;
import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.format.Safetensors;
import io.multihead.support.Numbers;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairs;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * PEFT adapters are merged while a model is loaded. The result has the same bits as the trained model. Other tests
 * check refused adapters.
 */
class AdapterLoadingTest {
    private static final Compute CPU = Compute.serial();
    private static final BytePairs PIECES = BytePairs.learn("the fox and the crow ".repeat(20), 270);
    private static final int[] IDS = {1, 5, 77, 200, 3, 3, 260};

    @TempDir
    private Path folder;

    private Path base;
    private Path adapter;
    private LlamaLayers model;

    @BeforeEach
    void write() throws IOException {
        base = folder.resolve("base");
        adapter = folder.resolve("adapter");
        LlamaLayers.Config sizes =
                LlamaLayers.Config.of(PIECES.vocabulary(), 32, 2, 4).withKeyValueHeads(2);
        model = LlamaLayers.initialize(Arena.ofAuto(), sizes, 1);
        model.save(base);
        PIECES.writeTo(base);
    }

    private static void draw(LoraAdapter to) {
        SplittableRandom random = new SplittableRandom(2);
        to.parameters().values().forEach(tensor -> Numbers.gaussian(tensor, random, 0, 0.3));
    }

    private float[] logits(LoadOptions options) throws IOException {
        try (LanguageModel loaded = LanguageModel.load(CPU, base, options);
                Sessions sessions = loaded.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open().append(IDS)) {
            return session.nextLogits();
        }
    }

    private float[] trained() {
        try (Arena arena = Arena.ofShared();
                LanguageModel parts =
                        LanguageModel.of(CPU, model.transformer(arena), PIECES.tokenizer(), model.contextTokens());
                Sessions sessions = parts.sessions(SessionOptions.DEFAULT.withCacheFormat(CacheFormat.F32));
                Session session = sessions.open().append(IDS)) {
            return session.nextLogits();
        }
    }

    private LoraAdapter adapted(LoraAdapter.Config config) throws IOException {
        LoraAdapter lora = LoraAdapter.initialize(Arena.ofAuto(), model.weights(), config, 3);
        draw(lora);
        lora.apply(CPU);
        lora.save(adapter);
        return lora;
    }

    @Test
    void decodersHaveTheBitsOfTheTrainedModel() throws IOException {
        float[] plain = logits(LoadOptions.DEFAULT);
        adapted(LoraAdapter.Config.of(4, "q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"));
        float[] merged = logits(LoadOptions.DEFAULT.withAdapter(adapter));
        assertArrayEquals(trained(), merged);
        double most = 0;
        for (int i = 0; i < plain.length; i++) {
            most = Math.max(most, Math.abs(plain[i] - merged[i]));
        }
        assertTrue(most > 0.01, most + " of difference");
    }

    /** The weights of a larger model have a prefix that the adapters of its encoder lack. */
    @Test
    void encodersHaveTheBitsOfTheTrainedModel() throws IOException {
        Path tiny = TinyModel.write(folder.resolve("tiny"));
        BertLayers encoder = BertLayers.load(Arena.ofAuto(), tiny);
        LoraAdapter lora = LoraAdapter.initialize(
                Arena.ofAuto(), encoder.weights(), LoraAdapter.Config.of(2, "query", "value", "dense"), 3);
        draw(lora);
        lora.apply(CPU);
        lora.save(adapter);
        encoder.save(folder.resolve("merged"));
        Path prefixed = TinyModel.write(folder.resolve("prefixed"));
        Map<String, Tensor> named = new LinkedHashMap<>();
        BertLayers.load(Arena.ofAuto(), tiny).weights().forEach((name, tensor) -> named.put("bert." + name, tensor));
        Safetensors.write(prefixed.resolve("model.safetensors"), named, Map.of());
        EncoderLoadOptions options = EncoderLoadOptions.DEFAULT.withAdapter(adapter);
        try (SentenceEncoder expected = SentenceEncoder.load(CPU, folder.resolve("merged"));
                SentenceEncoder merged = SentenceEncoder.load(CPU, tiny, options);
                SentenceEncoder other = SentenceEncoder.load(CPU, prefixed, options)) {
            assertArrayEquals(expected.embed("a dog"), merged.embed("a dog"));
            assertArrayEquals(expected.embed("a dog"), other.embed("a dog"));
        }
    }

    private void change(String from, String to) throws IOException {
        Path file = adapter.resolve("adapter_config.json");
        String settings = Files.readString(file);
        assertTrue(settings.contains(from), settings);
        Files.writeString(file, settings.replace(from, to));
    }

    /** Four configurations have the same factor: 8 / 4, 4 / root of 4, and two with patterns. */
    @Test
    void scalesAndPatternsAreObeyed() throws IOException {
        adapted(LoraAdapter.Config.of(4, "q_proj", "up_proj").withAlpha(8));
        float[] expected = logits(LoadOptions.DEFAULT.withAdapter(adapter));
        assertArrayEquals(trained(), expected);
        change("\"use_rslora\":false", "\"use_rslora\":true");
        change("\"lora_alpha\":8.0", "\"lora_alpha\":4.0");
        assertArrayEquals(expected, logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        change("\"use_rslora\":true", "\"use_rslora\":false");
        change("\"lora_alpha\":4.0", "\"lora_alpha\":1,\"alpha_pattern\":{\"q_proj\":8,\"mlp.up_proj\":8.0}");
        assertArrayEquals(expected, logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        change(
                "\"r\":4",
                "\"r\":2,\"rank_pattern\":{\"model.layers.0.self_attn.q_proj\":4,\"layers.1.self_attn.q_proj\":4,\"up_proj\":4}");
        assertArrayEquals(expected, logits(LoadOptions.DEFAULT.withAdapter(adapter)));
    }

    /** Copies the tensors of a file. */
    private static Map<String, Tensor> tensors(Path file) throws IOException {
        Map<String, Tensor> copies = new LinkedHashMap<>();
        try (Arena arena = Arena.ofConfined()) {
            Safetensors mapped = Safetensors.map(arena, file);
            mapped.names()
                    .forEach(name -> copies.put(
                            name,
                            mapped.get(name)
                                    .copy(Arena.ofAuto(), mapped.get(name).dtype())));
        }
        return copies;
    }

    private void saves(Map<String, Tensor> changes, String... modules) throws IOException {
        adapted(LoraAdapter.Config.of(4, "q_proj"));
        Path file = adapter.resolve("adapter_model.safetensors");
        Map<String, Tensor> all = tensors(file);
        changes.forEach((name, tensor) -> all.put("base_model.model." + name, tensor));
        Safetensors.write(file, all, Map.of());
        change("\"r\":4", "\"r\":4,\"modules_to_save\":[\"" + String.join("\",\"", modules) + "\"]");
    }

    /**
     * A folder may store a tied head a second time. A change of only one of the two weights is refused, since the model
     * has one table.
     */
    @Test
    void changesOfOneOfTiedWeightsAreRefused() throws IOException {
        String head = "lm_head.weight";
        String words = "model.embed_tokens.weight";
        LlamaLayers.Config sizes = LlamaLayers.Config.of(PIECES.vocabulary(), 32, 2, 4)
                .withKeyValueHeads(2)
                .withTiedHead(true);
        model = LlamaLayers.initialize(Arena.ofAuto(), sizes, 1);
        model.save(base);
        Path file = base.resolve("model.safetensors");
        Map<String, Tensor> weights = tensors(file);
        Tensor changed = Tensor.of(new float[PIECES.vocabulary() * 32], PIECES.vocabulary(), 32);
        Numbers.gaussian(changed, new SplittableRandom(4), 0, 0.3);
        saves(Map.of(words, changed), "embed_tokens");
        refuses("adapter: tensor \"lm_head.weight\"", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        Map<String, Tensor> both = new LinkedHashMap<>(weights);
        both.put(head, weights.get(words));
        Safetensors.write(file, both, Map.of());
        refuses("adapter: tensor \"lm_head.weight\"", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        saves(Map.of(head, changed), "lm_head");
        refuses("adapter: tensor \"lm_head.weight\"", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        saves(
                Map.of(
                        "lm_head.lora_A.weight", changed.slice(0, 0, 4),
                        "lm_head.lora_B.weight", changed.slice(1, 0, 4)),
                "none");
        refuses("adapter: tensor \"lm_head.weight\"", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        saves(Map.of(head, changed, words, changed), "lm_head", "embed_tokens");
        float[] merged = logits(LoadOptions.DEFAULT.withAdapter(adapter));
        adapted(LoraAdapter.Config.of(4, "q_proj"));
        both.put(words, changed);
        Safetensors.write(file, both, Map.of());
        assertArrayEquals(logits(LoadOptions.DEFAULT.withAdapter(adapter)), merged);
    }

    /** Incomplete or unusable adapters are refused. The alpha of a module may come from a pattern. */
    @Test
    void adaptersThatAreNotWholeAreNamed() throws IOException {
        adapted(LoraAdapter.Config.of(4, "q_proj"));
        change("\"r\":4", "\"r\":4,\"alpha_pattern\":{\"q_proj\":1e299}");
        refuses("1.0E299", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        Path weights = adapter.resolve("adapter_model.safetensors");
        Files.move(weights, adapter.resolve("adapter_model.bin"));
        String message = assertThrows(NoSuchFileException.class, () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)))
                .getMessage();
        assertTrue(message.contains("no adapter_model.safetensors; expected"), message);
        assertTrue(
                message.endsWith(
                        "adapter_model.bin is not read; get one by: hf download OWNER/NAME --local-dir " + adapter),
                message);
    }

    /** If a part of a model in several files is missing, the command in the error downloads this part. */
    @Test
    void aMissingPartOfAModelIsInTheCommand() throws IOException {
        Path part = folder.resolve("m-00001-of-00002.gguf");
        model.putTo(PIECES.putTo(new GgufWriter()))
                .put("split.no", GgufValue.ofInteger(GgufType.U16, 0))
                .put("split.count", GgufValue.ofInteger(GgufType.U16, 2))
                .write(part);
        String message = assertThrows(NoSuchFileException.class, () -> LanguageModel.load(CPU, part))
                .getMessage();
        assertTrue(message.endsWith("hf download OWNER/NAME m-00002-of-00002.gguf --local-dir " + folder), message);
    }

    @Test
    void whatIsNotImplementedIsRefusedByName() throws IOException {
        adapted(LoraAdapter.Config.of(2, "q_proj"));
        Path file = adapter.resolve("adapter_config.json");
        String settings = Files.readString(file);
        for (String[] change : new String[][] {
            {"\"peft_type\":\"LORA\"", "\"peft_type\":\"IA3\"", "peft_type"},
            {"\"bias\":\"none\"", "\"bias\":\"lora_only\"", "bias"},
            {"\"use_dora\":false", "\"use_dora\":true", "use_dora"},
            {"\"r\":2", "\"r\":2,\"lora_bias\":true", "lora_bias"},
            {"\"fan_in_fan_out\":false", "\"fan_in_fan_out\":true", "fan_in_fan_out"},
            {"\"r\":2", "\"r\":2,\"layer_replication\":[[0,1]]", "layer_replication"},
            {"\"r\":2", "\"r\":2,\"init_lora_weights\":\"pissa\"", "init_lora_weights"},
            {"\"r\":2", "\"r\":2,\"rank_pattern\":{\".*q_proj\":2}", "rank_pattern"},
            {"\"r\":2", "\"r\":3", "lora_A.weight"},
            {"\"lora_alpha\":4.0", "\"lora_alpha\":1e300", "alpha"},
        }) {
            assertTrue(settings.contains(change[0]), change[0] + " of " + settings);
            Files.writeString(file, settings.replace(change[0], change[1]));
            refuses(change[2], () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        }
        Files.writeString(file, settings);
        Path tensors = adapter.resolve("adapter_model.safetensors");
        String q = "base_model.model.model.layers.0.self_attn.q_proj";
        for (String other : new String[] {
            "base_model.model.model.layers.7.self_attn.q_proj", "base_model.model.q_proj", "base_model.model.norm"
        }) {
            Safetensors.write(
                    tensors,
                    Map.of(
                            other + ".lora_A.weight", Tensor.of(new float[64], 2, 32),
                            other + ".lora_B.weight", Tensor.of(new float[64], 32, 2)),
                    Map.of());
            refuses(
                    "base_model.model.norm".equals(other) ? "norm" : "q_proj",
                    () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        }
        Safetensors.write(
                tensors,
                Map.of(
                        q + ".lora_A.weight", Tensor.of(new float[62], 2, 31),
                        q + ".lora_B.weight", Tensor.of(new float[64], 32, 2)),
                Map.of());
        refuses("[32, 31]", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        Safetensors.write(tensors, Map.of(q + ".lora_embedding_A", Tensor.of(new float[64], 2, 32)), Map.of());
        refuses("or a module of modules_to_save", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        refuses("lora_embedding_A", () -> logits(LoadOptions.DEFAULT.withAdapter(adapter)));
        Path gguf = folder.resolve("model.gguf");
        model.putTo(PIECES.putTo(new GgufWriter())).write(gguf);
        adapted(LoraAdapter.Config.of(2, "q_proj"));
        refuses("GGUF", () -> LanguageModel.load(CPU, gguf, LoadOptions.DEFAULT.withAdapter(adapter)));
    }

    private static void refuses(String part, org.junit.jupiter.api.function.Executable call) {
        String message = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(message.contains(part), message);
        assertEquals(-1, message.indexOf("null"), message);
    }
}
