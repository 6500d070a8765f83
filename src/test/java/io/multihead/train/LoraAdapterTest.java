package io.multihead.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import io.multihead.encoder.TinyModel;
import io.multihead.nn.Gradients;
import io.multihead.support.Numbers;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Adapters of matrices: sums and gradients are compared with loops in double. Other tests check the training of
 * decoders and encoders, and PEFT's files.
 */
@Tag("lanes")
class LoraAdapterTest {
    private static final Compute CPU = Compute.serial();
    private static final int OUT = 33;
    private static final int IN = 64;
    private static final int RANK = 3;

    /** The storage of frozen weights. */
    enum Kept {
        F32(null),
        Q8(BlockType.Q8_0),
        Q4(BlockType.Q4_0);

        private final BlockType type;

        Kept(BlockType type) {
            this.type = type;
        }

        private LoraAdapter.Config of(int rank, String... modules) {
            LoraAdapter.Config config = LoraAdapter.Config.of(rank, modules);
            return type == null ? config : config.withFrozen(type);
        }
    }

    @TempDir
    private Path folder;

    private static Tensor draw(long seed, long... dims) {
        Tensor tensor = Tensor.zeros(Arena.ofAuto(), DType.F32, dims);
        return Numbers.gaussian(tensor, new SplittableRandom(seed), 0, 1);
    }

    /**
     * Checks an element. A sum of n products has an error of n roundings of the sum of their magnitudes. The factor and
     * the last addition add two roundings.
     */
    private static void assertProduct(double before, double[] left, double[] right, double scale, double actual) {
        double sum = before;
        double magnitude = Math.abs(before);
        for (int i = 0; i < left.length; i++) {
            sum += scale * left[i] * right[i];
            magnitude += Math.abs(scale * left[i] * right[i]);
        }
        assertEquals(sum, actual, (left.length + 4) * 0x1p-24 * magnitude);
    }

    private static double[] row(Tensor tensor, int axis, int index) {
        return Numbers.of(tensor.select(axis, index));
    }

    @ParameterizedTest
    @EnumSource
    void sumsAndGradientsAreThoseOfTheDefinition(Kept kept) {
        Tensor weight = draw(1, OUT, IN);
        Tensor frozen = Tensor.of(weight.toArray(), OUT, IN);
        if (kept.type != null) {
            BlockTensor.quantize(Arena.ofAuto(), weight, kept.type).dequantize(frozen);
        }
        LoraAdapter adapter = LoraAdapter.initialize(
                Arena.ofAuto(), Map.of("m.q.weight", weight), kept.of(RANK, "q").withAlpha(1.5), 2);
        adapter.apply(CPU);
        for (int i = 0; i < OUT * IN; i++) {
            // a sum with 0 is never -0
            assertEquals(0 + frozen.get(i / IN, i % IN), weight.get(i / IN, i % IN));
        }
        Tensor a = adapter.parameters().get("base_model.model.m.q.lora_A.weight");
        Tensor b = adapter.parameters().get("base_model.model.m.q.lora_B.weight");
        assertEquals(Set.of(a, b), Set.copyOf(adapter.parameters().values()));
        draw(3, OUT, RANK).copyTo(b);
        Tensor sum = draw(4, OUT, IN);
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        adapter.parameters()
                .forEach((name, tensor) -> gradients.put(
                        name,
                        draw(name.length() + 5L * tensor.dim(0), tensor.shape().toArray())));
        Map<String, double[]> before = new LinkedHashMap<>();
        gradients.forEach((name, tensor) -> before.put(name, Numbers.of(tensor)));
        Map<String, Tensor> threaded = new LinkedHashMap<>();
        gradients.forEach((name, tensor) ->
                threaded.put(name, Tensor.of(tensor.toArray(), tensor.shape().toArray())));
        adapter.apply(CPU);
        adapter.backward(CPU, Map.of("m.q.weight", sum), gradients);
        float[] serial = weight.toArray();
        try (Compute threads = Compute.threads(3)) {
            adapter.apply(threads);
            adapter.backward(threads, Map.of("m.q.weight", sum), threaded);
        }
        assertArrayEquals(serial, weight.toArray());
        gradients.forEach((name, tensor) ->
                assertArrayEquals(tensor.toArray(), threaded.get(name).toArray(), name));
        double scale = 1.5 / RANK;
        for (int out = 0; out < OUT; out++) {
            for (int in = 0; in < IN; in++) {
                assertProduct(frozen.get(out, in), row(b, 0, out), row(a, 1, in), scale, weight.get(out, in));
            }
            for (int r = 0; r < RANK; r++) {
                String name = "base_model.model.m.q.lora_B.weight";
                double dB = gradients.get(name).get(out, r);
                assertProduct(before.get(name)[out * RANK + r], row(sum, 0, out), row(a, 0, r), scale, dB);
            }
        }
        for (int r = 0; r < RANK; r++) {
            for (int in = 0; in < IN; in++) {
                String name = "base_model.model.m.q.lora_A.weight";
                double dA = gradients.get(name).get(r, in);
                assertProduct(before.get(name)[r * IN + in], row(b, 1, r), row(sum, 1, in), scale, dA);
            }
        }
    }

    private static LlamaLayers decoder() {
        return LlamaLayers.initialize(
                Arena.ofAuto(), LlamaLayers.Config.of(300, 32, 2, 4).withKeyValueHeads(2), 1);
    }

    private static double[] train(LlamaLayers model, LoraAdapter adapter, AdamW optimizer, int from, int to) {
        int[] tokens = IntStream.range(0, 400).map(i -> i * i % 7).toArray();
        Map<String, Tensor> sums = Gradients.zeros(Arena.ofAuto(), model.layers());
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        adapter.parameters()
                .forEach((name, tensor) -> gradients.put(
                        name,
                        Tensor.zeros(Arena.ofAuto(), DType.F32, tensor.shape().toArray())));
        double[] losses = new double[to - from];
        for (int step = from; step < to; step++) {
            Gradients.clear(sums);
            Gradients.clear(gradients);
            losses[step - from] = TokenWindows.next(tokens, 4, 14, step).learn(CPU, model.layers(), sums, step);
            adapter.backward(CPU, model.weights(sums), gradients);
            optimizer.step(CPU, gradients, 1e-1);
            adapter.apply(CPU);
            model.layers().parametersChanged();
        }
        return losses;
    }

    @ParameterizedTest
    @EnumSource
    void decodersLearnByTheirAdapters(Kept kept) throws IOException {
        LlamaLayers model = decoder();
        LoraAdapter adapter = LoraAdapter.initialize(
                Arena.ofAuto(), model.weights(), kept.of(4, "q_proj", "v_proj", "o_proj", "up_proj"), 2);
        adapter.apply(CPU);
        float[] norm = model.weights().get("model.norm.weight").toArray();
        float[] keys =
                model.weights().get("model.layers.1.self_attn.k_proj.weight").toArray();
        AdamW optimizer = AdamW.of(adapter.parameters(), AdamW.Options.DEFAULT);
        double[] losses = train(model, adapter, optimizer, 0, 25);
        assertTrue(losses[24] < losses[0] - 0.3, losses[0] + " to " + losses[24]);
        assertArrayEquals(norm, model.weights().get("model.norm.weight").toArray());
        assertArrayEquals(
                keys,
                model.weights().get("model.layers.1.self_attn.k_proj.weight").toArray());
        adapter.save(folder);
        assertTrue(Files.readString(folder.resolve("adapter_config.json"))
                .contains("\"target_modules\":[\"o_proj\",\"q_proj\",\"up_proj\",\"v_proj\"]"));
        assertEquals(2 * 2 * 4, adapter.parameters().size());
        assertTrue(adapter.parameters().containsKey("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"));
        LlamaLayers again = decoder();
        LoraAdapter loaded = LoraAdapter.load(Arena.ofAuto(), again.weights(), folder, kept.type);
        loaded.apply(CPU);
        model.weights()
                .forEach((name, tensor) -> assertArrayEquals(
                        tensor.toArray(), again.weights().get(name).toArray(), name));
    }

    @Test
    void encodersLearnByTheirAdapters() throws IOException {
        TinyModel.write(folder.resolve("tiny"));
        BertLayers encoder = BertLayers.load(Arena.ofAuto(), folder.resolve("tiny"));
        LoraAdapter adapter = LoraAdapter.initialize(
                Arena.ofAuto(), encoder.weights(), LoraAdapter.Config.of(2, "query", "value"), 3);
        AdamW optimizer = AdamW.of(adapter.parameters(), AdamW.Options.DEFAULT);
        Map<String, Tensor> sums = encoder.gradients(Arena.ofAuto(), name -> name.endsWith("in_proj_weight"));
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        adapter.parameters()
                .forEach((name, tensor) -> gradients.put(
                        name,
                        Tensor.zeros(Arena.ofAuto(), DType.F32, tensor.shape().toArray())));
        Tensor before = encoder.embed(CPU, List.of("a dog"));
        for (int step = 0; step < 2; step++) {
            Gradients.clear(sums);
            Gradients.clear(gradients);
            try (BertPass pass = encoder.record(CPU, List.of("a dog"), step)) {
                pass.backward(draw(9, 1, encoder.dim()), sums);
            }
            adapter.backward(CPU, encoder.weights(sums), gradients);
            optimizer.step(CPU, gradients, 1e-2);
            adapter.apply(CPU);
            encoder.parametersChanged();
        }
        Tensor after = encoder.embed(CPU, List.of("a dog"));
        assertTrue(before.get(0, 0) != after.get(0, 0));
        assertTrue(adapter.parameters()
                .containsKey("base_model.model.encoder.layer.0.attention.self.query.lora_B.weight"));
        adapter.save(folder.resolve("adapter"));
        BertLayers again = BertLayers.load(Arena.ofAuto(), folder.resolve("tiny"));
        LoraAdapter.load(Arena.ofAuto(), again.weights(), folder.resolve("adapter"), null)
                .apply(CPU);
        again.parametersChanged();
        assertArrayEquals(after.toArray(), again.embed(CPU, List.of("a dog")).toArray());
        again.save(folder.resolve("merged"));
        try (SentenceEncoder merged = SentenceEncoder.load(CPU, folder.resolve("merged"));
                SentenceEncoder plain = SentenceEncoder.load(CPU, folder.resolve("tiny"))) {
            assertTrue(merged.embed("a dog")[0] != plain.embed("a dog")[0]);
        }
    }

    @Test
    void otherAdaptersAreRefusedByName() throws IOException {
        LlamaLayers model = decoder();
        Map<String, Tensor> weights = model.weights();
        LoraAdapter.Config config = LoraAdapter.Config.of(2, "q_proj");
        LoraAdapter.initialize(Arena.ofAuto(), weights, config, 1).save(folder);
        Path file = folder.resolve("adapter_config.json");
        String settings = Files.readString(file);
        for (String[] change : new String[][] {
            {"\"LORA\"", "\"IA3\"", "peft_type"},
            {"\"bias\":\"none\"", "\"bias\":\"all\"", "bias"},
            {"\"use_dora\":false", "\"use_dora\":true", "use_dora"},
            {"\"r\":2", "\"r\":3", "lora_A.weight"},
            {"\"r\":2", "\"r\":2,\"rank_pattern\":{\"q_proj\":3}", "rank_pattern"},
            {"[\"q_proj\"]", "[\"q_proj\",\"v_proj\"]", "v_proj.lora_A.weight"},
            {"[\"q_proj\"]", "[\"v_proj\"]", "v_proj.lora_A.weight"},
            {"[\"q_proj\"]", "[\"qkv\"]", "qkv"}
        }) {
            assertTrue(settings.contains(change[0]), change[0]);
            Files.writeString(file, settings.replace(change[0], change[1]));
            String message = assertThrows(
                            IllegalArgumentException.class,
                            () -> LoraAdapter.load(Arena.ofAuto(), weights, folder, null))
                    .getMessage();
            assertTrue(message.contains(change[2]), message);
        }
        LoraAdapter adapter = LoraAdapter.initialize(Arena.ofAuto(), weights, config, 1);
        assertThrows(NullPointerException.class, () -> adapter.backward(CPU, Map.of(), Map.of()));
        assertThrows(IllegalArgumentException.class, () -> LoraAdapter.Config.of(0, "q_proj"));
        assertThrows(IllegalArgumentException.class, () -> LoraAdapter.Config.of(1));
    }
}
