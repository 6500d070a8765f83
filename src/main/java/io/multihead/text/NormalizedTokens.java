package io.multihead.text;

import io.multihead.internal.text.unicode.Utf8;
import io.multihead.internal.text.unigram.PieceArray;
import io.multihead.internal.text.unigram.UnigramBuffer;
import io.multihead.internal.text.unigram.UnigramNormalizer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Added tokens that are found in normalized text, which {@code tokenizer.json} marks with {@code "normalized": true}; otherwise like {@link
 * AddedTokens}. Immutable and thread-safe.
 */
final class NormalizedTokens {
    private final List<AddedTokens.Token> tokens = new ArrayList<>();
    private final PieceArray pieces;

    /** Takes tokens whose own text is also normalized; among tokens that become equal, the last one is used. */
    NormalizedTokens(List<AddedTokens.Token> all, UnigramNormalizer normalizer) {
        List<PieceArray.Entry> entries = new ArrayList<>();
        UnigramBuffer buffer = new UnigramBuffer();
        for (AddedTokens.Token token : all) {
            buffer.read(token.text().toCharArray(), 0, token.text().length());
            normalizer.normalize(buffer, 0);
            byte[] piece = Arrays.copyOfRange(buffer.text, UnigramBuffer.START, buffer.end);
            entries.removeIf(other -> Arrays.equals(other.piece(), piece));
            if (piece.length > 0) {
                entries.add(new PieceArray.Entry(piece, tokens.size()));
            }
            tokens.add(token);
        }
        pieces = new PieceArray(entries);
    }

    /** Finds the first token from a place on, and returns whether there is one; the buffer then has its id and place. */
    boolean find(UnigramBuffer buffer, int from) {
        if (tokens.isEmpty()) {
            return false;
        }
        for (int at = from; at < buffer.end; ) {
            int end = match(buffer, at);
            if (end > at && isFound(buffer, from, at, end)) {
                return true;
            }
            at = Math.max(end, at + 1);
        }
        return false;
    }

    /** Returns the end of the longest token that begins here, or {@code at}; the buffer has its number. */
    private int match(UnigramBuffer buffer, int at) {
        int longest = at;
        int state = pieces.root;
        for (int i = at; i < buffer.end; ) {
            int unit = pieces.unit(state, buffer.text[i++]);
            if (unit == 0) {
                break;
            }
            state = PieceArray.state(unit);
            if (PieceArray.ends(unit)) {
                buffer.match = pieces.value(state);
                longest = i;
            }
        }
        return longest;
    }

    private boolean isFound(UnigramBuffer buffer, int from, int start, int end) {
        AddedTokens.Token token = tokens.get(buffer.match);
        if (token.singleWord()
                && (start > UnigramBuffer.START && isWord(buffer, buffer.before(start))
                        || end < buffer.end && isWord(buffer, end))) {
            return false;
        }
        buffer.match = token.id();
        buffer.matchStart = start;
        while (token.stripsLeft()
                && buffer.matchStart > from
                && buffer.spaceLength(buffer.before(buffer.matchStart)) > 0) {
            buffer.matchStart = buffer.before(buffer.matchStart);
        }
        buffer.matchEnd = end;
        while (token.stripsRight() && buffer.matchEnd < buffer.end && buffer.spaceLength(buffer.matchEnd) > 0) {
            buffer.matchEnd += buffer.spaceLength(buffer.matchEnd);
        }
        return true;
    }

    private static boolean isWord(UnigramBuffer buffer, int at) {
        return buffer.text[at] != UnigramBuffer.MARK && AddedTokens.isWord(Utf8.codePoint(buffer.text, at));
    }
}
