package io.multihead.decoder;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The tokens of a {@link FamilyFile}, in this order: the unknown token, BOS and EOS, the bytes, and the control tokens of ChatML. */
final class FamilyTokens {
    private FamilyTokens() {}

    /** Adds the tokens to the metadata of a file. */
    static GgufWriter put(GgufWriter writer) {
        return put(writer, List.of());
    }

    /**
     * Adds the tokens to the metadata of a file. If there are words, they replace the bytes 1, 2 and so on, and the tokenizer is byte-pair
     * encoding instead of SentencePiece.
     */
    static GgufWriter put(GgufWriter writer, List<String> words) {
        List<String> tokens = new ArrayList<>(List.of("<unk>", "<s>", "</s>"));
        long[] types = new long[FamilyFile.VOCABULARY];
        Arrays.fill(types, words.isEmpty() ? 6 : 1);
        types[0] = 2;
        types[1] = 3;
        types[2] = 3;
        int next = 256;
        for (int value = 0; value < 256; value++) {
            boolean printable = value >= '!' && value <= '~' || value >= 0xa1 && value != 0xad;
            String character = Character.toString(printable ? value : next++);
            boolean isWord = value > 0 && value <= words.size();
            String token = isWord ? words.get(value - 1) : character;
            tokens.add(words.isEmpty() ? String.format("<0x%02X>", value) : token);
        }
        for (String control : List.of("<|im_start|>", "<|im_end|>")) {
            types[tokens.size()] = 3;
            tokens.add(control);
        }
        if (words.isEmpty()) {
            writer.put("tokenizer.ggml.model", GgufValue.ofString("llama"))
                    .put("tokenizer.ggml.scores", GgufValue.ofFloats(new float[FamilyFile.VOCABULARY]));
        } else {
            writer.put("tokenizer.ggml.model", GgufValue.ofString("gpt2"))
                    .put("tokenizer.ggml.pre", GgufValue.ofString("qwen2"))
                    .put("tokenizer.ggml.merges", GgufValue.ofStrings(List.of()));
        }
        return writer.put("tokenizer.ggml.tokens", GgufValue.ofStrings(tokens))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, types))
                .put("tokenizer.ggml.bos_token_id", FamilyFile.number(1))
                .put("tokenizer.ggml.eos_token_id", FamilyFile.number(2))
                .put("tokenizer.ggml.unknown_token_id", FamilyFile.number(0));
    }
}
