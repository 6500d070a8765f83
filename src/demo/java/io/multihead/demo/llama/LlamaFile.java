package io.multihead.demo.llama;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import io.multihead.text.BytePairs;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;

/** Saves a trained model as GGUF, like converters of published models. */
public final class LlamaFile {
    /** The storage format of matrices. Norms are f32 in all formats. */
    public enum Weights {
        /** The format of training. */
        F32,
        /** Half the bytes of f32. */
        BF16,
        /** Blocks of 32 8-bit integers and a scale. */
        Q8_0
    }

    private final Llama model;
    private final Weights weights;
    private final GgufWriter writer = new GgufWriter();
    private final Arena arena;

    private LlamaFile(Llama model, Weights weights, Arena arena) {
        this.model = model;
        this.weights = weights;
        this.arena = arena;
    }

    /** Writes a file that any engine for Llama models can read. */
    public static void write(Llama model, BytePairs pieces, int context, Weights weights, Path file)
            throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            LlamaFile made = new LlamaFile(model, weights, arena);
            made.putSizes(context);
            pieces.putTo(made.writer);
            made.putTensors();
            made.writer.write(file);
        }
    }

    private void putSizes(int context) {
        Llama.Config config = model.config();
        writer.put("general.architecture", GgufValue.ofString("llama"))
                .put("general.name", GgufValue.ofString("fables"))
                .put("llama.context_length", number(context))
                .put("llama.embedding_length", number(config.dim()))
                .put("llama.block_count", number(config.layers()))
                .put("llama.feed_forward_length", number(config.inner()))
                .put("llama.attention.head_count", number(config.heads()))
                .put("llama.attention.head_count_kv", number(config.keyValueHeads()))
                .put("llama.attention.layer_norm_rms_epsilon", GgufValue.ofF32((float) Llama.EPSILON))
                .put("llama.rope.freq_base", GgufValue.ofF32((float) Llama.THETA))
                .put("llama.rope.dimension_count", number(config.headDim()))
                .put("llama.vocab_size", number(config.vocabulary()));
    }

    private static GgufValue number(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    private void putTensors() {
        Llama.Config config = model.config();
        putMatrix("token_embd.weight", model.tensor("embedding"));
        for (int layer = 0; layer < config.layers(); layer++) {
            String from = "layers." + layer + ".";
            String to = "blk." + layer + ".";
            int queries = config.heads() * config.headDim();
            int keys = config.keyValueHeads() * config.headDim();
            Tensor all = model.tensor(from + "self_attn.in_proj_weight");
            writer.tensor(to + "attn_norm.weight", model.tensor(from + "norm1.weight"));
            putMatrix(to + "attn_q.weight", all.slice(0, 0, queries));
            putMatrix(to + "attn_k.weight", all.slice(0, queries, queries + keys));
            putMatrix(to + "attn_v.weight", all.slice(0, queries + keys, queries + 2L * keys));
            putMatrix(to + "attn_output.weight", model.tensor(from + "self_attn.out_proj.weight"));
            writer.tensor(to + "ffn_norm.weight", model.tensor(from + "norm2.weight"));
            putMatrix(to + "ffn_gate.weight", model.tensor(from + "gate_proj.weight"));
            putMatrix(to + "ffn_up.weight", model.tensor(from + "up_proj.weight"));
            putMatrix(to + "ffn_down.weight", model.tensor(from + "down_proj.weight"));
        }
        writer.tensor("output_norm.weight", model.tensor("norm.weight"));
    }

    private void putMatrix(String name, Tensor tensor) {
        switch (weights) {
            case F32 -> writer.tensor(name, tensor);
            case BF16 -> writer.tensor(name, tensor.copy(arena, DType.BF16));
            case Q8_0 -> writer.blocks(name, BlockTensor.quantize(arena, tensor, BlockType.Q8_0));
        }
    }
}
