package io.multihead.fuzz;

import io.multihead.text.PromptText;
import io.multihead.text.TextStream;
import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.util.Arrays;
import java.util.List;

/**
 * Tokenizers of language models from arbitrary bytes. The first byte of the input, from '0' on, selects the kind of
 * file.
 */
public final class MergesFuzz {
    private static final List<String> TEXTS =
            List.of("", "ab ab's 12\n\n[s] word", "\ud83d\ude00\ud800 \u4e00x\u2581 e\u0301", "a".repeat(100));

    private MergesFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        if (input.length > 0) {
            Oracle.check(input.length, () -> check(input));
        }
    }

    private static void check(byte[] input) {
        byte[] file = Arrays.copyOfRange(input, 1, input.length);
        boolean json = (input[0] - '0' & 1) == 0;
        Oracle.accepts("", () -> {
            Tokenizer tokenizer = json ? Tokenizers.ofJson(file) : Tokenizers.ofSentencePieceModel(file);
            TEXTS.forEach(text -> check(tokenizer, text));
        });
    }

    /** Requires that ids are in the vocabulary, and that the texts of single ids are together the text of all ids. */
    private static void check(Tokenizer tokenizer, String text) {
        int[] ids = tokenizer.encode(text);
        int[] special = tokenizer.withSpecialTokens(tokenizer.encode(PromptText.template(text)));
        Oracle.require(tokenizer.count(text) == ids.length, "number of tokens");
        for (int[] each : List.of(ids, special)) {
            TextStream stream = new TextStream(tokenizer);
            StringBuilder parts = new StringBuilder();
            for (int id : each) {
                Oracle.require(id >= 0 && id < tokenizer.vocabularySize(), "an id");
                parts.append(stream.append(id));
            }
            String whole = tokenizer.decode(each);
            Oracle.require((parts + stream.end()).endsWith(whole), "text of ids one by one");
        }
    }
}
