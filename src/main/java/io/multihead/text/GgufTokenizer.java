package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds.AddedEnds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/** Reads what GGUF says of a tokenizer, with llama.cpp's values for keys that are missing. */
final class GgufTokenizer {
    private static final String PREFIX = "tokenizer.ggml.";

    private final TokenizerMetadata metadata;

    GgufTokenizer(TokenizerMetadata metadata) {
        this.metadata = metadata;
    }

    Tokenizer tokenizer() {
        String model = text("model");
        return switch (model) {
            case "llama" -> sentencePiece();
            case "gpt2" -> bytePairs();
            default -> throw Checks.fail(PREFIX + "model", "\"" + model + "\"", "expected llama or gpt2");
        };
    }

    private Tokenizer sentencePiece() {
        require("scores");
        Vocabulary vocabulary = vocabulary().withScores(metadata.floats(PREFIX + "scores"));
        SpecialIds special = special(vocabulary, id("bos", 1), id("eos", 2), id("unknown", 0), true);
        boolean prefixed = metadata.findBool(PREFIX + "add_space_prefix").orElse(true);
        return SentencePieceTokenizer.of(vocabulary, special, prefixed ? SpacePrefix.ALWAYS : SpacePrefix.NONE);
    }

    private Tokenizer bytePairs() {
        Vocabulary vocabulary = vocabulary();
        WordPattern words = WordPattern.of(text("pre"));
        boolean wholeWords = words == WordPattern.LLAMA_BPE || words == WordPattern.TEKKEN;
        int none = SpecialIds.NONE;
        int begin = id("bos", none);
        boolean addsBegin = wholeWords && begin != none;
        SpecialIds special = special(vocabulary, begin, id("eos", none), id("unknown", none), addsBegin);
        require("merges");
        return BytePairTokenizer.of(vocabulary, metadata.strings(PREFIX + "merges"), words, wholeWords, special);
    }

    /** Tokens that end a turn count as control tokens, also where a converter took them for texts. */
    private Vocabulary vocabulary() {
        require("tokens");
        List<String> tokens = metadata.strings(PREFIX + "tokens");
        List<TokenType> types = new ArrayList<>(tokens.size());
        if (metadata.has(PREFIX + "token_type")) {
            for (long number : metadata.integers(PREFIX + "token_type")) {
                Checks.index(number, Integer.MAX_VALUE, PREFIX + "token_type");
                types.add(TokenType.of((int) number));
            }
            Checks.length(types.size(), tokens.size(), PREFIX + "token_type", "one per token");
        } else {
            tokens.forEach(token -> types.add(TokenType.NORMAL));
        }
        for (int id = 0; id < tokens.size(); id++) {
            if (StopTokens.isOne(tokens.get(id))) {
                types.set(id, TokenType.CONTROL);
            }
        }
        return Vocabulary.of(tokens, types);
    }

    private SpecialIds special(Vocabulary vocabulary, int begin, int end, int unknown, boolean addsBegin) {
        Set<Integer> stops = new LinkedHashSet<>(Arrays.asList(end, id("eot", -1), id("eom", -1)));
        stops.remove(SpecialIds.NONE);
        stops.addAll(StopTokens.of(vocabulary));
        AddedEnds added = AddedEnds.of(
                metadata.findBool(PREFIX + "add_bos_token").orElse(addsBegin),
                metadata.findBool(PREFIX + "add_eos_token").orElse(false));
        return new SpecialIds(begin, end, unknown, id("padding", SpecialIds.NONE), stops, added);
    }

    private int id(String name, int otherwise) {
        String key = PREFIX + name + "_token_id";
        OptionalLong id = metadata.findInteger(key);
        return id.isEmpty() ? otherwise : (int) Checks.index(id.getAsLong(), Integer.MAX_VALUE, key);
    }

    private String text(String name) {
        return metadata.findString(PREFIX + name).orElseThrow(() -> missing(name));
    }

    private void require(String name) {
        if (!metadata.has(PREFIX + name)) {
            throw missing(name);
        }
    }

    private static IllegalArgumentException missing(String name) {
        return Checks.fail(PREFIX + name, "missing", "expected it in the file's metadata");
    }
}
