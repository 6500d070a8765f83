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
        Vocabulary vocabulary = vocabulary(true).withScores(metadata.floats(PREFIX + "scores"));
        int size = vocabulary.size();
        SpecialIds special = special(vocabulary, id("bos", 1, size), id("eos", 2, size), id("unknown", 0, size), true);
        boolean prefixed = metadata.findBool(PREFIX + "add_space_prefix").orElse(true);
        return SentencePieceTokenizer.of(vocabulary, special, prefixed ? SpacePrefix.ALWAYS : SpacePrefix.NONE);
    }

    private Tokenizer bytePairs() {
        Vocabulary vocabulary = vocabulary(false);
        WordPattern words = WordPattern.of(text("pre"));
        boolean wholeWords = words == WordPattern.LLAMA_BPE || words == WordPattern.TEKKEN;
        int none = SpecialIds.NONE;
        int size = vocabulary.size();
        int begin = id("bos", none, size);
        boolean addsBegin = wholeWords && begin != none;
        SpecialIds special = special(vocabulary, begin, id("eos", none, size), id("unknown", none, size), addsBegin);
        require("merges");
        return BytePairTokenizer.of(vocabulary, metadata.strings(PREFIX + "merges"), words, wholeWords, special);
    }

    /**
     * Reads the tokens. Those that end a turn count as control tokens, and those of SentencePiece ({@code pieces}) that are written as
     * bytes count as bytes, also where a converter took them for texts.
     */
    private Vocabulary vocabulary(boolean pieces) {
        require("tokens");
        List<String> tokens = metadata.strings(PREFIX + "tokens");
        List<TokenType> types = new ArrayList<>(tokens.size());
        if (metadata.has(PREFIX + "token_type")) {
            for (long number : metadata.integers(PREFIX + "token_type")) {
                if (number < 1 || number > TokenType.values().length) {
                    String name = PREFIX + "token_type[" + types.size() + "]";
                    throw Checks.fail(name, Long.toString(number), "expected 1 to " + TokenType.values().length);
                }
                types.add(TokenType.of((int) number));
            }
            Checks.length(types.size(), tokens.size(), PREFIX + "token_type", "one per token");
        } else {
            tokens.forEach(token -> types.add(TokenType.NORMAL));
            setType("unknown", TokenType.UNKNOWN, pieces ? 0 : SpecialIds.NONE, types);
            setType("bos", TokenType.CONTROL, pieces ? 1 : SpecialIds.NONE, types);
            setType("eos", TokenType.CONTROL, pieces ? 2 : SpecialIds.NONE, types);
        }
        for (int id = 0; id < tokens.size(); id++) {
            if (StopTokens.isOne(tokens.get(id))) {
                types.set(id, TokenType.CONTROL);
            } else if (pieces && types.get(id) == TokenType.NORMAL && PieceBytes.isByte(tokens.get(id))) {
                types.set(id, TokenType.BYTE);
            }
        }
        return Vocabulary.of(tokens, types);
    }

    private void setType(String name, TokenType type, int otherwise, List<TokenType> types) {
        int id = id(name, otherwise, types.size());
        if (id != SpecialIds.NONE) {
            types.set(id, type);
        }
    }

    private SpecialIds special(Vocabulary vocabulary, int begin, int end, int unknown, boolean addsBegin) {
        int size = vocabulary.size();
        int none = SpecialIds.NONE;
        Set<Integer> stops = new LinkedHashSet<>(Arrays.asList(end, id("eot", none, size), id("eom", none, size)));
        stops.remove(SpecialIds.NONE);
        stops.addAll(StopTokens.of(vocabulary));
        AddedEnds added = AddedEnds.of(
                metadata.findBool(PREFIX + "add_bos_token").orElse(addsBegin),
                metadata.findBool(PREFIX + "add_eos_token").orElse(false));
        return new SpecialIds(begin, end, unknown, id("padding", none, size), stops, added);
    }

    /** Returns the id that a key has, or a default, of a vocabulary of {@code size} tokens. */
    private int id(String name, int otherwise, int size) {
        String key = PREFIX + name + "_token_id";
        OptionalLong id = metadata.findInteger(key);
        return (int)
                (id.isEmpty() && otherwise == SpecialIds.NONE
                        ? otherwise
                        : Checks.index(id.orElse(otherwise), size, key));
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
