package io.multihead.encoder;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.Safetensors;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Measures resident memory of a process that loads and closes encoders many times. Only Linux reports it. */
@EnabledOnOs(OS.LINUX)
class ReloadMemoryTest {
    private static final int DIM = 256;
    private static final int INNER = 1024;
    private static final int LAYERS = 2;
    private static final int LOADS = 40;

    /** The maximum heap in MiB. */
    private static final int HEAP = 64;

    /**
     * MiB for the heap, which may be empty at first and full at the end, and for other memory of a JVM. 35 encoders of 8 MB that are not
     * freed would have 280 MB.
     */
    private static final long SLACK = HEAP + 60;

    @TempDir
    Path folder;

    /** Writes a BERT of 8 MB with weights of 0, and with the heads of a cross-encoder and of a masked language model. */
    private void write() throws IOException {
        int words = TinyModel.VOCABULARY.size();
        Map<String, Tensor> weights = new LinkedHashMap<>();
        try (Arena arena = Arena.ofConfined()) {
            put(weights, arena, "embeddings.word_embeddings.weight", words, DIM);
            put(weights, arena, "embeddings.position_embeddings.weight", 64, DIM);
            put(weights, arena, "embeddings.token_type_embeddings.weight", 2, DIM);
            norm(weights, arena, "embeddings.LayerNorm");
            for (int layer = 0; layer < LAYERS; layer++) {
                String at = "encoder.layer." + layer + ".";
                for (String name : List.of("self.query", "self.key", "self.value", "output.dense")) {
                    linear(weights, arena, at + "attention." + name, DIM, DIM);
                }
                norm(weights, arena, at + "attention.output.LayerNorm");
                linear(weights, arena, at + "intermediate.dense", INNER, DIM);
                linear(weights, arena, at + "output.dense", DIM, INNER);
                norm(weights, arena, at + "output.LayerNorm");
            }
            linear(weights, arena, "pooler.dense", DIM, DIM);
            linear(weights, arena, "classifier", 1, DIM);
            linear(weights, arena, "cls.predictions.transform.dense", DIM, DIM);
            norm(weights, arena, "cls.predictions.transform.LayerNorm");
            put(weights, arena, "cls.predictions.bias", words);
            Safetensors.write(folder.resolve("model.safetensors"), weights, Map.of("format", "pt"));
        }
        Files.writeString(
                folder.resolve("config.json"),
                "{\"model_type\": \"bert\", \"hidden_size\": " + DIM + ", \"num_hidden_layers\": " + LAYERS
                        + ", \"num_attention_heads\": 4, \"intermediate_size\": " + INNER + ", \"vocab_size\": " + words
                        + ", \"max_position_embeddings\": 64}");
        Files.write(folder.resolve("vocab.txt"), TinyModel.VOCABULARY);
    }

    private static void linear(Map<String, Tensor> weights, Arena arena, String name, int outputs, int inputs) {
        put(weights, arena, name + ".weight", outputs, inputs);
        put(weights, arena, name + ".bias", outputs);
    }

    private static void norm(Map<String, Tensor> weights, Arena arena, String name) {
        put(weights, arena, name + ".weight", DIM);
        put(weights, arena, name + ".bias", DIM);
    }

    private static void put(Map<String, Tensor> weights, Arena arena, String name, long... dims) {
        weights.put(name, Tensor.allocate(arena, DType.F32, Shape.of(dims)));
    }

    @Test
    void encodersThatAreClosedLeaveNothingResident() throws IOException, InterruptedException {
        write();
        List<String> lines =
                ChildJvm.run(Reloads.class, List.of("-Xmx" + HEAP + "m", "-XX:+UseSerialGC"), folder.toString());
        List<String> grown =
                lines.stream().filter(line -> line.startsWith("grown: ")).toList();
        assertEquals(5, grown.size(), lines.toString());
        for (String line : grown) {
            assertTrue(Long.parseLong(line.substring("grown: ".length())) <= SLACK, lines.toString());
        }
    }

    /** Prints in MiB by how much memory grows between the first and the last loads of each kind of encoder. */
    public static final class Reloads {
        private Reloads() {}

        /** Loads an encoder and computes with it. */
        private interface Load {
            AutoCloseable load() throws Exception;
        }

        public static void main(String[] folders) throws Exception {
            Path folder = Path.of(folders[0]);
            Path packed = folder.resolve("packed");
            Path reranker = folder.resolve("reranker");
            try (Compute cpu = Compute.threads(2)) {
                try (SentenceEncoder encoder = SentenceEncoder.load(cpu, folder)) {
                    encoder.write(packed);
                }
                try (Reranker encoder = Reranker.load(cpu, folder)) {
                    encoder.write(reranker);
                }
                reload(() -> used(SentenceEncoder.load(cpu, folder)));
                reload(() -> used(SentenceEncoder.map(cpu, packed)));
                reload(() -> used(Reranker.load(cpu, folder)));
                reload(() -> used(Reranker.map(cpu, reranker)));
                reload(() -> {
                    SparseEncoder encoder = SparseEncoder.load(cpu, folder);
                    encoder.embed("ab c");
                    return encoder;
                });
            }
        }

        private static AutoCloseable used(SentenceEncoder encoder) {
            encoder.embed("ab c");
            return encoder;
        }

        private static AutoCloseable used(Reranker encoder) {
            encoder.score("ab", "c");
            return encoder;
        }

        private static void reload(Load load) throws Exception {
            long first = 0;
            for (int time = 0; time < LOADS; time++) {
                AutoCloseable encoder = load.load();
                encoder.close();
                encoder.close();
                first = time == 4 ? resident() : first;
            }
            System.out.println("grown: " + (resident() - first));
        }

        /** Returns the resident memory in MiB. The system reports it in pages of 4 KiB. */
        private static long resident() throws IOException {
            return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096 >> 20;
        }
    }
}
