package io.multihead.decoder;

import static io.multihead.decoder.FamilyFile.VOCABULARY;
import static io.multihead.decoder.FamilyFile.number;

import io.multihead.format.GgufType;
import io.multihead.format.GgufValue;
import io.multihead.format.GgufWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The tokenizer of small models. */
final class FamilyTokens {
    private FamilyTokens() {}

    /** Puts it into the metadata of a file. */
    static GgufWriter put(GgufWriter writer) {
        List<String> tokens = new ArrayList<>(List.of("<unk>", "<s>", "</s>"));
        long[] types = new long[VOCABULARY];
        Arrays.fill(types, 6);
        types[0] = 2;
        types[1] = 3;
        types[2] = 3;
        for (int value = 0; value < 256; value++) {
            tokens.add(String.format("<0x%02X>", value));
        }
        for (String control : List.of("<|im_start|>", "<|im_end|>")) {
            types[tokens.size()] = 3;
            tokens.add(control);
        }
        return writer.put("tokenizer.ggml.model", GgufValue.ofString("llama"))
                .put("tokenizer.ggml.tokens", GgufValue.ofStrings(tokens))
                .put("tokenizer.ggml.scores", GgufValue.ofFloats(new float[VOCABULARY]))
                .put("tokenizer.ggml.token_type", GgufValue.ofIntegers(GgufType.I32, types))
                .put("tokenizer.ggml.bos_token_id", number(1))
                .put("tokenizer.ggml.eos_token_id", number(2))
                .put("tokenizer.ggml.unknown_token_id", number(0));
    }
}
