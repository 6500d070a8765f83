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

/** Encoders of llama.cpp's architectures, with random weights and a small vocabulary, in the form of its converters. */
final class TinyEncoder {
    static final int DIM = 256;
    static final int POSITIONS = 64;
    private static final int HEADS = 4;
    private static final int INNER = 512;
    private static final int LAYERS = 3;
    private static final String TOKENIZER = "tokenizer.ggml.";

    /** The kind of a file. */
    enum Kind {
        BERT("bert", "bert"),
        /** BERT with the head of a cross-encoder, like bge-reranker. */
        RERANKER("bert", "bert"),
        /** XLM-R with a Unigram tokenizer and one token type. */
        XLM_R("bert", "t5"),
        NOMIC("nomic-bert", "bert"),
        MODERN("modern-bert", "gpt2"),
        /** ModernBERT with a head. */
        MODERN_RERANKER("modern-bert", "gpt2");

        final String architecture;
        final String tokenizer;

        Kind(String architecture, String tokenizer) {
            this.architecture = architecture;
            this.tokenizer = tokenizer;
        }

        boolean ranks() {
            return this == RERANKER || this == MODERN_RERANKER;
        }
    }

    private final Kind kind;
    private final BlockType type;
    private final boolean values;
    private final GgufWriter writer = new GgufWriter();
    private final SplittableRandom random = new SplittableRandom(11);
    private final Arena arena = Arena.ofAuto();

    private TinyEncoder(Kind kind, int pooling, BlockType type, boolean values) {
        this.kind = kind;
        this.type = type;
        this.values = values;
        metadata(pooling);
        int words =
                switch (kind.tokenizer) {
                    case "bert" -> wordPiece();
                    case "t5" -> unigram();
                    default -> bytePairs();
                };
        tensors(words);
    }

    /** Writes a file, with matrices in f32 or in blocks of a type. */
    static void write(Path file, Kind kind, int pooling, BlockType type) throws IOException {
        new TinyEncoder(kind, pooling, type, false).writer.write(file);
    }

    /** Writes a file with the values of blocks of a type as f32. */
    static void writeValues(Path file, Kind kind, int pooling, BlockType type) throws IOException {
        new TinyEncoder(kind, pooling, type, true).writer.write(file);
    }

    private void metadata(int pooling) {
        writer.put("general.architecture", GgufValue.ofString(kind.architecture));
        put("context_length", u32(POSITIONS));
        put("embedding_length", u32(DIM));
        put("feed_forward_length", u32(INNER));
        put("block_count", u32(LAYERS));
        put("attention.head_count", u32(HEADS));
        put("attention.layer_norm_epsilon", GgufValue.ofF32(1e-5f));
        put("attention.causal", GgufValue.ofBool(false));
        put("pooling_type", u32(pooling));
        switch (kind.architecture) {
            case "nomic-bert" -> put("rope.freq_base", GgufValue.ofF32(100));
            case "modern-bert" -> {
                put("rope.freq_base", GgufValue.ofF32(1000));
                put("rope.freq_base_swa", GgufValue.ofF32(20));
                put("attention.sliding_window", u32(8));
                put("attention.sliding_window_pattern", u32(2));
                put("rope.scaling.type", GgufValue.ofString("none"));
            }
            default -> {}
        }
    }

    private void put(String key, GgufValue value) {
        writer.put(kind.architecture + "." + key, value);
    }

    private void token(String key, GgufValue value) {
        writer.put(TOKENIZER + key, value);
    }

    private static GgufValue u32(long value) {
        return GgufValue.ofInteger(GgufType.U32, value);
    }

    private int tokens(List<String> tokens, long[] types, int first, int last, int unknown) {
        token("model", GgufValue.ofString(kind.tokenizer));
        token("tokens", GgufValue.ofStrings(tokens));
        token("token_type", GgufValue.ofIntegers(GgufType.I32, types));
        token("bos_token_id", u32(first));
        token("eos_token_id", u32(last));
        token("seperator_token_id", u32(last));
        token("unknown_token_id", u32(unknown));
        token("padding_token_id", u32(0));
        token("token_type_count", u32(kind == Kind.XLM_R ? 1 : 2));
        token("add_bos_token", GgufValue.ofBool(true));
        token("add_eos_token", GgufValue.ofBool(true));
        return tokens.size();
    }

    private int wordPiece() {
        List<String> tokens = new ArrayList<>(List.of("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"));
        for (char letter = 'a'; letter <= 'z'; letter++) {
            tokens.add("\u2581" + letter);
            tokens.add(String.valueOf(letter));
        }
        tokens.addAll(List.of(
                "\u2581the", "\u2581tea", "\u2581.", "\u2581,", "\u2581\u4e2d", "\u2581\u2581", "\u2581[", "\u2581]"));
        return tokens(tokens, types(tokens.size(), 0, 5, 1, 1), 2, 3, 1);
    }

    private int unigram() {
        List<String> tokens = new ArrayList<>(List.of("<s>", "<pad>", "</s>", "<unk>", "\u2581"));
        for (char letter = 'a'; letter <= 'z'; letter++) {
            tokens.add(String.valueOf(letter));
        }
        tokens.addAll(List.of("\u2581the", "\u2581t", "ea", "an", "\u2581a", ".", "\u00e9"));
        float[] scores = new float[tokens.size()];
        for (int id = 4; id < scores.length; id++) {
            scores[id] = -1 - id * 7 % 11 * 0.37f;
        }
        token("scores", GgufValue.ofFloats(scores));
        token("add_space_prefix", GgufValue.ofBool(true));
        token("remove_extra_whitespaces", GgufValue.ofBool(true));
        return tokens(tokens, types(tokens.size(), 0, 4, 3, 2), 0, 2, 3);
    }

    private int bytePairs() {
        List<String> tokens = new ArrayList<>();
        for (int value = 0; value < 256; value++) {
            tokens.add(String.valueOf((char) alphabet(value)));
        }
        tokens.addAll(List.of("th", "the", "\u0120the", "ea", "[CLS]", "[SEP]", "[PAD262]"));
        long[] types = types(tokens.size(), 260, 262, -1, 3);
        types[262] = 5;
        token("pre", GgufValue.ofString("modern-bert"));
        token("merges", GgufValue.ofStrings(List.of("t h", "th e", "\u0120 the", "e a")));
        token("add_sep_token", GgufValue.ofBool(true));
        return tokens(tokens, types, 260, 261, 262);
    }

    /** Returns GPT-2's character of a byte. */
    private static int alphabet(int value) {
        boolean printable = value >= '!' && value <= '~' || value >= 0xa1 && value <= 0xac || value >= 0xae;
        if (printable) {
            return value;
        }
        int others = 0;
        for (int i = 0; i < value; i++) {
            others += i >= '!' && i <= '~' || i >= 0xa1 && i <= 0xac || i >= 0xae ? 0 : 1;
        }
        return 0x100 + others;
    }

    /**
     * Returns the token types: control tokens in a range of ids, the unknown token, and normal tokens otherwise.
     */
    private static long[] types(int count, int from, int to, int unknown, int typeOfUnknown) {
        long[] types = new long[count];
        for (int id = 0; id < count; id++) {
            types[id] = id >= from && id < to ? 3 : 1;
        }
        if (unknown >= 0) {
            types[unknown] = typeOfUnknown == 1 ? 3 : typeOfUnknown;
        }
        return types;
    }

    private void tensors(int words) {
        boolean modern = kind.architecture.equals("modern-bert");
        matrix("token_embd", words, DIM, 1);
        norm("token_embd_norm", !modern);
        if (!modern) {
            types();
        }
        if (kind.architecture.equals("bert")) {
            writer.tensor("position_embd.weight", filled(0, 0.5, POSITIONS, DIM));
        }
        for (int layer = 0; layer < LAYERS; layer++) {
            String block = "blk." + layer + ".";
            if (modern) {
                modern(block, layer);
            } else {
                postNorm(block);
            }
        }
        if (modern) {
            norm("output_norm", false);
        }
        if (kind.ranks()) {
            linear("cls", DIM, DIM, !modern);
            if (modern) {
                norm("cls.norm", false);
            }
            linear("cls.output", 1, DIM, true);
        }
    }

    /**
     * Stores the token types in f32, like converters. The rows of the reranker are equal, because llama.cpp uses the
     * first type for all tokens.
     */
    private void types() {
        Tensor one = filled(0, 0.3, 1, DIM);
        int count = kind == Kind.XLM_R ? 1 : 2;
        Tensor all = Tensor.allocate(arena, DType.F32, Shape.of(count, DIM));
        Tensor.concat(
                0,
                all,
                count == 1 ? new Tensor[] {one} : new Tensor[] {one, kind.ranks() ? one : filled(0, 0.3, 1, DIM)});
        writer.tensor("token_types.weight", all);
    }

    private void modern(String block, int layer) {
        if (layer > 0) {
            norm(block + "attn_norm", false);
        }
        linear(block + "attn_qkv", 3 * DIM, DIM, false);
        linear(block + "attn_output", DIM, DIM, false);
        norm(block + "ffn_norm", false);
        linear(block + "ffn_up", 2 * INNER, DIM, false);
        linear(block + "ffn_down", DIM, INNER, false);
    }

    private void postNorm(String block) {
        boolean gated = kind == Kind.NOMIC;
        if (gated) {
            linear(block + "attn_qkv", 3 * DIM, DIM, false);
            linear(block + "ffn_gate", INNER, DIM, false);
        } else {
            linear(block + "attn_q", DIM, DIM, true);
            linear(block + "attn_k", DIM, DIM, true);
            linear(block + "attn_v", DIM, DIM, true);
        }
        linear(block + "attn_output", DIM, DIM, !gated);
        norm(block + "attn_output_norm", true);
        linear(block + "ffn_up", INNER, DIM, !gated);
        linear(block + "ffn_down", DIM, INNER, !gated);
        norm(block + "layer_output_norm", true);
    }

    private void linear(String name, int rows, int columns, boolean bias) {
        matrix(name, rows, columns, 1.5 / Math.sqrt(columns));
        if (bias) {
            writer.tensor(name + ".bias", filled(0, 0.2, rows));
        }
    }

    private void norm(String name, boolean bias) {
        writer.tensor(name + ".weight", filled(1, 0.2, DIM));
        if (bias) {
            writer.tensor(name + ".bias", filled(0, 0.2, DIM));
        }
    }

    private void matrix(String name, int rows, int columns, double deviation) {
        Tensor weights = filled(0, deviation, rows, columns);
        if (type == null) {
            writer.tensor(name + ".weight", weights);
            return;
        }
        BlockTensor blocks = BlockTensor.quantize(arena, weights, type);
        if (values) {
            Tensor numbers = Tensor.allocate(arena, DType.F32, weights.shape());
            blocks.dequantize(numbers);
            writer.tensor(name + ".weight", numbers);
        } else {
            writer.blocks(name + ".weight", blocks);
        }
    }

    private Tensor filled(double mean, double deviation, long... dims) {
        float[] values = new float[(int) Shape.of(dims).elements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (mean + deviation * random.nextGaussian());
        }
        return Tensor.of(values, dims);
    }
}
