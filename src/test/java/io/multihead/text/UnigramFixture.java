package io.multihead.text;

import io.multihead.internal.text.unigram.NormalizerStep;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Small files of Unigram models, in the shape of XLM-R's. */
public final class UnigramFixture {
    /**
     * White space, a removed character, letters that are replaced alone and with a mark, and a letter that becomes
     * several letters.
     */
    static final Map<String, String> CHARACTERS = new TreeMap<>(Map.of(
            "\n",
            " ",
            "\r",
            " ",
            "\u3000",
            " ",
            "\u200b",
            "",
            "\u00aa",
            "a",
            "e\u0301",
            "\u00e9",
            "e\u0301\u0323",
            "E",
            "\ufb01",
            "fi",
            "\ufe4f",
            " a b\u2581",
            "\uff1c",
            "<"));

    static final List<String> PIECES = List.of(
            "<s>",
            "<pad>",
            "</s>",
            "<unk>",
            "\u2581",
            "a",
            "b",
            "\u2581a",
            "ab",
            "ba",
            "\u2581ab",
            "e",
            "\u00e9",
            "f",
            "fi",
            "\u5b57",
            "\u5b57\u5b57",
            "\ud83d\ude00",
            "\u2581\u2581",
            "\u0301",
            "bab");

    private static final int BLOCK = 256;

    private UnigramFixture() {}

    /**
     * Returns the double array and the texts of a map. In the array, each node has a separate block for its children.
     */
    static byte[] map(Map<String, String> characters) {
        ByteBuffer texts = ByteBuffer.allocate(1 << 16);
        SortedMap<String, Integer> values = new TreeMap<>();
        characters.forEach((from, to) -> {
            values.put(from, texts.position());
            texts.put(to.getBytes(StandardCharsets.UTF_8)).put((byte) 0);
        });
        Darts darts = new Darts();
        darts.node(0, 0, 0, values);
        ByteBuffer file = ByteBuffer.allocate(4 + 4 * darts.units.length + texts.position())
                .order(ByteOrder.LITTLE_ENDIAN);
        file.putInt(4 * darts.units.length);
        Arrays.stream(darts.units).forEach(file::putInt);
        file.put(texts.array(), 0, texts.position());
        return file.array();
    }

    private static final class Darts {
        int[] units = new int[BLOCK];

        /** Writes a unit and its descendants for the keys, whose bytes before {@code depth} are already written. */
        void node(int unit, int label, int depth, Map<String, Integer> keys) {
            int children = units.length;
            units = Arrays.copyOf(units, children + BLOCK);
            SortedMap<Integer, Map<String, Integer>> below = new TreeMap<>();
            boolean ends = false;
            for (Map.Entry<String, Integer> key : keys.entrySet()) {
                byte[] bytes = key.getKey().getBytes(StandardCharsets.UTF_8);
                if (bytes.length == depth) {
                    ends = true;
                    units[children] = key.getValue() | 1 << 31;
                } else {
                    below.computeIfAbsent(bytes[depth] & 0xff, b -> new TreeMap<>())
                            .put(key.getKey(), key.getValue());
                }
            }
            units[unit] = (unit ^ children) << 10 | (ends ? 1 << 8 : 0) | label;
            below.forEach((next, rest) -> node(children ^ next, next, depth + 1, rest));
        }
    }

    /** Returns scores. Some are equal, so that some pieces have the same score in two orders. */
    public static double[] scores(int count) {
        double[] scores = new double[count];
        for (int id = 4; id < count; id++) {
            scores[id] = -1.1 - id * 7 % 5 * 0.7;
        }
        return scores;
    }

    /**
     * Returns a file with a normalizer and a pre-tokenizer. If {@code normalized}, {@code <mask>} is found in
     * normalized text.
     */
    public static String json(
            String normalizer, String preTokenizer, List<String> pieces, double[] scores, boolean normalized) {
        List<String> vocabulary = new ArrayList<>();
        for (int id = 0; id < pieces.size(); id++) {
            vocabulary.add("[\"" + pieces.get(id) + "\", " + scores[id] + "]");
        }
        return """
                {"added_tokens": [{"id": 0, "content": "<s>", "special": true, "normalized": false},
                   {"id": 2, "content": "</s>", "special": true, "normalized": false},
                   {"id": 3, "content": "<unk>", "special": true, "normalized": false},
                   {"id": %d, "content": "<mask>", "special": true, "lstrip": true, "normalized": %s}],
                 "normalizer": %s, "pre_tokenizer": %s,
                 "post_processor": {"type": "TemplateProcessing",
                   "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}],
                   "pair": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}},
                     {"SpecialToken": {"id": "</s>"}}, {"Sequence": {"id": "B"}}, {"SpecialToken": {"id": "</s>"}}],
                   "special_tokens": {"<s>": {"id": "<s>", "ids": [0]}, "</s>": {"id": "</s>", "ids": [2]}}},
                 "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": false, "vocab": [%s]}}
                """.formatted(pieces.size(), normalized, normalizer, preTokenizer, String.join(", ", vocabulary));
    }

    static String precompiled() {
        return "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \""
                + Base64.getEncoder().encodeToString(map(CHARACTERS)) + "\"}";
    }

    /** Returns the normalizer of BERT. */
    public static String bert() {
        return "{\"type\": \"BertNormalizer\", \"clean_text\": true, \"handle_chinese_chars\": true, \"strip_accents\": null,"
                + " \"lowercase\": true}";
    }

    /**
     * Returns a normalizer and the steps that model2vec adds after it: spaces around punctuation, and single spaces
     * only.
     */
    public static String model2vec(String first) {
        StringBuilder parts = new StringBuilder(first);
        for (char c : NormalizerStep.PUNCTUATION.toCharArray()) {
            String quoted = c == '"' || c == '\\' ? "\\" + c : String.valueOf(c);
            parts.append(", {\"type\": \"Replace\", \"pattern\": {\"String\": \"" + quoted + "\"}, \"content\": \" "
                    + quoted + " \"}");
        }
        return "{\"type\": \"Sequence\", \"normalizers\": [" + parts
                + ", {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\\\\s+\"}, \"content\": \" \"},"
                + " {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}]}";
    }

    public static String metaspace(String more) {
        return "{\"type\": \"Metaspace\", \"replacement\": \"\u2581\"" + more + "}";
    }

    /** Returns a file in the shape of XLM-R's. */
    static String xlmr() {
        String words = "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"WhitespaceSplit\"}, "
                + metaspace(", \"add_prefix_space\": true") + "]}";
        return json(precompiled(), words, PIECES, scores(PIECES.size()), true);
    }
}
