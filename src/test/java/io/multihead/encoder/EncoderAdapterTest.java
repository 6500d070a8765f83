package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.gemm.WeightFormat;
import io.multihead.internal.load.Loading;
import io.multihead.support.Numbers;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.train.LoraAdapter;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Encoders of every kind with an adapter have the same bits as encoders from a folder with merged matrices, with weights as stored and with
 * rounded weights.
 */
class EncoderAdapterTest {
    private static final Compute CPU = Compute.serial();
    private static final String WEIGHTS = "model.safetensors";

    @TempDir
    private Path folder;

    /** Loads a model and computes outputs. */
    private interface Outputs {
        float[] of(Path model, EncoderLoadOptions options) throws IOException;
    }

    private static float[] sentence(Path model, EncoderLoadOptions options) throws IOException {
        try (SentenceEncoder encoder = SentenceEncoder.load(CPU, model, options)) {
            return encoder.embed("a dog");
        }
    }

    private static float[] scores(Path model, EncoderLoadOptions options) throws IOException {
        try (Reranker reranker = Reranker.load(CPU, model, options)) {
            return Tensor.of(reranker.score("a dog", List.of("a cat", "dog dog")))
                    .toArray();
        }
    }

    private static float[] tokens(Path model, EncoderLoadOptions options) throws IOException {
        try (TokenEncoder encoder = TokenEncoder.load(CPU, model, options)) {
            return encoder.embedDocuments(List.of("g h k")).tensor().toArray();
        }
    }

    private static float[] words(Path model, EncoderLoadOptions options) throws IOException {
        try (SparseEncoder encoder = SparseEncoder.load(CPU, model, options)) {
            return encoder.embed("a dog").weights();
        }
    }

    /** Returns copies of the weights of a folder. */
    private static Map<String, Tensor> weights(Path model) throws IOException {
        Map<String, Tensor> copies = new LinkedHashMap<>();
        try (Arena arena = Arena.ofConfined()) {
            Safetensors file = Safetensors.map(arena, model.resolve(WEIGHTS));
            file.names()
                    .forEach(name -> copies.put(
                            name,
                            file.get(name).copy(Arena.ofAuto(), file.get(name).dtype())));
        }
        return copies;
    }

    private Path adapter(Map<String, Tensor> weights, String... modules) throws IOException {
        LoraAdapter lora = LoraAdapter.initialize(Arena.ofAuto(), weights, LoraAdapter.Config.of(2, modules), 3);
        SplittableRandom random = new SplittableRandom(2);
        lora.parameters().values().forEach(tensor -> Numbers.gaussian(tensor, random, 0, 0.3));
        lora.apply(CPU);
        lora.save(folder.resolve("adapter"));
        return folder.resolve("adapter");
    }

    private void mergesInto(Path base, Path merged, Outputs outputs, String... modules) throws IOException {
        Map<String, Tensor> weights = weights(base);
        Path adapter = adapter(weights, modules);
        Safetensors.write(merged.resolve(WEIGHTS), weights, Map.of());
        for (WeightFormat format : new WeightFormat[] {null, WeightFormat.BF16}) {
            EncoderLoadOptions options = EncoderLoadOptions.DEFAULT.withFormat(format);
            float[] expected = outputs.of(merged, options);
            assertArrayEquals(expected, outputs.of(base, options.withAdapter(adapter)));
            assertFalse(Arrays.equals(expected, outputs.of(base, options)), "the adapter changes nothing");
        }
    }

    @Test
    void sentenceEncoders() throws IOException {
        mergesInto(
                TinyModel.write(folder.resolve("base")),
                TinyModel.write(folder.resolve("merged")),
                EncoderAdapterTest::sentence,
                "query",
                "dense");
    }

    @Test
    void rerankers() throws IOException {
        TinyReranker model = new TinyReranker(1, 1);
        mergesInto(
                model.write(folder.resolve("base")),
                model.write(folder.resolve("merged")),
                EncoderAdapterTest::scores,
                "value",
                "classifier");
    }

    /** PEFT saves the whole classifier of an adapted cross-encoder, including the bias. */
    @Test
    void modulesThatAreSavedWholeTakeThePlaceOfTheModels() throws IOException {
        Path base = new TinyReranker(1, 1).write(folder.resolve("base"));
        Path merged = new TinyReranker(1, 1).write(folder.resolve("merged"));
        Map<String, Tensor> weights = weights(base);
        Path adapter = adapter(weights, "value");
        Map<String, Tensor> saved = new LinkedHashMap<>();
        try (Arena arena = Arena.ofConfined()) {
            Safetensors file = Safetensors.map(arena, adapter.resolve("adapter_model.safetensors"));
            file.names().forEach(name -> saved.put(name, file.get(name).copy(Arena.ofAuto(), DType.F32)));
        }
        for (String name : List.of("classifier.weight", "classifier.bias")) {
            Tensor whole = Tensor.of(
                    new float[(int) weights.get(name).shape().elements()],
                    weights.get(name).shape().toArray());
            Numbers.gaussian(whole, new SplittableRandom(5), 0, 1);
            weights.put(name, whole);
            saved.put("base_model.model." + name, whole);
        }
        Safetensors.write(adapter.resolve("adapter_model.safetensors"), saved, Map.of());
        Safetensors.write(merged.resolve(WEIGHTS), weights, Map.of());
        EncoderLoadOptions options = EncoderLoadOptions.DEFAULT.withAdapter(adapter);
        refuses("classifier", () -> scores(base, options));
        Path settings = adapter.resolve("adapter_config.json");
        String json = Files.readString(settings).strip();
        Files.writeString(
                settings, json.substring(0, json.length() - 1) + ", \"modules_to_save\": [\"classifier\", \"score\"]}");
        assertArrayEquals(scores(merged, EncoderLoadOptions.DEFAULT), scores(base, options));
        refuses("modules_to_save", () -> LoraAdapter.load(Arena.ofAuto(), weights, adapter, null));
    }

    /** The projection has an adapter, even in folders that store it separately from the encoder. */
    @Test
    void tokenEncoders() throws IOException {
        TinyTokenModel model = new TinyTokenModel(1);
        mergesInto(
                model.writePyLate(folder.resolve("base")),
                model.writePyLate(folder.resolve("merged")),
                EncoderAdapterTest::tokens,
                "value");
        mergesInto(
                model.writeAuthors(folder.resolve("base2")),
                model.writeAuthors(folder.resolve("merged2")),
                EncoderAdapterTest::tokens,
                "linear");
    }

    @Test
    void sparseEncodersAndTheirHeads() throws IOException {
        TinyMasked model = new TinyMasked(1, false);
        mergesInto(
                model.write(folder.resolve("base")),
                model.write(folder.resolve("merged")),
                EncoderAdapterTest::words,
                "key");
        mergesInto(
                model.write(folder.resolve("base")),
                model.write(folder.resolve("merged")),
                EncoderAdapterTest::words,
                "decoder");
    }

    /**
     * A file may contain the table of word embeddings a second time, as the last layer. An adapter of the last layer would make them
     * differ.
     */
    @Test
    void anAdapterOfATiedHeadIsRefused() throws IOException {
        TinyMasked model = new TinyMasked(1, true);
        Map<String, Tensor> weights = new LinkedHashMap<>(model.weights());
        weights.put(
                "cls.predictions.decoder.weight",
                Tensor.of(weights.get("bert.embeddings.word_embeddings.weight").toArray(), 60, TinyModel.DIM));
        Path base = model.write(folder.resolve("base"), weights);
        words(base, EncoderLoadOptions.DEFAULT);
        Path adapter = adapter(weights(base), "decoder");
        refuses("decoder", () -> words(base, EncoderLoadOptions.DEFAULT.withAdapter(adapter)));
    }

    @Test
    void filesWithoutSuchMatricesAreRefused() throws IOException {
        Path base = TinyModel.write(folder.resolve("base"));
        Path adapter = adapter(weights(base), "query");
        EncoderLoadOptions options = EncoderLoadOptions.DEFAULT.withAdapter(adapter);
        Path gguf = Files.write(folder.resolve("model.gguf"), new byte[] {'G', 'G', 'U', 'F'});
        refuses("GGUF", () -> sentence(gguf, options));
        refuses("GGUF", () -> scores(gguf, options));
        refuses("GGUF", () -> tokens(gguf, options));
        refuses("GGUF", () -> words(gguf, options));
        Path none = folder.resolve("none");
        assertThrows(IOException.class, () -> words(base, options.withAdapter(none)));
    }

    @Test
    void aFailedLoadFreesItsMemory() throws IOException {
        List<Loading> begun = new ArrayList<>();
        assertThrows(
                IOException.class,
                () -> EncoderLoadOptions.DEFAULT.load(CPU, folder, loading -> {
                    begun.add(loading);
                    throw new IOException("none");
                }));
        assertFalse(begun.getFirst().arena().scope().isAlive());
        Path base = TinyModel.write(folder.resolve("base"));
        EncoderLoadOptions.DEFAULT.load(CPU, base, begun::add);
        assertTrue(begun.getLast().arena().scope().isAlive());
        begun.getLast().close();
    }

    private static void refuses(String part, org.junit.jupiter.api.function.Executable call) {
        String message = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(message.contains(part), message);
    }
}
