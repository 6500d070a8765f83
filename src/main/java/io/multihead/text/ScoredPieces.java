package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.text.pairs.Merge;
import io.multihead.internal.text.pairs.MergeTable;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The pieces of a SentencePiece vocabulary as symbols that merge. A code point that is not a token but occurs in one is a symbol with a
 * number from the vocabulary's size on; a code point that occurs in none is the negative symbol {@code -1 - codePoint}, which merges with
 * nothing.
 */
final class ScoredPieces {
    private static final char SPACE = '\u2581';
    private static final int PAGE_BITS = 8;
    private static final int REPLACEMENT = 0xfffd;
    /** The time to find all divisions of a piece grows with the square of its length; the longest piece of Gemma 3 has 31 characters. */
    private static final int LONGEST = 512;

    private final int tokens;
    private final Map<String, Integer> ids;
    private final int[] @Nullable [] symbols = new int[(Character.MAX_CODE_POINT + 1) >> PAGE_BITS][];
    private final List<Integer> parts = new ArrayList<>();
    private final BitSet beforeSpace = new BitSet();
    private final MergeTable merges;

    /** Creates pieces that merge by their scores, or in the order of a list if there is one. */
    ScoredPieces(Vocabulary vocabulary, @Nullable List<Merge> ordered) {
        tokens = vocabulary.size();
        ids = HashMap.newHashMap(tokens);
        for (int id = 0; id < tokens; id++) {
            switch (vocabulary.type(id)) {
                case NORMAL, USER_DEFINED, UNUSED -> ids.put(vocabulary.token(id), id);
                default -> {}
            }
        }
        ids.keySet().forEach(this::addCodePoints);
        Checks.index(tokens + parts.size() - 1L, MergeTable.MOST_SYMBOLS, "vocabulary size");
        merges = ordered == null ? byScore(vocabulary) : Merge.table(ordered, ids);
    }

    private MergeTable byScore(Vocabulary vocabulary) {
        int[] itself = new int[tokens];
        for (int id = 0; id < tokens; id++) {
            itself[id] = id;
        }
        MergeTable table = new MergeTable(vocabulary.ranks(), itself);
        ids.forEach((piece, id) -> addMerges(table, piece, id));
        return table;
    }

    private void addCodePoints(String piece) {
        for (int i = 0; i < piece.length(); ) {
            int codePoint = piece.codePointAt(i);
            i += Character.charCount(codePoint);
            if (i < piece.length() && piece.charAt(i) == SPACE && codePoint != SPACE) {
                beforeSpace.set(piece.charAt(i - 1));
            }
            int[] page = symbols[codePoint >> PAGE_BITS];
            if (page == null) {
                page = new int[1 << PAGE_BITS];
                for (int low = 0; low < page.length; low++) {
                    page[low] = -1 - (codePoint & -page.length | low);
                }
                symbols[codePoint >> PAGE_BITS] = page;
            }
            int low = codePoint & page.length - 1;
            if (page[low] < 0) {
                Integer id = ids.get(Character.toString(codePoint));
                page[low] = id == null ? tokens + parts.size() : id;
                if (id == null) {
                    parts.add(codePoint);
                }
            }
        }
    }

    private void addMerges(MergeTable table, String piece, int id) {
        if (piece.length() > LONGEST) {
            throw Checks.fail("token " + id, piece.length() + " characters", "expected at most " + LONGEST);
        }
        for (int i = Character.charCount(piece.isEmpty() ? 0 : piece.codePointAt(0)); i < piece.length(); ) {
            int left = symbol(piece.substring(0, i));
            int right = left < 0 ? -1 : symbol(piece.substring(i));
            if (right >= 0) {
                table.put(left, right, id);
            }
            i += Character.charCount(piece.codePointAt(i));
        }
    }

    /** Returns the symbol of a token or a code point, or a negative number. */
    private int symbol(String part) {
        int codePoint = part.codePointAt(0);
        return Character.charCount(codePoint) == part.length() ? symbol(codePoint) : ids.getOrDefault(part, -1);
    }

    /** Returns the symbol of a code point of a text. */
    int symbol(int codePoint) {
        int[] page = symbols[codePoint >> PAGE_BITS];
        return page == null ? absent(codePoint) : page[codePoint & page.length - 1];
    }

    /** Returns the symbol of a code point that is in no token. No token contains a surrogate, so pages of surrogates never exist. */
    private int absent(int codePoint) {
        boolean unpaired = codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
        return unpaired ? symbol(REPLACEMENT) : -1 - codePoint;
    }

    boolean isToken(int symbol) {
        return symbol >= 0 && symbol < tokens;
    }

    /** Returns the code point of a symbol that is not a token. */
    int codePoint(int symbol) {
        return symbol < 0 ? -1 - symbol : parts.get(symbol - tokens);
    }

    MergeTable merges() {
        return merges;
    }

    /** Returns whether a token has a space after a code point that ends with this character. */
    boolean mayPrecedeSpace(char last) {
        return beforeSpace.get(last);
    }
}
