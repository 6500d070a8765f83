package io.multihead.it.golden;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.djl.huggingface.tokenizers.jni.CharSpan;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.multihead.text.GoldenTexts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;

/** Writes the golden tokens: all tokens for some texts, and checksums for random strings and for all code points. */
final class WriteTokens {
    /** Texts that each revealed a difference between tokenizers. */
    private static final List<String> TEXTS = List.of(
            "",
            " ",
            "Hello, World! How are you?",
            "Caf\u00e9 cre\u0300me br\u00fbl\u00e9e, na\u00efve fa\u00e7ade",
            "\u4f60\u597d\u4e16\u754c abc\u4e2d\u6587def \u3053\u3093\u306b\u3061\u306f \uac00\ub098\ub2e4",
            "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, \u0439\u043e\u0434 \u0451\u043b\u043a\u0430",
            "\u0130stanbul Izmir \u0131\u015f\u0131k I\u0307",
            "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u1f48\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2",
            "Stra\u00dfe STRA\u1e9eE",
            "\ud83d\udc69\u200d\ud83d\udcbb and \ud83c\uddeb\ud83c\uddf7 \ud83d\ude00text",
            "a\u0000b\ufffdc\u0007d\te\nf\rg\u000bh",
            "[CLS] in the [MASK] text [SEP][PAD] [ MASK ] [mask] x[UNK]y",
            "a".repeat(100) + " " + "a".repeat(101) + " " + "\ud835\udd38".repeat(100),
            "\ufb01nance o\ufb03ce \u2126 \u212b \u00bd \u2460 \u00b2",
            "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0627\u0644\u0639\u064e\u0631\u064e\u0628\u0650\u064a\u0651\u0629",
            "\u201cquotes\u201d \u2018single\u2019 \u00abguillemets\u00bb don't can\u2019t",
            "soft\u00adhyphen zero\u200bwidth non\u00a0breaking \ue000private\uf8ff",
            "$5 \u20ac5 5% a+b=c x<y ^caret `tick` ~tilde |pipe|",
            "http://example.org/path?query=1&other=2#anchor user@example.org",
            "3.14159 1,000,000 0xFF 2026-11-22T02:35:13Z",
            "snake_case camelCase SCREAMING_CASE kebab-case",
            "line one\r\nline two\u2028line three\u2029end\u0085next",
            "unaffable unbelievably internationalization electroencephalographically",
            "word\u0301\u0302\u0303\u0304 z\u0335a\u0335l\u0335g\u0335o\u0335");

    private WriteTokens() {}

    static void write(Path tokenizer, Path paragraph, Path file, String command) throws Exception {
        ObjectNode golden = new ObjectMapper().createObjectNode();
        golden.put(
                "oracle",
                "ai.djl.huggingface:tokenizers:0.38.0 on all-minilm-l6-v2-tokenizer.json, without padding and truncation");
        golden.put("command", command);
        try (HuggingFaceTokenizer oracle = HuggingFaceTokenizer.builder()
                .optTokenizerPath(tokenizer)
                .optPadding(false)
                .optTruncation(false)
                .build()) {
            ArrayNode texts = golden.putArray("texts");
            for (String text : Stream.concat(TEXTS.stream(), Stream.of(Files.readString(paragraph)))
                    .toList()) {
                int[][] tokens = tokens(oracle, text);
                ObjectNode entry = texts.addObject().put("text", text);
                put(entry.putArray("ids"), tokens[0]);
                put(entry.putArray("starts"), tokens[1]);
                put(entry.putArray("ends"), tokens[2]);
            }
            GoldenTexts all = new GoldenTexts();
            ArrayNode random = golden.putArray("random");
            for (int block = 0; block < GoldenTexts.RANDOM / GoldenTexts.RANDOM_BLOCK; block++) {
                CRC32 sum = new CRC32();
                for (String text : all.random(block)) {
                    update(sum, oracle, text);
                }
                random.add(sum.getValue());
            }
            ArrayNode codePoints = golden.putArray("codePoints");
            for (int first = 0; first <= Character.MAX_CODE_POINT; first += GoldenTexts.CODE_POINT_BLOCK) {
                CRC32 sum = new CRC32();
                for (int codePoint = first; codePoint < first + GoldenTexts.CODE_POINT_BLOCK; codePoint++) {
                    if (all.isCompared(codePoint)) {
                        update(sum, oracle, GoldenTexts.around(codePoint));
                    }
                }
                codePoints.add(sum.getValue());
            }
        }
        Files.writeString(file, golden.toString().replace("},{", "},\n{") + "\n");
    }

    private static void put(ArrayNode array, int[] numbers) {
        for (int number : numbers) {
            array.add(number);
        }
    }

    private static void update(CRC32 sum, HuggingFaceTokenizer oracle, String text) {
        GoldenTexts.update(sum, text, tokens(oracle, text));
    }

    /**
     * Returns ids, starts and ends. Starts and ends are indices of {@code char}, and are 0 for the special tokens
     * around a text.
     */
    private static int[][] tokens(HuggingFaceTokenizer oracle, String text) {
        Encoding encoding = oracle.encode(text);
        long[] ids = encoding.getIds();
        CharSpan[] spans = encoding.getCharTokenSpans();
        int[][] result = new int[3][ids.length];
        for (int i = 0; i < ids.length; i++) {
            result[0][i] = (int) ids[i];
            if (spans[i] != null) {
                result[1][i] = text.offsetByCodePoints(0, spans[i].getStart());
                result[2][i] = text.offsetByCodePoints(0, spans[i].getEnd());
            }
        }
        return result;
    }
}
