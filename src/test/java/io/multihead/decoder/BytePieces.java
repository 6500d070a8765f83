package io.multihead.decoder;

import java.util.List;

/** The tokenizer of test models, which has a token for each byte. */
final class BytePieces {
    private BytePieces() {}

    /** Returns a tokenizer with a byte-level token for each byte, and the tokens that begin and end a text. */
    static String tokenizerJson() {
        StringBuilder json = new StringBuilder("{\"added_tokens\": [");
        List<String> names = List.of("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>");
        for (int i = 0; i < names.size(); i++) {
            int id = i < 3 ? i : FamilyFile.VOCABULARY - names.size() + i;
            json.append(i == 0 ? "" : ", ")
                    .append("{\"id\": " + id + ", \"content\": \"" + names.get(i) + "\", \"special\": true}");
        }
        json.append(
                        "], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, ")
                .append("\"use_regex\": true}, \"post_processor\": null, \"decoder\": {\"type\": \"ByteLevel\"}, ")
                .append(
                        "\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2");
        int next = 256;
        for (int value = 0; value < 256; value++) {
            boolean printable =
                    value >= '!' && value <= '~' || value >= 0xa1 && value <= 0xac || value >= 0xae && value <= 0xff;
            int character = printable ? value : next++;
            json.append(String.format(", \"\\u%04x\": %d", character, value + 3));
        }
        return json.append("}}}").toString();
    }
}
