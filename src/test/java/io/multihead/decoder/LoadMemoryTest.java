package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Resident memory of a process that loads a model, and loads it again; Linux alone says what it is. */
@EnabledOnOs(OS.LINUX)
class LoadMemoryTest {
    private static final int LAYERS = 12;
    private static final int DIM = 1024;

    /** MiB of the largest tensor, two threads' scratch and what else a JVM takes. */
    private static final long SLACK = 40;

    @TempDir
    private Path folder;

    /** Writes a model of 12 layers with weights of 0 in bf16, 240 MB. */
    private Path write() throws IOException {
        Path file = folder.resolve("model.gguf");
        try (Arena arena = Arena.ofConfined()) {
            Tensor square = zeros(arena, DIM, DIM);
            Tensor up = zeros(arena, 2 * DIM, DIM);
            Tensor down = zeros(arena, DIM, 2 * DIM);
            float[] ones = new float[DIM];
            Arrays.fill(ones, 1);
            String at = "llama.";
            GgufWriter writer = FamilyFile.tokenizer(new GgufWriter())
                    .put("general.architecture", GgufValue.ofString("llama"))
                    .put(at + "context_length", FamilyFile.number(64))
                    .put(at + "embedding_length", FamilyFile.number(DIM))
                    .put(at + "block_count", FamilyFile.number(LAYERS))
                    .put(at + "attention.head_count", FamilyFile.number(16))
                    .put(at + "attention.layer_norm_rms_epsilon", GgufValue.ofF32(1e-5F))
                    .put(at + "rope.dimension_count", FamilyFile.number(64))
                    .tensor("token_embd.weight", zeros(arena, FamilyFile.VOCABULARY, DIM))
                    .tensor("output_norm.weight", Tensor.of(ones));
            for (int layer = 0; layer < LAYERS; layer++) {
                String blk = "blk." + layer + ".";
                for (String name : List.of("attn_q", "attn_k", "attn_v", "attn_output")) {
                    writer.tensor(blk + name + ".weight", square);
                }
                writer.tensor(blk + "attn_norm.weight", Tensor.of(ones))
                        .tensor(blk + "ffn_norm.weight", Tensor.of(ones))
                        .tensor(blk + "ffn_gate.weight", up)
                        .tensor(blk + "ffn_up.weight", up)
                        .tensor(blk + "ffn_down.weight", down);
            }
            writer.write(file);
        }
        return file;
    }

    private static Tensor zeros(Arena arena, long rows, long columns) {
        return Tensor.allocate(arena, DType.BF16, Shape.of(rows, columns));
    }

    /** The file is not resident beside its packed copy, and what is closed goes back to the system, however often it is loaded. */
    @Test
    void aModelTakesItsSizeOnceAndGivesItBack() throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(Loads.class, List.of("-Xmx64m"), write().toString());
        long model = value(lines, "model");
        assertTrue(model > 200, lines.toString());
        assertTrue(value(lines, "peak") - value(lines, "start") <= model + model / 5 + SLACK, lines.toString());
        assertTrue(value(lines, "closed 5") - value(lines, "closed 1") <= SLACK, lines.toString());
    }

    private static long value(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name + ": "))
                .mapToLong(line -> Long.parseLong(line.substring(name.length() + 2)))
                .findFirst()
                .orElseThrow();
    }

    /** Prints MiB. */
    public static final class Loads {
        private Loads() {}

        private static void print(String name, String field) throws IOException {
            String line = Files.readAllLines(Path.of("/proc/self/status")).stream()
                    .filter(status -> status.startsWith(field + ":"))
                    .findFirst()
                    .orElseThrow();
            System.out.println(name + ": " + Long.parseLong(line.replaceAll("\\D", "")) / 1024);
        }

        public static void main(String[] file) throws IOException {
            try (Compute cpu = Compute.threads(2)) {
                print("start", "VmRSS");
                for (int time = 0; time < 6; time++) {
                    try (LanguageModel model = LanguageModel.load(cpu, Path.of(file[0]))) {
                        if (time == 0) {
                            System.out.println("model: " + (model.ownBytes() >> 20));
                            print("peak", "VmHWM");
                        }
                    }
                    print("closed " + time, "VmRSS");
                }
            }
        }
    }
}
