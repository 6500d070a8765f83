package io.multihead.cache;

import io.multihead.internal.base.Checks;
import java.util.List;

/**
 * The state of many sequences in the layers of a model between steps: keys and values ({@link KeyValueCache}), recurrent states ({@link
 * RecurrentCache}), or both in different layers ({@link HybridCache}). Sequences have the same numbers in all layers.
 *
 * <p>The part of a model that computes a layer appends the tokens of that layer. Therefore layers of a sequence may have different lengths
 * while a step runs, and after a failed step. Only one thread at a time may call methods that change sequences. Parts of a model read only
 * these three implementations.
 */
public interface SequenceCache {
    /** {@return the number of layers that keep a state} */
    int layers();

    /** {@return the caches of one kind, each with its own memory; only this cache, unless it consists of several caches} */
    default List<? extends SequenceCache> parts() {
        return List.of(this);
    }

    /**
     * Returns the cache of one kind that has a layer.
     *
     * @param layer from 0
     * @return this cache, unless it consists of several caches
     */
    SequenceCache part(int layer);

    /**
     * Returns the number of a layer within its {@link #part}.
     *
     * @param layer from 0
     * @return the same number, unless this cache consists of several caches
     */
    int layerOfPart(int layer);

    /**
     * Opens an empty sequence.
     *
     * @return the number of the sequence, the smallest that is not in use
     */
    int open();

    /**
     * Opens a sequence with the same tokens. Both sequences share memory until one of them writes to it; the write copies that memory.
     *
     * @param sequence an open sequence
     * @return the new sequence's number
     */
    int fork(int sequence);

    /**
     * Closes a sequence; its number may be used for a new sequence.
     *
     * @param sequence an open sequence
     */
    void close(int sequence);

    /**
     * Returns the position of a sequence's next token in one layer: the number of appended tokens minus the
     * number of truncated tokens.
     *
     * @param layer from 0
     * @param sequence an open sequence
     * @return at least 0
     */
    long length(int layer, int sequence);

    /**
     * Returns the number of tokens that a sequence has in all layers.
     *
     * @param sequence an open sequence
     * @return the smallest length of a layer
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
     * @return 0 unless {@link #slide} dropped older tokens
     */
    long firstKey(int sequence);

    /**
     * {@return whether a sequence can be truncated to any length}. If not, it can be truncated to the lengths of its snapshots, to its
     * present length and to 0. If keys and values have a window, it can also be truncated by some tokens.
     */
    boolean truncatesAnywhere();

    /**
     * Returns the length of the longest prefix of a sequence that {@link #truncate} can leave.
     *
     * @param sequence an open sequence
     * @param length the largest length, at least 0
     * @return at most the length, and at most the tokens of every layer; -1 if {@link #slide} dropped the first tokens and a window dropped tokens
     *     that the next token sees
     */
    long restorable(int sequence, long length);

    /**
     * Drops the tokens from a position on, in all layers: after rejected draft tokens, or to rewind.
     *
     * @param sequence an open sequence
     * @param length the largest number of tokens to keep, counted from the first token of the sequence
     * @throws IllegalArgumentException if {@link #slide} dropped tokens that are needed, a recurrent state has no snapshot of this length, or a
     *     window has dropped tokens that the next token sees; {@link #restorable} returns a length without such errors
     */
    void truncate(int sequence, long length);

    /**
     * Takes a snapshot, so that a sequence can later be truncated to its present length. A truncation to a smaller length drops the snapshot. Keys
     * and values need no snapshot, except with a window; the snapshot then keeps the pages of the window. A recurrent state is copied when the
     * sequence changes: {@link #bytesPerSequence} for each snapshot. A sequence has at most three snapshots. A fourth snapshot evicts the snapshot
     * with the fewest tokens since its predecessor; the newest is never evicted.
     *
     * @param sequence an open sequence
     * @throws IllegalStateException if its layers have different lengths after a failed step
     */
    void snapshot(int sequence);

    /** {@return whether {@link #slide} can drop the first tokens of sequences} */
    boolean slides();

    /**
     * Drops the tokens before a position, in all layers. Positions do not change.
     *
     * @param sequence an open sequence
     * @param firstKey the first token that stays; at most the length of every layer
     * @throws IllegalArgumentException if a layer is shorter, or the tokens have been dropped already
     * @throws IllegalStateException if a layer has a recurrent state, which cannot drop tokens one by one
     */
    void slide(int sequence, long firstKey);

    /** {@return the bytes of one token in all layers; 0 if all states are recurrent} */
    long bytesPerToken();

    /**
     * Returns the bytes of a sequence of this length, without {@link #bytesPerSequence}. With a window, these are the bytes of the
     * largest number of tokens that is kept between steps.
     *
     * @param tokens at least 0
     * @return at most {@link #bytesPerToken} for each token
     * @throws IllegalArgumentException if the number is negative
     */
    default long bytesOfTokens(long tokens) {
        return bytesPerToken() * Checks.atLeast(tokens, 0, "tokens");
    }

    /** {@return the bytes of a sequence that do not depend on its length, and of each snapshot; 0 if no state is recurrent} */
    long bytesPerSequence();

    /** {@return the bytes that sequences and snapshots hold; shared memory counts once; at least 0} */
    long usedBytes();

    /**
     * Returns the bytes that some sequences and their snapshots hold; shared memory counts once.
     *
     * @param of open sequences
     * @return at most {@link #usedBytes()}
     */
    long bytesOf(int... of);

    /**
     * Limits the number of recurrent states, of {@link #bytesPerSequence} each, that sequences and snapshots may hold. Initially there is
     * no limit. With a limit, {@link #availableTokens}, {@link #neededTokens} and {@link #freedTokens} of the part with these states count
     * {@link RecurrentCache#TOKENS_OF_STATE} for each state. A cache with only keys and values has no recurrent states, and does not
     * change.
     *
     * @param states at least 1; states that already exceed this limit are kept
     * @throws IllegalArgumentException if the limit is less than 1
     */
    default void limitStates(long states) {
        Checks.atLeast(states, 1, "states");
    }

    /**
     * Returns the number of tokens, of all sequences together, that still fit in memory that no sequence holds.
     *
     * @return a multiple of the page size; 2^62 if all states are recurrent. With {@link #limitStates}, compare the tokens that are
     *     available and needed for each kind of states ({@link HybridCache#parts})
     */
    long availableTokens();

    /**
     * Returns the number of {@link #availableTokens} that an append would take. An append to several sequences takes at most the sum.
     *
     * @param sequence an open sequence
     * @param tokens new tokens of a layer, at least 0
     * @return a multiple of the page size: the new pages and the copies of shared pages, less the pages that the sequence drops
     * @throws IllegalArgumentException if the sequence is not open, or the number is negative or above 2^62
     */
    long neededTokens(int sequence, long tokens);

    /**
     * Returns the amount by which {@link #availableTokens} would grow if a sequence were truncated.
     *
     * @param sequence an open sequence
     * @param length the largest number of tokens that would be kept, from the first token of the
     *     sequence
     * @return a multiple of the page size: the pages after these tokens that no other sequence shares
     * @throws IllegalArgumentException if the sequence is not open, or the length is negative
     */
    long freedTokens(int sequence, long length);
}
