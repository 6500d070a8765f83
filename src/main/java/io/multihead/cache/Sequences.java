package io.multihead.cache;

import io.multihead.internal.attention.AttentionBlocking;
import io.multihead.internal.base.Checks;
import io.multihead.position.Rope;
import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/** The open sequences of a cache by number, and the pages that they take. */
final class Sequences {
    /**
     * The number of tokens that {@link #slide} frees together: attention reads this number of keys as one block, and no key of the block
     * may be missing.
     */
    static final int SLIDE_STEP = AttentionBlocking.KEY_BLOCK;

    private final PagePool pool;
    /** The largest number of pages of one sequence. */
    private final long quota;

    final KeyWindow window;

    private @Nullable Sequence[] sequences = new Sequence[4];

    Sequences(PagePool pool, long quota, long window) {
        this.pool = pool;
        this.window = new KeyWindow(pool, window);
        this.quota = quota;
    }

    /** Returns an open sequence. */
    Sequence get(int number) {
        Sequence sequence = number < 0 || number >= sequences.length ? null : sequences[number];
        if (sequence == null) {
            throw Checks.fail("sequence", String.valueOf(number), "expected an open sequence");
        }
        return sequence;
    }

    /** Returns the largest number of pages of one sequence. */
    long quota() {
        return quota;
    }

    /** Returns the first token of a sequence that is in memory. */
    long kept(int number) {
        Sequence sequence = get(number);
        return Math.max(sequence.firstKey, sequence.dropped * pool.pageTokens);
    }

    /** Returns the page that holds a token. */
    int page(int number, long position) {
        return get(number).page(position / pool.pageTokens);
    }

    /**
     * Fails unless all sequences are open and different.
     *
     * @param name the argument's name
     * @param seen working memory of the check, overwritten; if it is large enough, the call allocates nothing
     */
    void requireDistinct(String name, int[] to, BitSet seen) {
        seen.clear();
        for (int number : to) {
            get(number); // checked first, because only the numbers of open sequences limit the size of the set
            if (seen.get(number)) {
                throw Checks.fail(name, Arrays.toString(to), "expected no sequence twice, as " + number + " is");
            }
            seen.set(number);
        }
    }

    /** Fails if new tokens that are rotated to their index have a position beyond the rope's positions. */
    void requireIndices(Rope rope, int layer, int[] to, long @Nullable [] offsets, long all) {
        for (int i = 0; i < to.length; i++) {
            long length = get(to[i]).lengths[layer];
            long count = count(offsets, i, all);
            if (count > rope.positions() - length) {
                throw Checks.fail(
                        "key",
                        count + " tokens after the " + length + " of sequence " + to[i],
                        "expected at most " + rope.positions() + " in all, the positions of " + rope);
            }
        }
    }

    /** Opens a sequence with the tokens of another one, which share pages, and returns its number. */
    int fork(int number) {
        Sequence from = get(number);
        Sequence other = from.fork();
        int fork = put(other); // first, because there may be no memory for it
        window.share(from, other);
        for (long page = other.dropped; page < other.dropped + other.pageCount; page++) {
            pool.share(other.page(page));
        }
        return fork;
    }

    /** Releases the pages of a sequence, and frees its number. */
    void close(int number) {
        Sequence closed = get(number);
        window.clear(closed);
        while (closed.pageCount > 0) {
            pool.release(closed.removeLast());
        }
        sequences[number] = null;
    }

    /** Gives a sequence the smallest number that is not in use. */
    int put(Sequence sequence) {
        int number = 0;
        while (number < sequences.length && sequences[number] != null) {
            number++;
        }
        sequences = number == sequences.length ? Arrays.copyOf(sequences, 2 * number) : sequences;
        sequences[number] = sequence;
        return number;
    }

    /** Returns the number of new tokens of one of several sequences. */
    static long count(long @Nullable [] offsets, int index, long all) {
        return offsets == null ? all : offsets[index + 1] - offsets[index];
    }

    /**
     * Takes the pages that the new tokens need, and copies the shared pages that will be written. If there is no room for all tokens, it
     * takes none.
     */
    void makeRoom(int layer, int[] to, long @Nullable [] offsets, long all) {
        long wanted = 0;
        long freed = 0;
        for (int i = 0; i < to.length; i++) {
            Sequence sequence = get(to[i]);
            long length = sequence.lengths[layer];
            long count = count(offsets, i, all);
            // the number of tokens of a broadcast tensor may make length + count overflow; a negative sum needs no page
            long end = count > Long.MAX_VALUE - length ? Long.MAX_VALUE : length + count;
            long pages = Math.ceilDiv(end, (long) pool.pageTokens);
            long missing = Math.max(0, pages - sequence.dropped - sequence.pageCount);
            int stale = window.stale(sequence);
            freed += stale == 0 ? 0 : window.freedByDrop(sequence);
            if (missing + sequence.pageCount - stale > quota) {
                throw new CacheFullException(
                        "sequence " + to[i] + ": " + length + " tokens and " + count + " more; expected at most "
                                + quota * pool.pageTokens + " from token " + sequence.dropped * pool.pageTokens);
            }
            wanted += missing;
        }
        wanted += copies(layer, to, offsets, all);
        if (wanted > pool.available() + freed) {
            throw new CacheFullException("cache: " + wanted + " pages wanted; expected at most the "
                    + (pool.available() + freed) + " free of " + pool.pages + ", " + pool.pageTokens + " tokens each");
        }
        for (int number : to) {
            window.dropStale(get(number));
        }
        for (int i = 0; i < to.length; i++) {
            takePages(get(to[i]), layer, count(offsets, i, all));
        }
    }

    /** Returns the number of free pages that new tokens of a layer take: new pages, and copies of shared pages. */
    long needed(int number, int layer, long count) {
        Sequence sequence = get(number);
        long length = sequence.lengths[layer];
        long pages = Math.ceilDiv(length + count, (long) pool.pageTokens);
        long needed = Math.max(0, pages - sequence.dropped - sequence.pageCount);
        long last = lastWritten(sequence, layer, count);
        for (long page = length / pool.pageTokens; page <= last; page++) {
            needed += pool.isShared(sequence.page(page)) ? 1 : 0;
        }
        return Math.max(0, needed - window.freedByDrop(sequence));
    }

    /** Returns the number of different pages of some sequences. */
    int pages(int[] numbers) {
        BitSet pages = new BitSet();
        for (int number : numbers) {
            Sequence sequence = get(number);
            for (long page = sequence.dropped; page < sequence.dropped + sequence.pageCount; page++) {
                pages.set(sequence.page(page));
            }
            KeyWindow.addPages(sequence, pages);
        }
        return pages.cardinality();
    }

    /** Returns the number of pages after the first tokens that no other sequence shares. */
    long freed(int number, long length) {
        Sequence sequence = get(number);
        if (window.tokens > 0) {
            return window.freed(sequence, length);
        }
        long freed = 0;
        long first = Math.max(sequence.dropped, Math.ceilDiv(length, (long) pool.pageTokens));
        for (long page = first; page < sequence.dropped + sequence.pageCount; page++) {
            freed += pool.isShared(sequence.page(page)) ? 0 : 1;
        }
        return freed;
    }

    /** Returns the number of pages that must be copied; if all sequences that share a page write to it, the last one keeps it. */
    private long copies(int layer, int[] to, long @Nullable [] offsets, long all) {
        long copies = 0;
        for (int i = 0; i < to.length; i++) {
            Sequence sequence = get(to[i]);
            long last = lastWritten(sequence, layer, count(offsets, i, all));
            for (long page = sequence.lengths[layer] / pool.pageTokens; page <= last; page++) {
                copies += pool.planWrite(sequence.page(page)) ? 1 : 0;
            }
        }
        for (int i = 0; i < to.length; i++) {
            Sequence sequence = get(to[i]);
            long last = lastWritten(sequence, layer, count(offsets, i, all));
            for (long page = sequence.lengths[layer] / pool.pageTokens; page <= last; page++) {
                pool.clearPlan(sequence.page(page));
            }
        }
        return copies;
    }

    /** Returns the last existing page to which new tokens are written; less than the first if there is none. */
    private long lastWritten(Sequence sequence, int layer, long count) {
        long pages = Math.ceilDiv(sequence.lengths[layer] + count, (long) pool.pageTokens);
        return count == 0 ? -1 : Math.min(pages, sequence.dropped + sequence.pageCount) - 1;
    }

    /** Adds the new tokens, which have been written, to the lengths. */
    void advance(int layer, int[] to, long @Nullable [] offsets, long all) {
        for (int i = 0; i < to.length; i++) {
            get(to[i]).lengths[layer] += count(offsets, i, all);
        }
    }

    /** Releases the pages that an append took for tokens that it did not write. */
    void trim(int[] to) {
        for (int number : to) {
            trim(get(number));
        }
    }

    /** Releases the pages after the last token of any layer. */
    void trim(Sequence sequence) {
        long pages = Math.ceilDiv(sequence.longest(), (long) pool.pageTokens);
        while (sequence.pageCount > 0 && sequence.dropped + sequence.pageCount > pages) {
            pool.release(sequence.removeLast());
        }
    }

    /** Drops the tokens from a position on, in all layers. */
    void truncate(int number, long length) {
        Sequence shorter = get(number);
        if (length < shorter.firstKey) {
            throw Checks.fail(
                    "length", String.valueOf(length), "expected at least the first token " + shorter.firstKey);
        }
        if (window.tokens > 0 && length < shorter.longest()) {
            long most = window.restorable(shorter, length);
            if (most < Math.min(length, shorter.shortest())) {
                throw Checks.fail(
                        "length",
                        String.valueOf(length),
                        "expected at most " + most + " or at least " + window.leastCut(shorter)
                                + ", since tokens that other lengths need were dropped, with a window of "
                                + window.tokens
                                + " tokens");
            }
            window.restore(shorter, length);
        }
        for (int layer = 0; layer < shorter.lengths.length; layer++) {
            shorter.lengths[layer] = Math.min(shorter.lengths[layer], length);
        }
        trim(shorter);
    }

    /** Drops the tokens before a position, in all layers, and releases whole blocks of them. */
    void slide(int number, long firstKey) {
        Sequence slid = get(number);
        for (long length : slid.lengths) {
            if (firstKey > length || firstKey < slid.firstKey) {
                throw Checks.fail(
                        "firstKey", String.valueOf(firstKey), "expected " + slid.firstKey + " to the length " + length);
            }
        }
        slid.firstKey = firstKey;
        window.clear(slid); // the first tokens of snapshots may be among the dropped tokens
        long page = firstPage(firstKey);
        while (slid.pageCount > 0 && slid.dropped < page) {
            pool.release(slid.removeFirst());
        }
        slid.dropped = slid.pageCount == 0 ? Math.max(slid.dropped, page) : slid.dropped;
    }

    /** Returns the first page of a sequence whose first token is {@code firstKey}: attention reads whole blocks of 256. */
    long firstPage(long firstKey) {
        return firstKey / SLIDE_STEP * (SLIDE_STEP / pool.pageTokens);
    }

    private void takePages(Sequence sequence, int layer, long count) {
        long length = sequence.lengths[layer];
        long pages = Math.ceilDiv(length + count, (long) pool.pageTokens);
        for (long page = length / pool.pageTokens; page < pages && count > 0; page++) {
            if (page >= sequence.dropped + sequence.pageCount) {
                sequence.add(pool.take(sequence.last()));
            } else if (pool.isShared(sequence.page(page))) {
                sequence.set(page, pool.copy(sequence.page(page)));
            }
        }
    }
}
