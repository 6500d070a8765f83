package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.pairs.Merge;
import io.multihead.internal.text.pairs.MergeTable;
import io.multihead.text.BytePairTokenizer.MissingBytes;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads a {@code tokenizer.json} whose model is BPE: over bytes, as in GPT-2, Llama 3 and Qwen, or over code points with bytes for text
 * without a token, as in Llama 2 and Gemma. Any other part of a file is an error that names the part. Truncation, padding and the
 * decoder are not read.
 */
final class MergesJson {
    private final JsonObject file;
    private final JsonObject model;
    private final Vocabulary vocabulary;
    private final List<AddedTokens.Token> added = new ArrayList<>();
    private final boolean overBytes;

    private MergesJson(JsonObject file) {
        this.file = file;
        model = file.object("model");
        model.requireType("BPE");
        model.require("dropout", null);
        requireEmpty("continuing_subword_prefix");
        requireEmpty("end_of_word_suffix");
        overBytes = file.parts("pre_tokenizer", "pretokenizers").stream()
                .anyMatch(part -> "ByteLevel".equals(part.find("type")));
        vocabulary = vocabulary();
    }

    /** Reads a tokenizer; {@code config} is its {@code tokenizer_config.json}. */
    static Tokenizer parse(JsonObject file, @Nullable JsonObject config, Set<Integer> stopTokens) {
        MergesJson json = new MergesJson(file);
        int unknown = JsonSpecialIds.find(json.vocabulary, json.model.find("unk_token"));
        SpecialIds special = JsonSpecialIds.read(json.file, config, json.vocabulary, unknown, stopTokens);
        return json.overBytes ? json.bytePairs(special) : json.sentencePiece(special);
    }

    private void requireEmpty(String member) {
        String text = model.find(member);
        if (text != null && !text.isEmpty()) {
            throw model.fail(member, "none");
        }
    }

    private Vocabulary vocabulary() {
        JsonObject tokens = model.object("vocab");
        int addedTokens = file.has("added_tokens") ? file.array("added_tokens").size() : 0;
        // a few ids without a token occur in files; ids far beyond would cost more memory than the file has
        int most = (int) Math.min(2L * (tokens.names().size() + addedTokens), MergeTable.MOST_SYMBOLS);
        String[] texts = new String[most + 1];
        TokenType[] types = new TokenType[texts.length];
        String unknown = model.find("unk_token");
        int size = 0;
        for (Object name : tokens.names()) {
            String token = (String) name;
            int id = tokens.integer(token, 0, most);
            place(texts, token, id);
            types[id] = token.equals(unknown) ? TokenType.UNKNOWN : isByte(token) ? TokenType.BYTE : TokenType.NORMAL;
            size = Math.max(size, id + 1);
        }
        int own = size;
        for (JsonAddedTokens each : JsonAddedTokens.read(file, most)) {
            size = Math.max(size, addToken(each, texts, types));
        }
        List<String> known = new ArrayList<>();
        List<TokenType> kinds = new ArrayList<>();
        for (int id = 0; id < size; id++) {
            known.add(Objects.requireNonNullElse(texts[id], ""));
            kinds.add(Objects.requireNonNullElse(types[id], TokenType.UNUSED));
        }
        return Vocabulary.of(known, kinds).withAddedFrom(own);
    }

    private boolean isByte(String token) {
        return !overBytes && model.flag("byte_fallback", false) && token.matches("<0x[0-9A-F]{2}>");
    }

    private static void place(@Nullable String[] texts, String token, int id) {
        if (texts[id] != null && !Objects.equals(texts[id], token)) {
            throw Checks.fail(
                    "token \"" + token + "\"", "id " + id, "expected an id other than the id of \"" + texts[id] + "\"");
        }
        texts[id] = token;
    }

    /** Reads an added token and returns one more than its id. */
    private int addToken(JsonAddedTokens each, @Nullable String[] texts, @Nullable TokenType[] types) {
        AddedTokens.Token token = each.token();
        int id = token.id();
        place(texts, token.text(), id);
        boolean ascii = token.text().chars().allMatch(c -> c < 0x80);
        if (each.normalized() && file.has("normalizer") && !(overBytes && ascii)) {
            throw each.source().fail("normalized", "false if there is a normalizer");
        }
        if (types[id] != TokenType.UNKNOWN) {
            types[id] = each.special() ? TokenType.CONTROL : TokenType.USER_DEFINED;
        }
        added.add(token);
        return id + 1;
    }

    private AddedTokens inText() {
        return new AddedTokens(added.stream()
                .filter(token -> vocabulary.type(token.id()) == TokenType.USER_DEFINED)
                .filter(token -> !AddedTokens.isMark(token.text()))
                .toList());
    }

    private Tokenizer bytePairs(SpecialIds special) {
        model.require("byte_fallback", false);
        BytePairTokenizer.Rules rules = new BytePairTokenizer.Rules(
                JsonParts.words(file), model.flag("ignore_merges", false), JsonParts.composes(file), missing(special));
        return new BytePairTokenizer(vocabulary, merges(), rules, special, inText(), new AddedTokens(added));
    }

    private MissingBytes missing(SpecialIds special) {
        if (special.unknown() == SpecialIds.NONE) {
            return MissingBytes.BEFORE_MERGES;
        }
        return model.flag("fuse_unk", false) ? MissingBytes.ONE_UNKNOWN : MissingBytes.UNKNOWN;
    }

    private Tokenizer sentencePiece(SpecialIds special) {
        model.require("ignore_merges", false);
        boolean bytes = model.flag("byte_fallback", false);
        if (!bytes && !model.flag("fuse_unk", false)) {
            throw model.fail("fuse_unk", "true, or byte_fallback");
        }
        SpacePrefix prefix = JsonParts.spaces(file);
        return new SentencePieceTokenizer(
                vocabulary, merges(), special, prefix, inText(), new AddedTokens(added), false);
    }

    private List<Merge> merges() {
        List<?> elements = model.array("merges");
        List<Merge> merges = new ArrayList<>(elements.size());
        Map<String, String> shared = new HashMap<>();
        for (Object element : elements) {
            if (element instanceof String text) {
                merges.add(Merge.of(text));
            } else if (element instanceof List<?> pair
                    && pair.size() == 2
                    && pair.get(0) instanceof String left
                    && pair.get(1) instanceof String right) {
                merges.add(new Merge(shared.computeIfAbsent(left, key -> key), right));
            } else {
                throw Checks.fail("tokenizer.model.merges", String.valueOf(element), "expected two tokens");
            }
        }
        return merges;
    }
}
