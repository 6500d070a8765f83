package io.multihead.it.spark;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Writes a language model of two layers with random weights. Its tokens are bytes. */
final class TinyLlama {
    private static final int DIM = 32;
    private static final int INNER = 64;
    private static final int VOCABULARY = 259;

    private final SplittableRandom random = new SplittableRandom(3);
    private final GgufWriter writer = new GgufWriter();

    private TinyLlama() {}

    static Path write(Path file) throws IOException {
        TinyLlama llama = new TinyLlama();
        llama.putSizes();
        llama.putTokenizer();
        llama.putWeights();
        llama.writer.write(file);
        return file;
    }

    private void putSizes() {
        writer.put("general.architecture", GgufValue.ofString("llama"))
                .put("llama.context_length", number(200))
                .put("llama.embedding_length", number(DIM))
                .put("llama.block_count", number(2))
                .put("llama.feed_forward_length", number(INNER))
                .put("llama.attention.head_count", number(4))
                .put("llama.attention.head_count_kv", number(2))
                .put("llama.attention.layer_norm_rms_epsilon", GgufValue.ofF32(1e-5F));
    }

    private static GgufValue number(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    private void putTokenizer() {
        List<String> tokens = new ArrayList<>(List.of("<unk>", "<s>", "</s>"));
        long[] types = new long[VOCABULARY];
        Arrays.fill(types, 6);
        types[0] = 2;
        types[1] = 3;
        types[2] = 3;
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
        }
        writer.put("tokenizer.ggml.model", GgufValue.ofString("llama"))
                .put("tokenizer.ggml.tokens", GgufValue.ofStrings(tokens))
                .put("tokenizer.ggml.scores", GgufValue.ofFloats(new float[VOCABULARY]))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, types))
                .put("tokenizer.ggml.add_bos_token", GgufValue.ofBool(false))
                .put("tokenizer.ggml.add_space_prefix", GgufValue.ofBool(false));
    }

    private void putWeights() {
        put("token_embd.weight", 1, VOCABULARY, DIM);
        for (int layer = 0; layer < 2; layer++) {
            String at = "blk." + layer + ".";
            put(at + "attn_norm.weight", 1, DIM);
            put(at + "attn_q.weight", 0.4, DIM, DIM);
            put(at + "attn_k.weight", 0.4, DIM / 2, DIM);
            put(at + "attn_v.weight", 0.4, DIM / 2, DIM);
            put(at + "attn_output.weight", 0.4, DIM, DIM);
            put(at + "ffn_norm.weight", 1, DIM);
            put(at + "ffn_gate.weight", 0.4, INNER, DIM);
            put(at + "ffn_up.weight", 0.4, INNER, DIM);
            put(at + "ffn_down.weight", 0.4, DIM, INNER);
        }
        put("output_norm.weight", 1, DIM);
    }

    private void put(String name, double deviation, long... shape) {
        float[] values = new float[(int) Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian(0, deviation);
        }
        writer.tensor(name, Tensor.of(values, shape));
    }
}
