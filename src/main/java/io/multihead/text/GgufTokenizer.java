package io.multihead.text;

import io.multihead.format.Gguf;
import io.multihead.internal.text.pairs.Merge;
import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Reads GGUF's settings of a decoder's tokenizer, with llama.cpp's values for missing keys. */
final class GgufTokenizer {
    private final GgufKeys keys;

    GgufTokenizer(Gguf file) {
        keys = new GgufKeys(file);
    }

    Tokenizer tokenizer() {
        return switch (keys.text("model")) {
            case "llama" -> sentencePiece();
            case "gpt2" -> bytePairs();
            case "gemma4" -> mergedPieces();
            default -> throw keys.fail("model", "llama, gpt2 or gemma4");
        };
    }

    private Tokenizer sentencePiece() {
        Vocabulary vocabulary = vocabulary(true);
        int size = vocabulary.size();
        vocabulary = vocabulary.withScores(keys.scores(size));
        SpecialIds special = special(
                vocabulary, keys.id("bos", 1, size), keys.id("eos", 2, size), keys.id("unknown", 0, size), true);
        boolean prefixed = keys.flag("add_space_prefix", true);
        return SentencePieceTokenizer.of(vocabulary, special, prefixed ? SpacePrefix.ALWAYS : SpacePrefix.NONE);
    }

    /**
     * Returns a tokenizer of pieces in SentencePiece's form, in which U+2581 stands for a space. Pieces merge by ranks instead of scores,
     * except for runs of line feeds.
     */
    private Tokenizer mergedPieces() {
        Vocabulary vocabulary = vocabulary(true);
        int size = vocabulary.size();
        SpecialIds special = special(
                vocabulary, keys.id("bos", 2, size), keys.id("eos", 1, size), keys.id("unknown", 3, size), true);
        List<Merge> merges = keys.texts("merges").stream().map(Merge::of).toList();
        SpacePrefix prefix = keys.flag("add_space_prefix", false) ? SpacePrefix.ALWAYS : SpacePrefix.NONE;
        return new SentencePieceTokenizer(
                vocabulary,
                merges,
                special,
                prefix,
                AddedTokens.inText(vocabulary),
                AddedTokens.inSpecialText(vocabulary),
                true);
    }

    private Tokenizer bytePairs() {
        Vocabulary vocabulary = vocabulary(false);
        WordPattern words = WordPattern.of(keys.text("pre"));
        boolean wholeWords = words == WordPattern.LLAMA_BPE || words == WordPattern.TEKKEN;
        int none = SpecialIds.NONE;
        int size = vocabulary.size();
        int begin = keys.id("bos", none, size);
        boolean addsBegin = wholeWords && begin != none;
        SpecialIds special =
                special(vocabulary, begin, keys.id("eos", none, size), keys.id("unknown", none, size), addsBegin);
        return BytePairTokenizer.of(vocabulary, keys.texts("merges"), words, wholeWords, special);
    }

    /**
     * Reads the tokens. Tokens that end a turn become control tokens, and SentencePiece tokens ({@code pieces}) that are written as bytes
     * become bytes, even if a converter marked them as texts.
     */
    private Vocabulary vocabulary(boolean pieces) {
        List<String> tokens =
                List.copyOf(keys.texts("tokens")); // copied once, because each text is made when requested
        List<TokenType> types = keys.types(tokens.size());
        if (types.isEmpty()) {
            types = new ArrayList<>();
            for (int id = 0; id < tokens.size(); id++) {
                types.add(TokenType.NORMAL);
            }
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
        int id = keys.id(name, otherwise, types.size());
        if (id != SpecialIds.NONE) {
            types.set(id, type);
        }
    }

    private SpecialIds special(Vocabulary vocabulary, int begin, int end, int unknown, boolean addsBegin) {
        int size = vocabulary.size();
        int none = SpecialIds.NONE;
        Set<Integer> stopTokens =
                new LinkedHashSet<>(Arrays.asList(end, keys.id("eot", none, size), keys.id("eom", none, size)));
        stopTokens.remove(SpecialIds.NONE);
        stopTokens.addAll(StopTokens.of(vocabulary));
        AddedSpecialTokens added =
                AddedSpecialTokens.of(keys.flag("add_bos_token", addsBegin), keys.flag("add_eos_token", false));
        return new SpecialIds(begin, end, unknown, keys.id("padding", none, size), stopTokens, added);
    }
}
