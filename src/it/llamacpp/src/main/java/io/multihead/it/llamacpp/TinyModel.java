package io.multihead.it.llamacpp;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A model of architecture llama with random weights and a SentencePiece vocabulary. It is small enough to be written in
 * one step.
 */
final class TinyModel {
    static final int POSITIONS = 64;
    private static final int DIM = 256;
    private static final int HIDDEN = 512;
    private static final int LAYERS = 2;
    private static final int HEADS = 4;
    private static final int KEY_VALUE_HEADS = 2;
    private static final int HEAD_DIM = DIM / HEADS;

    private final GgufWriter writer = new GgufWriter();
    private final SplittableRandom random = new SplittableRandom(7);
    private final Arena arena = Arena.ofAuto();
    private final Storage storage;
    private final int vocabulary;

    /** Stores a matrix of random f32 weights under a name. */
    interface Storage {
        void add(GgufWriter writer, String name, Tensor weights, Arena arena);
    }

    private TinyModel(Storage storage) {
        this.storage = storage;
        vocabulary = tokenizer();
        metadata();
        tensors();
    }

    /** Writes the model with matrices in one element type. */
    static void write(Path file, DType dtype) throws IOException {
        new TinyModel((writer, name, weights, arena) -> writer.tensor(name, weights.copy(arena, dtype)))
                .writer.write(file);
    }

    /** Writes the model with matrices in blocks of a type. */
    static void write(Path file, BlockType type) throws IOException {
        new TinyModel((writer, name, weights, arena) -> writer.blocks(name, BlockTensor.quantize(arena, weights, type)))
                .writer.write(file);
    }

    /** Writes the model with the values of blocks of a type as f32. */
    static void writeValues(Path file, BlockType type) throws IOException {
        new TinyModel((writer, name, weights, arena) -> {
                    Tensor values = Tensor.allocate(arena, DType.F32, weights.shape());
                    BlockTensor.quantize(arena, weights, type).dequantize(values);
                    writer.tensor(name, values);
                })
                .writer.write(file);
    }

    /** Writes the tokens: unknown, begin, end, 256 bytes, then letters and their merges. Returns their number. */
    private int tokenizer() {
        List<String> tokens = new ArrayList<>(List.of("<unk>", "<s>", "</s>"));
        List<Long> types = new ArrayList<>(List.of(2L, 3L, 3L));
        for (int i = 0; i < 256; i++) {
            tokens.add(String.format("<0x%02X>", i));
            types.add(6L);
        }
        List<String> pieces = new ArrayList<>(List.of("\u2581", "e", "t", "a", "h", "n", "\u00e9", "\u2581t", "he"));
        pieces.addAll(List.of("an", "\u2581the", "th", "\u2581a", "\u2581an", "tea", "ea", "\u2581\u2581"));
        pieces.forEach(piece -> types.add(1L));
        tokens.addAll(pieces);
        float[] scores = new float[tokens.size()];
        for (int i = 0; i < pieces.size(); i++) {
            scores[259 + i] = -i;
        }
        long[] numbers = types.stream().mapToLong(Long::longValue).toArray();
        writer.put("tokenizer.ggml.model", GgufValue.ofString("llama"))
                .put("tokenizer.ggml.tokens", GgufValue.ofStrings(tokens))
                .put("tokenizer.ggml.scores", GgufValue.ofFloats(scores))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, numbers))
                .put("tokenizer.ggml.bos_token_id", u32(1))
                .put("tokenizer.ggml.eos_token_id", u32(2))
                .put("tokenizer.ggml.add_bos_token", GgufValue.ofBool(true));
        return tokens.size();
    }

    private void metadata() {
        writer.put("general.architecture", GgufValue.ofString("llama"))
                .put("general.name", GgufValue.ofString("tiny"))
                .put("llama.context_length", u32(POSITIONS))
                .put("llama.embedding_length", u32(DIM))
                .put("llama.feed_forward_length", u32(HIDDEN))
                .put("llama.block_count", u32(LAYERS))
                .put("llama.attention.head_count", u32(HEADS))
                .put("llama.attention.head_count_kv", u32(KEY_VALUE_HEADS))
                .put("llama.attention.layer_norm_rms_epsilon", GgufValue.ofF32(1e-5f))
                .put("llama.rope.dimension_count", u32(HEAD_DIM))
                .put("llama.rope.freq_base", GgufValue.ofF32(10000))
                .put("llama.vocab_size", u32(vocabulary));
    }

    private static GgufValue u32(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    private void tensors() {
        matrix("token_embd", vocabulary, DIM);
        norm("output_norm");
        matrix("output", vocabulary, DIM);
        for (int layer = 0; layer < LAYERS; layer++) {
            String block = "blk." + layer + ".";
            norm(block + "attn_norm");
            matrix(block + "attn_q", DIM, DIM);
            matrix(block + "attn_k", KEY_VALUE_HEADS * HEAD_DIM, DIM);
            matrix(block + "attn_v", KEY_VALUE_HEADS * HEAD_DIM, DIM);
            matrix(block + "attn_output", DIM, DIM);
            norm(block + "ffn_norm");
            matrix(block + "ffn_gate", HIDDEN, DIM);
            matrix(block + "ffn_up", HIDDEN, DIM);
            matrix(block + "ffn_down", DIM, HIDDEN);
        }
    }

    private void matrix(String name, int rows, int columns) {
        Tensor weights = Tensor.allocate(arena, DType.F32, Shape.of(rows, columns));
        fill(weights, 0, 1 / Math.sqrt(columns));
        storage.add(writer, name + ".weight", weights, arena);
    }

    /** Writes a norm, which is f32 in every file, as in published files. */
    private void norm(String name) {
        Tensor weights = Tensor.allocate(arena, DType.F32, Shape.of(DIM));
        fill(weights, 1, 0.1);
        writer.tensor(name + ".weight", weights);
    }

    private void fill(Tensor weights, double mean, double deviation) {
        Tensor elements = weights.reshape(weights.shape().elements());
        for (long i = 0; i < elements.dim(0); i++) {
            elements.set(mean + deviation * random.nextGaussian(), i);
        }
    }
}
