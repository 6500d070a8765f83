package io.multihead.internal.encoder.load;

import io.multihead.internal.base.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The form in which an encoder of tokens reads queries and documents.
 *
 * @param queryPrefix the token after the first token of a query; empty for none
 * @param documentPrefix the token after the first token of a document; empty for none
 * @param queryTokens the number of tokens to which a query is truncated, and padded if {@code expands}
 * @param documentTokens the largest number of tokens of a document
 * @param expands whether masks pad queries
 * @param masksAreSeen whether other tokens see these masks
 * @param skipped tokens that have no vectors at any place of a document, possibly including {@code [CLS]}, a prefix and {@code [SEP]}
 */
public record TokenSettings(
        String queryPrefix,
        String documentPrefix,
        int queryTokens,
        int documentTokens,
        boolean expands,
        boolean masksAreSeen,
        List<String> skipped) {
    private static final int MOST = 1 << 24;
    private static final int QUERY_TOKENS = 32;
    private static final int DOCUMENT_TOKENS = 180;

    /** ASCII punctuation, as in Python's {@code string.punctuation}. */
    private static final List<String> PUNCTUATION = List.of("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".split(""));

    /** Reads {@code artifact.metadata}, which the authors of ColBERT write. */
    static TokenSettings ofMetadata(JsonObject metadata) {
        metadata.require("similarity", "cosine");
        return new TokenSettings(
                text(metadata, "query_token_id", "[unused0]"),
                text(metadata, "doc_token_id", "[unused1]"),
                metadata.integer("query_maxlen", 1, MOST, QUERY_TOKENS),
                metadata.integer("doc_maxlen", 1, MOST, DOCUMENT_TOKENS),
                true,
                metadata.flag("attend_to_mask_tokens", false),
                metadata.flag("mask_punctuation", true) ? PUNCTUATION : List.of());
    }

    /** Reads {@code config_sentence_transformers.json}, as PyLate does. */
    static TokenSettings ofPyLate(JsonObject config) {
        if (config.has("default_prompt_name")) {
            throw config.fail("default_prompt_name", "null: nothing but a prefix is put before texts");
        }
        config.require("similarity_fn_name", "MaxSim");
        boolean expands = config.flag("do_query_expansion", true);
        return new TokenSettings(
                text(config, "query_prefix", "[Q] "),
                text(config, "document_prefix", "[D] "),
                config.integer("query_length", 1, MOST, QUERY_TOKENS),
                config.integer("document_length", 1, MOST, DOCUMENT_TOKENS),
                expands,
                expands && config.flag("attend_to_expansion_tokens", false),
                config.has("skiplist_words") ? words(config) : PUNCTUATION);
    }

    /** Reads the result of {@link #toJson}. */
    static TokenSettings ofPacked(JsonObject options) {
        return new TokenSettings(
                options.text("query_prefix"),
                options.text("document_prefix"),
                options.integer("query_tokens", 1, MOST),
                options.integer("document_tokens", 1, MOST),
                options.flag("expands"),
                options.flag("masks_are_seen"),
                options.strings("skipped"));
    }

    /** Returns the settings by name. */
    Map<String, Object> toJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("query_prefix", queryPrefix);
        json.put("document_prefix", documentPrefix);
        json.put("query_tokens", queryTokens);
        json.put("document_tokens", documentTokens);
        json.put("expands", expands);
        json.put("masks_are_seen", masksAreSeen);
        json.put("skipped", skipped);
        return json;
    }

    private static String text(JsonObject file, String member, String otherwise) {
        String text = file.find(member);
        return text == null ? otherwise : text;
    }

    private static List<String> words(JsonObject config) {
        List<String> words = new ArrayList<>();
        for (Object word : config.array("skiplist_words")) {
            if (!(word instanceof String text)) {
                throw config.fail("skiplist_words", "an array of strings");
            }
            words.add(text);
        }
        return List.copyOf(words);
    }
}
