package io.multihead.internal.load;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.train.LoraAdapter;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Adapters of matrices that consist of several fused matrices. */
class PeftAdapterTest {
    private static final Compute CPU = Compute.serial();
    private static final String FUSED = "layers.0.qkv_proj.weight";

    @TempDir
    private Path folder;

    /** Counts the reads of weights. */
    private static final class Counting implements WeightSource {
        private final Map<String, Tensor> tensors;
        private int reads;

        Counting(Map<String, Tensor> tensors) {
            this.tensors = tensors;
        }

        @Override
        public Set<String> names() {
            return tensors.keySet();
        }

        @Override
        public StoredWeight get(String name, Shape expected) {
            reads++;
            return StoredWeight.of(tensors.get(name));
        }

        @Override
        public Shape shape(String name) {
            return tensors.get(name).shape();
        }

        @Override
        public long bytes(String name) {
            return shape(name).elements() * Float.BYTES;
        }
    }

    private Path adapter(String settings, Map<String, Tensor> tensors) throws IOException {
        Safetensors.write(folder.resolve(PeftSettings.WEIGHTS), tensors, Map.of());
        Files.writeString(
                folder.resolve(PeftSettings.CONFIG),
                "{\"peft_type\":\"LORA\",\"bias\":\"none\",\"fan_in_fan_out\":false,\"use_dora\":false,\"r\":1,\"lora_alpha\":1,"
                        + settings + "}");
        return folder;
    }

    /**
     * Weights of several formats are not packed as one matrix, so the format of a saved weight is requested before the
     * weight is read.
     */
    @Test
    void aSavedWeightHasTheTypeOfTheModels() throws IOException {
        Tensor own = Tensor.of(new float[] {1, 1}, 1, 2).copy(Arena.ofAuto(), DType.BF16);
        Tensor whole = Tensor.of(new float[] {2, 1 + 0x1p-20f}, 1, 2);
        adapter("\"modules_to_save\":[\"head\"]", Map.of(PeftSettings.PREFIX + "head.weight", whole));
        WeightSource merged = PeftAdapter.read(folder).into(CPU, WeightSource.of(Map.of("head.weight", own)));
        StoredWeight saved = merged.get("head.weight", Shape.of(1, 2));
        assertEquals(merged.like("head.weight", Shape.of(1, 2)).format(), saved.format());
        assertArrayEquals(new float[] {2, 1}, saved.plain().toArray());
    }

    /** The prefix of all names contains the word model, which is not the name of a module here. */
    @Test
    void aModuleOfTheNameOfThePrefixIsAnotherOne() throws IOException {
        String stem = PeftSettings.PREFIX + "layers.0.down_proj";
        Map<String, Tensor> pair = Map.of(
                stem + PeftSettings.A,
                Tensor.of(new float[] {1, 2}, 1, 2),
                stem + PeftSettings.B,
                Tensor.of(new float[] {3}, 1, 1));
        adapter("\"modules_to_save\":[\"model\"]", pair);
        Map<String, Tensor> base = Map.of("layers.0.down_proj.weight", Tensor.of(new float[] {1, 1}, 1, 2));
        WeightSource merged = PeftAdapter.read(folder).into(CPU, WeightSource.of(base));
        assertArrayEquals(
                new float[] {4, 7},
                merged.get("layers.0.down_proj.weight", Shape.of(1, 2)).plain().toArray());
    }

    /** Several reads of rows of a matrix use one merged matrix, W + alpha / rank B A of small integers. */
    @Test
    void aMatrixIsMergedOnceForAllOfItsParts() throws IOException {
        Map<String, Tensor> base = new LinkedHashMap<>();
        base.put(FUSED, Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 3, 2));
        base.put("layers.0.down_proj.weight", Tensor.of(new float[] {1, 1}, 1, 2));
        LoraAdapter.initialize(Arena.ofAuto(), base, LoraAdapter.Config.of(1, "qkv_proj"), 1)
                .save(folder);
        Safetensors.write(
                folder.resolve(PeftSettings.WEIGHTS),
                Map.of(
                        PeftSettings.PREFIX + "layers.0.qkv_proj" + PeftSettings.A,
                                Tensor.of(new float[] {1, -1}, 1, 2),
                        PeftSettings.PREFIX + "layers.0.qkv_proj" + PeftSettings.B,
                                Tensor.of(new float[] {1, 2, 3}, 3, 1)),
                Map.of());
        Counting source = new Counting(base);
        WeightSource merged = PeftAdapter.read(folder).into(CPU, source);
        float[][] expected = {{3, 0}, {7, 0}, {11, 0}};
        for (int row = 0; row < expected.length; row++) {
            StoredWeight whole = merged.get(FUSED, Shape.of(3, 2));
            assertArrayEquals(expected[row], whole.rows(row, row + 1L).plain().toArray());
        }
        assertEquals(1, source.reads);
        merged.get("layers.0.down_proj.weight", Shape.of(1, 2));
        assertEquals(2, source.reads);
    }
}
