package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.support.ChildJvm;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
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

/** Measures resident memory of a process that loads a model several times. Only Linux reports it. */
@EnabledOnOs(OS.LINUX)
class LoadMemoryTest {
    private static final int LAYERS = 12;
    private static final int DIM = 1024;

    private static final int EXPERTS = 16;
    /** The maximum heap in MiB. */
    private static final int HEAP = 64;

    /**
     * MiB for the largest tensor, the scratch of two threads and other memory of a JVM, and for the heap, which may be full at every
     * measurement.
     */
    private static final long SLACK = 40 + HEAP;

    @TempDir
    private Path folder;

    /** Writes a model of 12 layers with weights of 0 in bf16, which have 240 MB. */
    private Path write() throws IOException {
        Path file = folder.resolve("model.gguf");
        try (Arena arena = Arena.ofConfined()) {
            Tensor square = zeros(arena, DIM, DIM);
            Tensor up = zeros(arena, 2 * DIM, DIM);
            Tensor down = zeros(arena, DIM, 2 * DIM);
            float[] ones = new float[DIM];
            Arrays.fill(ones, 1);
            String at = "llama.";
            GgufWriter writer = FamilyTokens.put(new GgufWriter())
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

    /** Writes a GPT-OSS model of 4 layers of 16 experts with weights of 0 in MXFP4, which have 107 MB. */
    private Path writeExperts() throws IOException {
        Path file = folder.resolve("experts.gguf");
        try (Arena arena = Arena.ofConfined()) {
            Shape sizes = Shape.of(EXPERTS, DIM, DIM);
            long bytes = sizes.elements() / BlockType.MXFP4.elements() * BlockType.MXFP4.bytes();
            BlockTensor all = BlockTensor.view(arena.allocate(bytes), BlockType.MXFP4, sizes, 0);
            Tensor row = zeros(arena, DIM).copy(arena, DType.F32);
            Tensor rows = zeros(arena, EXPERTS, DIM).copy(arena, DType.F32);
            String at = "gpt-oss.";
            GgufWriter writer = FamilyTokens.put(new GgufWriter())
                    .put("general.architecture", GgufValue.ofString("gpt-oss"))
                    .put(at + "context_length", FamilyFile.number(64))
                    .put(at + "embedding_length", FamilyFile.number(DIM))
                    .put(at + "block_count", FamilyFile.number(4))
                    .put(at + "attention.head_count", FamilyFile.number(16))
                    .put(at + "attention.sliding_window", FamilyFile.number(8))
                    .put(at + "attention.layer_norm_rms_epsilon", GgufValue.ofF32(1e-5F))
                    .put(at + "expert_count", FamilyFile.number(EXPERTS))
                    .put(at + "expert_used_count", FamilyFile.number(2))
                    .tensor("token_embd.weight", zeros(arena, FamilyFile.VOCABULARY, DIM))
                    .tensor("output_norm.weight", row);
            for (int layer = 0; layer < 4; layer++) {
                String blk = "blk." + layer + ".";
                for (String name : List.of("attn_q", "attn_k", "attn_v", "attn_output")) {
                    writer.tensor(blk + name + ".weight", zeros(arena, DIM, DIM))
                            .tensor(blk + name + ".bias", row);
                }
                writer.tensor(blk + "attn_norm.weight", row)
                        .tensor(blk + "post_attention_norm.weight", row)
                        .tensor(blk + "attn_sinks.weight", Tensor.of(new float[16]))
                        .tensor(blk + "ffn_gate_inp.weight", rows)
                        .tensor(blk + "ffn_gate_inp.bias", Tensor.of(new float[EXPERTS]));
                for (String name : List.of("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")) {
                    writer.blocks(blk + name + ".weight", all).tensor(blk + name + ".bias", rows);
                }
            }
            writer.write(file);
        }
        return file;
    }

    private static Tensor zeros(Arena arena, long... sizes) {
        return Tensor.allocate(arena, DType.BF16, Shape.of(sizes));
    }

    /**
     * The file is not resident in addition to its packed copy. Closing a model returns its memory to the system after any number of loads.
     */
    @Test
    void aModelTakesItsSizeOnceAndGivesItBack() throws IOException, InterruptedException {
        requireSize(write(), 200);
    }

    /** Packing this number of matrices leaves garbage in the heap. Four models that are not freed would have 440 MiB. */
    @Test
    void expertsLargerThanTheHeapTakeTheirSizeOnceAndGiveItBack() throws IOException, InterruptedException {
        requireSize(writeExperts(), 110);
    }

    private static void requireSize(Path file, int least) throws IOException, InterruptedException {
        List<String> lines = ChildJvm.run(Loads.class, List.of("-Xmx" + HEAP + "m"), file.toString());
        long model = value(lines, "model");
        assertTrue(model > least, lines.toString());
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

    /** Loads a model several times and prints memory in MiB. */
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
