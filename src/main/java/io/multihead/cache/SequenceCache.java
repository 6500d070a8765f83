package io.multihead.cache;

/**
 * What the layers of a model keep of many sequences between steps: keys and values ({@link KeyValueCache}), recurrent states ({@link
 * RecurrentCache}), or some layers one and some the other ({@link HybridCache}). Sequences have the same numbers in all layers.
 *
 * <p>Tokens are added by what computes a layer, so that layers of a sequence may have different lengths while a step runs, and after one that
 * failed. What changes sequences is for one thread at a time. Other implementations than these three are of no use: parts of a model read theirs.
 */
public interface SequenceCache {
    /**
     * {@return the number of layers that keep something}
     */
    int layers();

    /**
     * Returns the cache of one kind that has a layer.
     *
     * @param layer from 0
     * @return this, unless it is made of several
     */
    SequenceCache part(int layer);

    /**
     * Returns which layer of its {@link #part} a layer is.
     *
     * @param layer from 0
     * @return the same number, unless this is made of several
     */
    int layerOfPart(int layer);

    /**
     * Opens an empty sequence.
     *
     * @return its number, the smallest that is not in use
     */
    int open();

    /**
     * Opens a sequence with the same tokens. It shares memory with the other one until one of them writes to it, which copies that memory.
     *
     * @param sequence an open sequence
     * @return the new sequence's number
     */
    int fork(int sequence);

    /**
     * Closes a sequence; its number may be given again.
     *
     * @param sequence an open sequence
     */
    void close(int sequence);

    /**
     * Returns the position of a sequence's next token in one layer: how many were appended, less those truncated.
     *
     * @param layer from 0
     * @param sequence an open sequence
     * @return at least 0
     */
    long length(int layer, int sequence);

    /**
     * Returns how many tokens a sequence has in all layers.
     *
     * @param sequence an open sequence
     * @return the least of its lengths
     */
    default long length(int sequence) {
        long least = Long.MAX_VALUE;
        for (int layer = 0; layer < layers(); layer++) {
            least = Math.min(least, length(layer, sequence));
        }
        return least;
    }

    /**
     * Returns the first token that still exists.
     *
     * @param sequence an open sequence
     * @return 0 unless {@link #slide} dropped older ones
     */
    long firstKey(int sequence);

    /**
     * {@return whether a sequence can be truncated to any length; else to those of its snapshots, to its present one and to 0, and by some
     *     tokens where keys and values have a window}
     */
    boolean truncatesAnywhere();

    /**
     * Returns the length of the longest prefix of a sequence that {@link #truncate} can leave.
     *
     * @param sequence an open sequence
     * @param length most tokens of it, at least 0
     * @return at most the length, and at most what all layers have; -1 if {@link #slide} dropped the first tokens, and a window what the next
     *     token sees
     */
    long restorable(int sequence, long length);

    /**
     * Drops the tokens from a position on, in all layers: after speculation that failed, or to rewind.
     *
     * @param sequence an open sequence
     * @param length how many tokens stay at most, from the very first
     * @throws IllegalArgumentException if tokens that were dropped by {@link #slide} would have to come back, a recurrent state has no
     *     snapshot of this length, or a window has dropped what the next token sees, which {@link #restorable} says before
     */
    void truncate(int sequence, long length);

    /**
     * Remembers a sequence as it is now, so that it can be truncated to its present length, until it is truncated below. Keys and values need
     * none, and keep none, but where they have a window, whose pages are kept then. A recurrent state is copied when the sequence goes on: {@link #bytesPerSequence} for each snapshot, of which a
     * sequence has three at most. Of more, the one is evicted that has the fewest tokens since the one before; the newest never is.
     *
     * @param sequence an open sequence
     * @throws IllegalStateException if its layers have different lengths, after a step that failed
     */
    void snapshot(int sequence);

    /**
     * Drops the tokens before a position, in all layers. Positions do not change.
     *
     * @param sequence an open sequence
     * @param firstKey the first token that stays; at most the length of every layer
     * @throws IllegalArgumentException if a layer is shorter, or the tokens have been dropped already
     * @throws IllegalStateException if a layer has a recurrent state, which cannot drop tokens one by one
     */
    void slide(int sequence, long firstKey);

    /**
     * Returns the bytes of one token in all layers.
     *
     * @return 0 where all states are recurrent
     */
    long bytesPerToken();

    /**
     * Returns the bytes of a sequence that do not depend on its length, and of each snapshot.
     *
     * @return 0 where no state is recurrent
     */
    long bytesPerSequence();

    /**
     * Returns the bytes that sequences and snapshots hold; what they share counts once.
     *
     * @return at least 0
     */
    long usedBytes();

    /**
     * Returns the bytes that some sequences and their snapshots hold; what they share counts once.
     *
     * @param of open sequences
     * @return at most {@link #usedBytes()}
     */
    long bytesOf(int... of);

    /**
     * Returns how many tokens still fit, of all sequences together, in memory that no sequence holds.
     *
     * @return a multiple of the page size; 2^62 where all states are recurrent. With a {@link RecurrentCache#limit}, that of one kind of
     *     states is to be compared with what is needed of it ({@link HybridCache#parts})
     */
    long availableTokens();

    /**
     * Returns how many of the {@link #availableTokens} an append would take. One that appends to several sequences takes at most the sum.
     *
     * @param sequence an open sequence
     * @param tokens new tokens of a layer, at least 0
     * @return a multiple of the page size: that of new pages, and of copies of pages that are shared, less that of pages which it drops
     * @throws IllegalArgumentException if the sequence is not open, or the number is negative or above 2^62
     */
    long neededTokens(int sequence, long tokens);

    /**
     * Returns by how much {@link #availableTokens} would grow if a sequence were truncated.
     *
     * @param sequence an open sequence
     * @param length how many tokens would stay at most, from the very first
     * @return a multiple of the page size: that of the pages behind these tokens which no other sequence shares
     * @throws IllegalArgumentException if the sequence is not open, or the length is negative
     */
    long freedTokens(int sequence, long length);
}
