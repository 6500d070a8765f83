package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.unigram.CharacterMap;
import io.multihead.internal.text.unigram.PieceArray;
import io.multihead.internal.text.unigram.SentenceNormalizer;
import io.multihead.internal.text.unigram.UnigramPieces;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import io.multihead.text.UnigramTokenizer.Division;
import io.multihead.text.UnigramTokenizer.Prefix;
import io.multihead.text.UnigramTokenizer.Rules;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A Unigram model of SentencePiece's own file.
 *
 * @param tokens the pieces
 * @param types the types of the pieces
 * @param scores the scores of the pieces
 * @param map the map of characters
 * @param prefixed whether a space is put before a text
 * @param collapses whether spaces at the ends and after another space are removed
 * @param byteFallback whether unknown code points become bytes
 */
record SentencePieceUnigram(
        List<String> tokens,
        List<TokenType> types,
        float[] scores,
        CharacterMap map,
        boolean prefixed,
        boolean collapses,
        boolean byteFallback) {
    /** SentencePiece subtracts this number from the score of a user-defined piece. */
    private static final double USER_DEFINED_PENALTY = 0.1;

    private static final List<String> FIRST = List.of("<unk>", "<s>", "</s>");

    /** Returns the tokenizer whose ids are the indices of the pieces. */
    UnigramTokenizer tokenizer(SpecialIds special) {
        List<AddedTokens.Token> found = IntStream.range(0, tokens.size())
                .filter(id -> types.get(id) == TokenType.CONTROL || types.get(id) == TokenType.UNKNOWN)
                .mapToObj(id -> new AddedTokens.Token(tokens.get(id), id, false, false, false))
                .toList();
        return tokenizer(tokens, types, tokens.size(), allScores(), special, found);
    }

    private UnigramTokenizer tokenizer(
            List<String> names,
            List<TokenType> kinds,
            int own,
            double[] all,
            SpecialIds special,
            List<AddedTokens.Token> found) {
        for (int id = 0; id < scores.length; id++) {
            if (!Float.isFinite(scores[id])) {
                throw Checks.fail(
                        "score of \"" + tokens.get(id) + "\"", String.valueOf(scores[id]), "expected a number");
            }
        }
        NormalizedTokens none = new NormalizedTokens(List.of(), (buffer, origin) -> {});
        Rules rules = new Rules(normalizer(), none, none, Division.NOWHERE, Prefix.NEVER, byteFallback);
        double lowest = IntStream.range(0, scores.length)
                .filter(id -> types.get(id) == TokenType.NORMAL)
                .mapToDouble(id -> scores[id])
                .min()
                .orElse(0);
        UnigramPieces pieces = new UnigramPieces(
                new UnigramPieces.Model(names, TokenType.reserved(kinds), all, lowest, true), special.unknown(), false);
        return new UnigramTokenizer(
                pieces,
                Vocabulary.of(names, kinds).withAddedFrom(own),
                rules,
                special,
                new AddedTokens(List.of()),
                new AddedTokens(found));
    }

    private SentenceNormalizer normalizer() {
        List<PieceArray.Entry> userDefined = new ArrayList<>();
        for (int id = 0; id < tokens.size(); id++) {
            if (types.get(id) == TokenType.USER_DEFINED && !tokens.get(id).isEmpty()) {
                byte[] piece = tokens.get(id).getBytes(StandardCharsets.UTF_8);
                UnigramPieces.bytes(tokens.get(id)); // this call checks the length
                userDefined.add(new PieceArray.Entry(piece, id));
            }
        }
        return new SentenceNormalizer(map, new PieceArray(userDefined), prefixed, collapses);
    }

    /** Returns the scores by piece, in which user-defined pieces have a score that lets each of them win. */
    private double[] allScores() {
        float highest = Float.MIN_NORMAL;
        for (int id = 0; id < scores.length; id++) {
            highest = types.get(id) == TokenType.NORMAL ? Math.max(highest, scores[id]) : highest;
        }
        double[] all = new double[scores.length];
        for (int id = 0; id < all.length; id++) {
            int bytes = tokens.get(id).getBytes(StandardCharsets.UTF_8).length;
            all[id] = types.get(id) == TokenType.USER_DEFINED ? bytes * highest - USER_DEFINED_PENALTY : scores[id];
        }
        return all;
    }

    /**
     * Returns XLM-R's tokenizer: the first tokens in the order of fairseq, the other pieces with ids that are 1 larger, and {@code <mask>}
     * after them; transformers has the same ids.
     */
    UnigramTokenizer fairseq() {
        if (tokens.size() < FIRST.size() || !tokens.subList(0, FIRST.size()).equals(FIRST)) {
            throw Checks.fail(
                    "tokenizer.model",
                    "pieces " + tokens.subList(0, Math.min(tokens.size(), FIRST.size())),
                    "expected " + FIRST + " first");
        }
        List<String> names = new ArrayList<>(List.of("<s>", "<pad>", "</s>", "<unk>"));
        names.addAll(tokens.subList(FIRST.size(), tokens.size()));
        int mask = names.size();
        names.add("<mask>");
        List<TokenType> kinds =
                new ArrayList<>(List.of(TokenType.CONTROL, TokenType.CONTROL, TokenType.CONTROL, TokenType.UNKNOWN));
        kinds.addAll(types.subList(FIRST.size(), types.size()));
        kinds.add(TokenType.CONTROL);
        double[] all = new double[names.size()];
        System.arraycopy(allScores(), FIRST.size(), all, FIRST.size() + 1, scores.length - FIRST.size());
        List<AddedTokens.Token> found = new ArrayList<>();
        for (int id = 0; id <= FIRST.size(); id++) {
            found.add(new AddedTokens.Token(names.get(id), id, false, false, false));
        }
        found.add(new AddedTokens.Token("<mask>", mask, false, true, false));
        SpecialIds special = new SpecialIds(0, 2, 3, 1, Set.of(2), AddedSpecialTokens.BOTH);
        return tokenizer(names, kinds, mask, all, special, found);
    }
}
