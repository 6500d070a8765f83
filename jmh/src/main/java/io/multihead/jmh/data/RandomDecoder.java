package io.multihead.jmh.data;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.format.LazyTensor;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * GGUF files of language models in published shapes, with random weights and a vocabulary of 32,000 pieces, that this library and llama.cpp
 * load.
 */
public final class RandomDecoder {
    private static final int VOCABULARY = 32_000;
    /** The number of random rows of weights. Further rows repeat these rows. */
    private static final int DRAWN_ROWS = 64;

    private static final int BYTE = 6;

    private final Sizes model;
    private final String format;

    /** A published shape. */
    public enum Model {
        /** SmolLM2-135M. */
        SMOLLM2_135M(new Sizes(30, 576, 9, 3, 64, 1536, 0, 0)),
        /** Qwen3-0.6B without the normalization of heads. */
        QWEN3_0_6B(new Sizes(28, 1024, 16, 8, 128, 3072, 0, 0)),
        /** Llama-3.2-1B. */
        LLAMA3_1B(new Sizes(16, 2048, 32, 8, 64, 8192, 0, 0)),
        /** Eight of the 48 layers of Qwen3-30B-A3B. */
        QWEN3_30B_A3B(new Sizes(8, 2048, 32, 4, 128, 768, 128, 8));

        private final Sizes sizes;

        Model(Sizes sizes) {
            this.sizes = sizes;
        }
    }

    /**
     * The sizes of a model. {@code used} of the experts compute a token. The number of experts is 0 if the layers have
     * a feed-forward network.
     */
    private record Sizes(int layers, int dim, int heads, int keyHeads, int headDim, int inner, int experts, int used) {
        String architecture() {
            return experts == 0 ? "llama" : "qwen3moe";
        }
    }

    private RandomDecoder(Sizes model, String format) {
        this.model = model;
        this.format = format;
    }

    /**
     * Writes a file, unless it exists.
     *
     * @param folder the folder of the files
     * @param format {@code F32}, {@code F16}, {@code BF16} or the name of a {@link BlockType}
     * @return the file
     */
    public static Path file(Path folder, Model model, String format) throws IOException {
        Path file = folder.resolve(model + "." + format + ".gguf");
        if (!Files.exists(file)) {
            Files.createDirectories(folder);
            new RandomDecoder(model.sizes, format).write(file);
        }
        return file;
    }

    private void write(Path file) throws IOException {
        GgufWriter writer = metadata();
        matrix(writer, "token_embd.weight", VOCABULARY, model.dim());
        for (int layer = 0; layer < model.layers(); layer++) {
            String at = "blk." + layer + ".";
            ones(writer, at + "attn_norm.weight", model.dim());
            matrix(writer, at + "attn_q.weight", model.heads() * model.headDim(), model.dim());
            matrix(writer, at + "attn_k.weight", model.keyHeads() * model.headDim(), model.dim());
            matrix(writer, at + "attn_v.weight", model.keyHeads() * model.headDim(), model.dim());
            matrix(writer, at + "attn_output.weight", model.dim(), model.heads() * model.headDim());
            ones(writer, at + "ffn_norm.weight", model.dim());
            if (model.experts() > 0) {
                experts(writer, at);
                continue;
            }
            matrix(writer, at + "ffn_gate.weight", model.inner(), model.dim());
            matrix(writer, at + "ffn_up.weight", model.inner(), model.dim());
            matrix(writer, at + "ffn_down.weight", model.dim(), model.inner());
        }
        ones(writer, "output_norm.weight", model.dim());
        writer.write(file);
    }

    private void experts(GgufWriter writer, String at) {
        ones(writer, at + "attn_q_norm.weight", model.headDim());
        ones(writer, at + "attn_k_norm.weight", model.headDim());
        writer.tensor(at + "ffn_gate_inp.weight", drawn(at, model.experts(), model.dim()));
        matrix(writer, at + "ffn_gate_exps.weight", model.experts(), model.inner(), model.dim());
        matrix(writer, at + "ffn_up_exps.weight", model.experts(), model.inner(), model.dim());
        matrix(writer, at + "ffn_down_exps.weight", model.experts(), model.dim(), model.inner());
    }

    private GgufWriter metadata() {
        List<String> tokens = new ArrayList<>(List.of("<unk>", "<s>", "</s>"));
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
        }
        long[] types = new long[VOCABULARY];
        Arrays.fill(types, 1);
        Arrays.fill(types, 3, tokens.size(), BYTE);
        types[0] = 2;
        types[1] = 3;
        types[2] = 3;
        while (tokens.size() < VOCABULARY) {
            tokens.add("t" + tokens.size());
        }
        String at = model.architecture() + ".";
        GgufWriter writer = new GgufWriter();
        if (model.experts() > 0) {
            writer.put(at + "expert_count", number(model.experts()))
                    .put(at + "expert_used_count", number(model.used()))
                    .put(at + "expert_feed_forward_length", number(model.inner()));
        }
        return writer.put("general.architecture", GgufValue.ofString(model.architecture()))
                .put(at + "context_length", number(32_768))
                .put(at + "embedding_length", number(model.dim()))
                .put(at + "block_count", number(model.layers()))
                .put(at + "feed_forward_length", number(model.inner()))
                .put(at + "attention.head_count", number(model.heads()))
                .put(at + "attention.head_count_kv", number(model.keyHeads()))
                .put(at + "attention.key_length", number(model.headDim()))
                .put(at + "attention.value_length", number(model.headDim()))
                .put(at + "attention.layer_norm_rms_epsilon", GgufValue.ofF32(1e-5f))
                .put(at + "rope.freq_base", GgufValue.ofF32(500_000))
                .put(at + "rope.dimension_count", number(model.headDim()))
                .put(at + "vocab_size", number(VOCABULARY))
                .put("tokenizer.ggml.model", GgufValue.ofString("llama"))
                .put("tokenizer.ggml.tokens", GgufValue.ofStrings(tokens))
                .put("tokenizer.ggml.scores", GgufValue.ofFloats(new float[VOCABULARY]))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, types))
                .put("tokenizer.ggml.bos_token_id", number(1))
                .put("tokenizer.ggml.eos_token_id", number(2))
                .put("tokenizer.ggml.unknown_token_id", number(0));
    }

    private static GgufValue number(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    private static void ones(GgufWriter writer, String name, int count) {
        float[] ones = new float[count];
        Arrays.fill(ones, 1f);
        writer.tensor(name, Tensor.of(ones));
    }

    /** Writes one matrix, or several matrices as one tensor. */
    private void matrix(GgufWriter writer, String name, long... sizes) {
        Shape shape = Shape.of(sizes);
        int columns = (int) sizes[sizes.length - 1];
        long rows = shape.elements() / columns;
        boolean plain =
                Arrays.stream(DType.values()).anyMatch(type -> type.name().equals(format));
        if (plain) {
            DType type = DType.valueOf(format);
            writer.tensor(name, new LazyTensor(type, shape, arena -> {
                Tensor drawn = drawn(name, DRAWN_ROWS, columns).copy(arena, type);
                MemorySegment all = repeated(drawn.memory(), shape.elements() * type.bytes(), arena);
                return Tensor.view(all, type, shape);
            }));
            return;
        }
        BlockType type = BlockType.valueOf(format);
        writer.blocks(name, type, shape, arena -> {
            BlockTensor drawn = BlockTensor.quantize(arena, drawn(name, DRAWN_ROWS, columns), type);
            MemorySegment bytes = drawn.memory().asSlice(drawn.offset(), drawn.bytes());
            return BlockTensor.view(repeated(bytes, rows * drawn.rowBytes(), arena), type, shape, 0);
        });
    }

    private static MemorySegment repeated(MemorySegment some, long bytes, Arena arena) {
        MemorySegment all = arena.allocate(bytes, 64);
        for (long at = 0; at < bytes; at += some.byteSize()) {
            long length = Math.min(some.byteSize(), bytes - at);
            MemorySegment.copy(some, 0, all, at, length);
        }
        return all;
    }

    private static Tensor drawn(String name, int rows, int columns) {
        return Data.normal(name.hashCode(), 0.02, rows, columns);
    }
}
