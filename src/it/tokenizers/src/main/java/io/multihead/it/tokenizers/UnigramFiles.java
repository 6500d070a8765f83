package io.multihead.it.tokenizers;

import io.multihead.text.Tokenizer;
import io.multihead.text.Tokenizers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Writes files of Unigram models in the forms of XLM-R's files: Gemma's 262,144 pieces with scores that decrease with
 * their ids, and SentencePiece's map of characters (nmt_nfkc) from ALBERT's model.
 */
final class UnigramFiles {
    /** The form with BERT's normalizer. The crate and the JDK classify its code points with their Unicode tables. */
    static final String BERT = "model2vec-bert";

    /**
     * The parts of a {@code tokenizer.json} other than its pieces: the parts of XLM-R's file, of conversions by
     * transformers, of model2vec's files, and other parts that the crate reads.
     */
    private static final Map<String, String> SHAPES = new TreeMap<>(Map.of(
            "words",
            """
            "normalizer": {"type": "Precompiled", "precompiled_charsmap": "MAP"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
              {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true}]},""",
            "converted",
            """
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "MAP"},
              {"type": "Strip", "strip_left": false, "strip_right": true},
              {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}]},
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": true},""",
            "spaces",
            """
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "MAP"},
              {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": false},""",
            "plain",
            """
            "normalizer": null,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": true},""",
            "model2vec",
            model2Vec("{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"MAP\"}"),
            BERT,
            model2Vec("""
            {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true}""")));

    private UnigramFiles() {}

    /**
     * Returns a normalizer and the steps that model2vec adds after it: spaces around punctuation, and single spaces
     * only.
     */
    private static String model2Vec(String first) {
        StringBuilder parts = new StringBuilder(first);
        for (char c : "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".toCharArray()) {
            String quoted = c == '"' || c == '\\' ? "\\" + c : String.valueOf(c);
            parts.append(", {\"type\": \"Replace\", \"pattern\": {\"String\": \"" + quoted + "\"}, \"content\": \" "
                    + quoted + " \"}");
        }
        return "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [" + parts
                + ", {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\\\\s+\"}, \"content\": \" \"},"
                + " {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}]}, \"pre_tokenizer\": {\"type\": \"Metaspace\","
                + " \"replacement\": \"\u2581\", \"prepend_scheme\": \"always\", \"split\": false},";
    }

    /** Writes a folder for each form, and returns the folders. */
    static List<Path> write(Path models) throws IOException {
        Tokenizer gemma = Tokenizers.load(models.resolve("gemma3"));
        byte[] albert = base64(models.resolve("sentencepiece/index.cjs"), "clean_30k_b64");
        String map = Base64.getEncoder().encodeToString(map(albert));
        List<Path> folders = new ArrayList<>();
        for (Map.Entry<String, String> shape : SHAPES.entrySet()) {
            Path folder = Files.createDirectories(models.resolve("unigram-" + shape.getKey()));
            boolean few = shape.getKey().equals("spaces") || shape.getKey().equals("plain");
            String json = json(pieces(gemma, few), shape.getValue().replace("MAP", map), few);
            Files.writeString(folder.resolve("tokenizer.json"), json);
            folders.add(folder);
        }
        return folders;
    }

    /** Returns the model that is a constant in a package of npm. */
    static byte[] base64(Path script, String name) throws IOException {
        String text = Files.readString(script);
        int from = text.indexOf('"', text.indexOf(name + " = ")) + 1;
        return Base64.getDecoder().decode(text.substring(from, text.indexOf('"', from)));
    }

    /** Returns the map of characters of a model, which is field 2 of field 3 of the protocol buffer. */
    private static byte[] map(byte[] model) {
        return field(field(model, 3), 2);
    }

    private static byte[] field(byte[] message, int number) {
        ByteBuffer in = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        while (in.hasRemaining()) {
            int tag = varint(in);
            switch (tag & 7) {
                case 0 -> varint(in);
                case 2 -> {
                    byte[] bytes = new byte[varint(in)];
                    in.get(bytes);
                    if (tag >> 3 == number) {
                        return bytes;
                    }
                }
                case 5 -> in.getInt();
                default -> throw new IllegalArgumentException("wire type " + (tag & 7));
            }
        }
        throw new IllegalArgumentException("no field " + number);
    }

    private static int varint(ByteBuffer in) {
        long value = 0;
        for (int shift = 0; ; shift += 7) {
            byte next = in.get();
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                return (int) value;
            }
        }
    }

    /**
     * Returns XLM-R's first tokens, and all of Gemma's pieces or every tenth piece, so that many characters are
     * unknown.
     */
    private static List<String> pieces(Tokenizer gemma, boolean few) {
        Set<String> pieces = new LinkedHashSet<>(List.of("<s>", "<pad>", "</s>", "<unk>"));
        for (int b = 0; few && b < 256; b++) {
            pieces.add(String.format("<0x%02X>", b));
        }
        for (int id = 106; id < gemma.vocabularySize(); id += few ? 10 : 1) {
            String piece = gemma.token(id);
            if (!piece.matches("<0x..>|<unused.*")) {
                pieces.add(piece);
            }
        }
        return List.copyOf(pieces);
    }

    private static String json(List<String> pieces, String parts, boolean few) {
        StringBuilder json = new StringBuilder(
                "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [");
        for (int id = 0; id < 4; id++) {
            json.append(token(id, pieces.get(id), false, few ? "true" : "false"))
                    .append(", ");
        }
        json.append(token(pieces.size(), "<mask>", true, few ? "false" : "true"));
        if (few) {
            json.append(", ")
                    .append(token(pieces.size() + 1, "the", false, "true")
                            .replace("\"single_word\": false", "\"single_word\": true"));
        }
        json.append("], ").append(parts).append("""
                "post_processor": {"type": "TemplateProcessing",
                  "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                  "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "</s>", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}},
                    {"Sequence": {"id": "B", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                  "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                    "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}},
                "decoder": {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": true},
                "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": """).append(few).append(", \"vocab\": [");
        for (int id = 0; id < pieces.size(); id++) {
            // scores that are not exactly representable, and a few equal scores
            double score = id < 4 ? 0 : -Math.log(id / 4 * 4 + 20) - 3;
            json.append(id == 0 ? "" : ", ")
                    .append("[")
                    .append(quoted(pieces.get(id)))
                    .append(", ")
                    .append(score)
                    .append("]");
        }
        json.append(few ? "" : ", [\"<mask>\", 0.0]").append("]}}");
        return json.toString();
    }

    private static String token(int id, String content, boolean strips, String normalized) {
        return "{\"id\": " + id + ", \"content\": " + quoted(content) + ", \"single_word\": false, \"lstrip\": "
                + strips + ", \"rstrip\": false, \"normalized\": " + normalized + ", \"special\": true}";
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            quoted.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return quoted.append('"').toString();
    }
}
