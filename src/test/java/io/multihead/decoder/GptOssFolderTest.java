package io.multihead.decoder;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.FamilyFile.Kind;
import io.multihead.format.Safetensors;
import io.multihead.internal.load.WeightSource;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** A folder of GPT-OSS in its published form, with experts as codes and scales, is compared with the specification. */
class GptOssFolderTest {
    private static final String CONFIG = """
            {"model_type": "gpt_oss", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "max_position_embeddings": 128,
             "rms_norm_eps": 1.52587890625e-05, "rope_theta": 50000, "vocab_size": 261, "tie_word_embeddings": false,
             "attention_bias": true, "hidden_act": "silu", "sliding_window": 4, "num_local_experts": 6,
             "num_experts_per_tok": 2, "swiglu_limit": 7.0,
             "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
             "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
             "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
              "original_max_position_embeddings": 32}}
            """;

    @TempDir
    private Path folder;

    @Test
    void codesAndScalesAreExperts() throws IOException {
        FamilyFile file = new FamilyFile(Kind.GPT_OSS, 8);
        write(file, CONFIG, true);
        FamilyFilesTest.assertClose(file, folder);
        Path packed = folder.resolve("packed");
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, folder)) {
            model.write(packed);
            try (LanguageModel mapped = LanguageModel.map(cpu, packed)) {
                assertArrayEquals(logits(model), logits(mapped));
            }
        }
        String others = CONFIG.replace("mxfp4", "gptq");
        Files.writeString(folder.resolve("config.json"), others);
        try (Compute cpu = Compute.serial()) {
            String message = assertThrows(IllegalArgumentException.class, () -> LanguageModel.load(cpu, folder))
                    .getMessage();
            assertTrue(
                    message.endsWith("config.json: config.quantization_config.quant_method: gptq; expected mxfp4"),
                    message);
        }
    }

    /** The experts are numbers instead of codes, as transformers saves a finetuned model. */
    @Test
    void numbersAreExperts() throws IOException {
        FamilyFile file = new FamilyFile(Kind.GPT_OSS, 8);
        write(file, CONFIG.replaceAll("\"quantization_config\".*\n", ""), false);
        FamilyFilesTest.assertClose(file, folder);
    }

    @Test
    void tensorsOfOtherSizesAreNamed() {
        String at = "model.layers.0.mlp.experts.";
        Tensor few = Tensor.view(MemorySegment.ofArray(new byte[64]), DType.I8, Shape.of(2, 2, 1, 16));
        Tensor scales = Tensor.view(MemorySegment.ofArray(new byte[6]), DType.I8, Shape.of(2, 3, 1));
        GptOssSource odd = source(Map.of(at + "gate_up_proj_blocks", few, at + "gate_up_proj_scales", scales));
        String message = message(() -> odd.get(at + "1.up_proj.weight", Shape.of()));
        assertTrue(
                message.endsWith("_blocks\": shape [2, 2, 1, 16]; expected [2, 3, 1, 16], an even number of rows"),
                message);
        GptOssSource alone = source(Map.of(at + "down_proj_blocks", few));
        message = message(() -> alone.get(at + "0.down_proj.weight", Shape.of()));
        assertTrue(message.contains("down_proj_scales\": not in the folder; expected a tensor for"), message);
        Tensor many = Tensor.view(MemorySegment.ofArray(new byte[0]), DType.I8, Shape.of(1L << 40, 0, 1, 16));
        message = message(() -> source(Map.of(at + "down_proj_blocks", many)));
        assertTrue(message.endsWith("of at most 65536 experts"), message);
    }

    private static GptOssSource source(Map<String, Tensor> tensors) {
        return new GptOssSource(WeightSource.of(tensors));
    }

    private static String message(Executable refused) {
        return assertThrows(IllegalArgumentException.class, refused).getMessage();
    }

    private static float[] logits(LanguageModel model) {
        try (Sessions sessions = model.sessions(SessionOptions.DEFAULT);
                Session session = sessions.open()) {
            return session.append(5, 60, 70, 80, 90).nextLogits();
        }
    }

    private void write(FamilyFile file, String config, boolean quantized) throws IOException {
        Files.writeString(folder.resolve("config.json"), config);
        Files.writeString(folder.resolve("tokenizer.json"), BytePieces.tokenizerJson());
        Map<String, Tensor> all = new LinkedHashMap<>();
        try (Arena arena = Arena.ofConfined()) {
            for (String name : file.matrices()) {
                if (name.contains("_exps") && quantized) {
                    BlockTensor rounded = BlockTensor.quantize(arena, file.tensor(name), BlockType.MXFP4);
                    Tensor wide = Tensor.allocate(arena, DType.F32, rounded.shape());
                    rounded.dequantize(wide);
                    file.replace(name, wide);
                } else if (!name.contains("_exps")) {
                    all.put(FamilyNames.huggingFace(Kind.GPT_OSS, name), file.tensor(name));
                }
            }
            for (String name : file.others()) {
                if (!name.contains("_exps")) {
                    all.put(FamilyNames.huggingFace(Kind.GPT_OSS, name), file.tensor(name));
                }
            }
            for (int layer = 0; layer < Kind.GPT_OSS.layers; layer++) {
                putExperts(file, layer, all, quantized ? arena : null);
            }
            Safetensors.write(folder.resolve("model.safetensors"), all, Map.of());
        }
    }

    private static void putExperts(FamilyFile file, int layer, Map<String, Tensor> all, Arena arena) {
        String from = "blk." + layer + ".ffn_";
        String to = "model.layers." + layer + ".mlp.experts.";
        Tensor both = interleaved(file.tensor(from + "gate_exps.weight"), file.tensor(from + "up_exps.weight"));
        Tensor down = file.tensor(from + "down_exps.weight");
        if (arena == null) {
            all.put(to + "gate_up_proj", dense(both.permute(0, 2, 1)));
            all.put(to + "down_proj", dense(down.permute(0, 2, 1)));
        } else {
            putBlocks(both, to + "gate_up_proj", all, arena);
            putBlocks(down, to + "down_proj", all, arena);
        }
        all.put(
                to + "gate_up_proj_bias",
                interleaved(file.tensor(from + "gate_exps.bias"), file.tensor(from + "up_exps.bias")));
        all.put(to + "down_proj_bias", file.tensor(from + "down_exps.bias"));
    }

    private static Tensor dense(Tensor tensor) {
        return Tensor.of(tensor.toArray(), tensor.shape().toArray());
    }

    /** Returns alternating rows of gates and ups. */
    private static Tensor interleaved(Tensor gates, Tensor ups) {
        long[] sizes = gates.shape().toArray();
        sizes[1] *= 2;
        Tensor all = Tensor.of(new float[(int) (2 * gates.shape().elements())], sizes);
        for (long row = 0; row < gates.dim(1); row++) {
            gates.slice(1, row, row + 1).copyTo(all.slice(1, 2 * row, 2 * row + 1));
            ups.slice(1, row, row + 1).copyTo(all.slice(1, 2 * row + 1, 2 * row + 2));
        }
        return all;
    }

    /** Adds the codes and scales of weights. Each byte has two adjacent codes. */
    private static void putBlocks(Tensor weights, String name, Map<String, Tensor> all, Arena arena) {
        BlockTensor blocks = BlockTensor.quantize(arena, weights, BlockType.MXFP4);
        long count = weights.dim(2) / 32;
        MemorySegment bytes = blocks.memory().asSlice(blocks.offset(), blocks.bytes());
        byte[] codes = new byte[(int) (bytes.byteSize() / 17 * 16)];
        byte[] scales = new byte[codes.length / 16];
        for (int block = 0; block < scales.length; block++) {
            byte[] own = bytes.asSlice(block * 17L, 17).toArray(ValueLayout.JAVA_BYTE);
            scales[block] = own[0];
            for (int i = 0; i < 32; i++) {
                int code = own[1 + i % 16] >> i / 16 * 4 & 15;
                codes[block * 16 + i / 2] |= (byte) (code << i % 2 * 4);
            }
        }
        Shape shape = Shape.of(weights.dim(0), weights.dim(1), count);
        all.put(name + "_scales", Tensor.view(MemorySegment.ofArray(scales), DType.I8, shape));
        all.put(
                name + "_blocks",
                Tensor.view(
                        MemorySegment.ofArray(codes), DType.I8, Shape.of(weights.dim(0), weights.dim(1), count, 16)));
    }
}
