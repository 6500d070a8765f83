package io.multihead.text;

import io.multihead.format.Gguf;
import io.multihead.internal.text.pairs.Merge;
import io.multihead.internal.text.unicode.BertSteps;
import io.multihead.internal.text.unigram.CharacterMap;
import io.multihead.internal.text.wordpiece.PairTemplate;
import io.multihead.internal.text.wordpiece.WordPieceModel;
import io.multihead.text.BytePairTokenizer.MissingBytes;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads GGUF's settings of an encoder's tokenizer. Missing keys have llama.cpp's values; texts become the tokens of the model's training,
 * which HuggingFace's libraries also return.
 */
final class GgufEncoderTokenizer {
    /** The prefix of WordPiece tokens that begin a word; other tokens continue a word. */
    private static final char SPACE = '\u2581';

    private static final int NONE = SpecialIds.NONE;
    private static final Pattern CAPITALIZED = Pattern.compile("[A-Z][a-z]+");

    private final GgufKeys keys;
    private final List<String> tokens;
    private final List<TokenType> types;

    GgufEncoderTokenizer(Gguf file) {
        keys = new GgufKeys(file);
        tokens = keys.texts("tokens");
        List<TokenType> found = keys.types(tokens.size());
        types = found.isEmpty() ? new ArrayList<>(Collections.nCopies(tokens.size(), TokenType.NORMAL)) : found;
    }

    EncoderTokenizer tokenizer() {
        return switch (keys.text("model")) {
            case "bert" -> new WordPiece(wordPiece());
            case "gpt2" -> bytePairs();
            case "t5" -> unigram();
            default -> throw keys.fail("model", "bert, gpt2 or t5 for an encoder");
        };
    }

    private WordPieceModel wordPiece() {
        requireAround(true);
        int first = special("cls", "bos", 101);
        int last = special("seperator", "eos", 102);
        int unknown = special("unknown", "unknown", 100);
        for (int id : new int[] {first, last, unknown}) {
            types.set(id, TokenType.CONTROL);
        }
        List<String> pieces = new ArrayList<>(tokens.size());
        Map<String, Integer> special = new LinkedHashMap<>();
        for (int id = 0; id < tokens.size(); id++) {
            boolean control = types.get(id) == TokenType.CONTROL;
            pieces.add(control ? tokens.get(id) : piece(tokens.get(id)));
            if (control) {
                special.put(tokens.get(id), id);
            }
        }
        return WordPieceModel.of(pieces, special, normalization(pieces), unknown, first, last);
    }

    /** Returns a token in the form of {@code vocab.txt}. Older converters did not change tokens in brackets. */
    private static String piece(String token) {
        if (token.indexOf(SPACE) == 0) {
            return token.substring(1);
        }
        boolean brackets = token.length() > 2 && token.startsWith("[") && token.endsWith("]");
        return brackets ? token : WordPieceModel.PREFIX + token;
    }

    private BertSteps normalization(List<String> pieces) {
        String key = "normalizer.lowercase";
        if (!keys.has(key)) {
            for (String piece : pieces) {
                // a text in lower case never contains such a token
                if (CAPITALIZED.matcher(piece).matches()) {
                    throw keys.fail(key, "true or false, as \"" + piece + "\" and others begin with a capital letter");
                }
            }
        }
        boolean lowercase = keys.flag(key, true);
        return new BertSteps(true, true, keys.flag("normalizer.strip_accents", lowercase), lowercase);
    }

    /** Fails unless the tokenizer puts two tokens around texts. */
    private void requireAround(boolean otherwise) {
        for (String flag : List.of("add_bos_token", otherwise ? "add_sep_token" : "add_eos_token")) {
            if (!keys.flag(flag, otherwise)) {
                throw keys.fail(flag, "true, as an encoder's texts stand between two tokens");
            }
        }
    }

    /** Returns the id of a key, or of an older key, or a default. */
    private int special(String name, String older, int otherwise) {
        int id = keys.id(name, NONE, tokens.size());
        return id == NONE ? keys.id(older, otherwise, tokens.size()) : id;
    }

    /** Returns the special ids of pieces; the first and the last are put around every text. */
    private SpecialIds special() {
        int begin = special("bos", "cls", NONE);
        int end = special("eos", "seperator", NONE);
        int size = tokens.size();
        return new SpecialIds(
                begin,
                end,
                keys.id("unknown", NONE, size),
                keys.id("padding", NONE, size),
                end == NONE ? Set.of() : Set.of(end),
                AddedSpecialTokens.BOTH);
    }

    private EncoderTokenizer bytePairs() {
        requireAround(false);
        String pre = keys.text("pre");
        Vocabulary vocabulary = Vocabulary.of(tokens, types);
        boolean modern = pre.equals("modern-bert");
        // these settings are in HuggingFace's file of ModernBERT, and GGUF lacks them
        BytePairTokenizer.Rules rules =
                new BytePairTokenizer.Rules(WordPattern.of(pre), false, modern, MissingBytes.AFTER_MERGES);
        BytePairTokenizer pairs = new BytePairTokenizer(
                vocabulary,
                keys.texts("merges").stream().map(Merge::of).toList(),
                rules,
                special(),
                AddedTokens.inText(vocabulary),
                AddedTokens.inSpecialText(vocabulary));
        PairTemplate template =
                switch (pre) {
                    case "modern-bert" -> new PairTemplate(1, 0);
                    case "roberta-bpe" -> PairTemplate.ROBERTA;
                    default -> PairTemplate.OTHER;
                };
        return new PieceEncoder(pairs.requireAllBytes(), template, OptionalInt.empty());
    }

    private EncoderTokenizer unigram() {
        requireAround(false);
        CharacterMap characters =
                CharacterMap.of(keys.bytes("precompiled_charsmap"), GgufKeys.PREFIX + "precompiled_charsmap");
        SentencePieceUnigram model = new SentencePieceUnigram(
                tokens,
                types,
                keys.scores(tokens.size()),
                characters,
                keys.flag("add_space_prefix", true),
                keys.flag("remove_extra_whitespaces", false),
                types.contains(TokenType.BYTE));
        return new PieceEncoder(model.tokenizer(special()), PairTemplate.ROBERTA, OptionalInt.empty());
    }
}
