package io.multihead.decoder;

import io.multihead.cache.SequenceCache;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Prefixes that closed sessions have left in the cache, for prompts that begin with the same tokens. Sessions that begin with a prefix
 * share its pages; the last page is copied if a session continues within it. Prefixes have no claim to memory. Used under the lock of the
 * {@link StepQueue}, except {@link #isEmpty}.
 */
final class KeptPrefixes {
    /**
     * The smallest number of common tokens that is a match. Prompts of one template have fewer common tokens by chance, and such a match
     * must not make the prefix look recently used.
     */
    static final int LEAST_TOKENS = 16;

    private final SequenceCache cache;
    private final Eviction eviction;
    private final List<Kept> all = new ArrayList<>();
    private volatile boolean isEmpty = true;
    private long hits;
    private long savedTokens;

    /**
     * A kept prefix.
     *
     * @param tokens the first tokens of the sequence; the length of the sequence is the number of them in the cache
     */
    private record Kept(CachedSequence sequence, int[] tokens) {}

    KeptPrefixes(SequenceCache cache, Eviction eviction) {
        this.cache = cache;
        this.eviction = eviction;
    }

    /** Keeps the tokens of a closed sequence, unless they are already kept; otherwise closes the sequence. */
    void keep(CachedSequence sequence, int[] tokens) {
        int length = shareable(sequence, Math.min(tokens.length, eviction.length(sequence)));
        Kept longest = find(tokens, length);
        if (longest != null && common(longest, tokens, length) == length) {
            longest.sequence.turn = sequence.turn;
            release(sequence);
        } else if (length == 0) {
            release(sequence);
        } else {
            cache.truncate(sequence.number, length);
            dropPrefixesOf(tokens, length);
            all.add(new Kept(sequence, Arrays.copyOf(tokens, length)));
        }
        isEmpty = all.isEmpty();
    }

    /** Drops kept prefixes with which these tokens begin, such as prefixes whose memory was evicted. */
    private void dropPrefixesOf(int[] tokens, int length) {
        for (int i = all.size() - 1; i >= 0; i--) {
            Kept kept = all.get(i);
            if (common(kept, tokens, length) == shareable(kept.sequence, eviction.length(kept.sequence))) {
                release(kept.sequence);
                all.remove(i);
            }
        }
    }

    private void release(CachedSequence sequence) {
        eviction.remove(sequence);
        cache.close(sequence.number);
    }

    /**
     * Lets a sequence without tokens begin with the longest kept prefix of some tokens.
     *
     * @return the number of tokens that the sequence has now
     */
    int begin(CachedSequence sequence, int[] tokens, int count) {
        Kept longest = find(tokens, count);
        if (longest == null) {
            return 0;
        }
        int length = common(longest, tokens, count);
        int fork = cache.fork(longest.sequence.number);
        cache.truncate(fork, length);
        cache.close(sequence.number);
        sequence.number = fork;
        longest.sequence.turn = sequence.turn;
        hits++;
        savedTokens += length;
        return length;
    }

    /** Returns the prefix that has the most first tokens in common with given tokens; null if no prefix has enough of them. */
    private @Nullable Kept find(int[] tokens, int count) {
        Kept best = null;
        int most = 0;
        for (int i = 0; i < all.size(); i++) {
            int common = common(all.get(i), tokens, count);
            if (common > most) {
                most = common;
                best = all.get(i);
            }
        }
        return best;
    }

    private int common(Kept kept, int[] tokens, int count) {
        int most = Math.min(eviction.length(kept.sequence), count);
        int different = Arrays.mismatch(kept.tokens, 0, most, tokens, 0, most);
        return shareable(kept.sequence, different < 0 ? most : different);
    }

    /**
     * Returns the number of a sequence's first tokens with which another sequence can begin. Recurrent states and windows may limit this
     * number. It is 0 if it would be less than {@link #LEAST_TOKENS}.
     */
    private int shareable(CachedSequence sequence, int tokens) {
        int most = (int) cache.restorable(sequence.number, tokens);
        return most < LEAST_TOKENS ? 0 : most;
    }

    boolean isEmpty() {
        return isEmpty;
    }

    PrefixReuse statistics(long bytes) {
        return new PrefixReuse(hits, savedTokens, bytes);
    }
}
