package io.multihead.text;

import io.multihead.internal.text.pairs.ByteAlphabet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A {@code tokenizer.json} with bytes as tokens, for tests of its readers. */
public final class BytePairFixture {
    /** Ids of the tokens around a text. */
    public static final int CLS = 258;

    public static final int SEP = 259;
    public static final int MASK = 260;

    /** The largest id plus one. */
    public static final int SIZE = 261;

    private BytePairFixture() {}

    /**
     * Returns a file like ModernBERT's. The id of a byte is its value, and two pairs merge. Text is composed, and is
     * between special tokens as in BERT.
     */
    public static String modernBert() {
        String bytes = IntStream.range(0, 256)
                .mapToObj(value -> quoted(ByteAlphabet.character(value)) + ": " + value)
                .collect(Collectors.joining(", "));
        String cls = "{\"SpecialToken\": {\"id\": \"[CLS]\", \"type_id\": 0}}";
        String sep = "{\"SpecialToken\": {\"id\": \"[SEP]\", \"type_id\": 0}}";
        String text = "{\"Sequence\": {\"id\": \"%s\", \"type_id\": 0}}";
        return """
                {"normalizer": {"type": "NFC"},
                 "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
                 "post_processor": {"type": "TemplateProcessing", "single": [%1$s, %3$s, %2$s], "pair": [%1$s, %3$s, %2$s, %4$s, %2$s],
                   "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [258], "tokens": ["[CLS]"]},
                     "[SEP]": {"id": "[SEP]", "ids": [259], "tokens": ["[SEP]"]}}},
                 "added_tokens": [
                   {"id": 258, "content": "[CLS]", "special": true, "normalized": false},
                   {"id": 259, "content": "[SEP]", "special": true, "normalized": false},
                   {"id": 260, "content": "[MASK]", "special": true, "normalized": false, "lstrip": true}],
                 "model": {"type": "BPE", "dropout": null, "unk_token": null, "byte_fallback": false,
                   "vocab": {%5$s, "ab": 256, "\u0120ab": 257}, "merges": ["a b", "\u0120 ab"]}}
                """.formatted(cls, sep, text.formatted("A"), text.formatted("B"), bytes);
    }

    /** Returns the token of a byte. */
    public static String byteToken(int value) {
        return String.valueOf(ByteAlphabet.character(value));
    }

    private static String quoted(char c) {
        return c == '"' || c == '\\' ? "\"\\" + c + "\"" : "\"" + c + "\"";
    }
}
