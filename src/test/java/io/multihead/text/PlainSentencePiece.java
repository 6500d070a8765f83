package io.multihead.text;

import io.multihead.text.SentencePieceTokenizer.SpacePrefix;
import java.util.ArrayList;
import java.util.List;

/**
 * The definition of SentencePiece's byte-pair encoding: all pairs are examined before each merge. Added and byte tokens
 * are not supported.
 */
final class PlainSentencePiece {
    private PlainSentencePiece() {}

    static int[] encode(Vocabulary vocabulary, String text, SpacePrefix prefix) {
        String spaced = (prefix == SpacePrefix.NONE || text.isEmpty() ? "" : " ") + text;
        List<String> symbols = new ArrayList<>();
        spaced.replace(' ', '\u2581').codePoints().forEach(c -> symbols.add(Character.toString(c)));
        for (int best = best(vocabulary, symbols); best >= 0; best = best(vocabulary, symbols)) {
            symbols.set(best, symbols.get(best) + symbols.remove(best + 1));
        }
        List<Integer> ids = new ArrayList<>();
        for (String symbol : symbols) {
            int id = Math.max(find(vocabulary, symbol), 0);
            if (id > 0 || ids.isEmpty() || ids.getLast() != 0) {
                ids.add(id);
            }
        }
        return ids.stream().mapToInt(id -> id).toArray();
    }

    private static int best(Vocabulary vocabulary, List<String> symbols) {
        int best = -1;
        float bestScore = 0;
        for (int i = 0; i + 1 < symbols.size(); i++) {
            int id = find(vocabulary, symbols.get(i) + symbols.get(i + 1));
            if (id >= 0 && (best < 0 || vocabulary.score(id) > bestScore)) {
                best = i;
                bestScore = vocabulary.score(id);
            }
        }
        return best;
    }

    private static int find(Vocabulary vocabulary, String token) {
        for (int id = 0; id < vocabulary.size(); id++) {
            if (vocabulary.type(id) == TokenType.NORMAL && vocabulary.token(id).equals(token)) {
                return id;
            }
        }
        return -1;
    }
}
