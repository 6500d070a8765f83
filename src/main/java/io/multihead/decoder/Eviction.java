package io.multihead.decoder;

import io.multihead.cache.RecurrentCache;
import io.multihead.cache.SequenceCache;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Makes room in a cache for sequences with an older claim. The newest tokens of other sequences are dropped, page by page, and computed
 * again when they are needed. Sequences that no call uses are evicted first, in the order of their last use. Sequences of calls that began
 * later follow, the latest first. Therefore the call that began first always continues. Used only under the lock of the {@link StepQueue}.
 */
final class Eviction {
    private final SequenceCache cache;
    /** The parts of the cache, each of which has separate room. */
    final List<? extends SequenceCache> parts;

    final int pageTokens;
    private final List<CachedSequence> all = new ArrayList<>();

    Eviction(SequenceCache cache, int pageTokens) {
        this.cache = cache;
        parts = cache.parts();
        this.pageTokens = pageTokens;
    }

    CachedSequence add(int number) {
        CachedSequence sequence = new CachedSequence(number);
        all.add(sequence);
        return sequence;
    }

    void remove(CachedSequence sequence) {
        all.remove(sequence);
    }

    /** Returns the numbers of the sequences that belong to sessions. */
    int[] ownedNumbers() {
        return all.stream()
                .filter(sequence -> !sequence.isGivenUp)
                .mapToInt(sequence -> sequence.number)
                .toArray();
    }

    /** Returns the number of tokens that a sequence has in all layers. */
    int length(CachedSequence sequence) {
        return (int) cache.length(sequence.number);
    }

    /** Drops the tokens after a length, and more tokens before it if a recurrent state cannot be truncated to this length. */
    void truncate(CachedSequence sequence, int length) {
        cache.truncate(sequence.number, cache.restorable(sequence.number, length));
    }

    /**
     * Makes room for tokens of a call.
     *
     * @param turn the call's number
     * @param taken the number of tokens that the earlier steps of the batch take of each part
     * @param sequence the sequence that gets the room; null for a sequence that will be opened
     * @param states the number of recurrent states that are needed in addition
     * @return whether there is enough room now
     */
    boolean makeRoom(long turn, long[] taken, @Nullable CachedSequence sequence, long tokens, int states) {
        while (isShort(taken, sequence, tokens, states)) {
            CachedSequence victim = victim(turn);
            if (victim == null) {
                return false;
            }
            do {
                truncate(victim, (length(victim) - 1) / pageTokens * pageTokens);
            } while (isShort(taken, sequence, tokens, states) && length(victim) > 0);
        }
        return true;
    }

    /**
     * Returns whether there is too little room. A page that only this sequence uses needs no copy, so the needed room may shrink when other
     * sequences drop tokens.
     */
    private boolean isShort(long[] taken, @Nullable CachedSequence sequence, long tokens, int states) {
        for (int i = 0; i < taken.length; i++) {
            SequenceCache part = parts.get(i);
            long opened = part.bytesPerToken() == 0 ? 0 : tokens;
            long needed = sequence == null ? opened : part.neededTokens(sequence.number, tokens);
            long more = part.bytesPerSequence() == 0 ? 0 : states * RecurrentCache.TOKENS_OF_STATE;
            if (part.availableTokens() < taken[i] + needed + more) {
                return true;
            }
        }
        return false;
    }

    private boolean frees(CachedSequence sequence) {
        for (int part = 0; part < parts.size(); part++) {
            if (parts.get(part).freedTokens(sequence.number, 0) > 0) {
                return true;
            }
        }
        return false;
    }

    private @Nullable CachedSequence victim(long turn) {
        CachedSequence best = null;
        for (int i = 0; i < all.size(); i++) {
            CachedSequence other = all.get(i);
            boolean mayGo = !other.hasSlid && (!other.isUsed || other.turn > turn) && length(other) > 0;
            if (mayGo && (best == null || isBefore(other, best))) {
                best = other;
            }
        }
        return best;
    }

    /** Returns whether the tokens of one sequence are dropped before the tokens of another one. */
    private boolean isBefore(CachedSequence one, CachedSequence other) {
        // dropping shared tokens frees nothing unless all sequences that share them drop them
        boolean frees = frees(one);
        if (frees != frees(other)) {
            return frees;
        }
        if (one.isUsed != other.isUsed) {
            return !one.isUsed;
        }
        return one.isUsed ? one.turn > other.turn : one.turn < other.turn;
    }
}
