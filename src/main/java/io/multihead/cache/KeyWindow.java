package io.multihead.cache;

import io.multihead.cache.Sequence.Mark;
import io.multihead.internal.attention.AttentionBlocking;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Determines the pages that a cache with a window keeps. These are the pages of the tokens that the next queries see, of {@link #MARGIN}
 * tokens before them, and of the tokens that were visible at a snapshot. The margin allows a sequence to drop its last tokens. Pages are
 * released before an append, when all queries of the previous append have been computed.
 */
final class KeyWindow {
    /** The number of last tokens that a sequence can always drop, for example rejected draft tokens. */
    static final int MARGIN = AttentionBlocking.KEY_BLOCK;

    private final PagePool pool;
    /** The number of tokens that a query sees, including its own token; 0 for all. */
    final long tokens;

    KeyWindow(PagePool pool, long tokens) {
        this.pool = pool;
        this.tokens = tokens;
    }

    /** Returns the largest number of tokens that a sequence keeps between appends. */
    long most() {
        return tokens == 0 ? Long.MAX_VALUE : tokens + MARGIN + AttentionBlocking.KEY_BLOCK - 1;
    }

    /** Returns the first token that a query at a position sees. */
    private long firstSeen(long position) {
        return Math.max(0, position - tokens + 1);
    }

    /** Returns the page of a token, or the page before it: attention reads whole blocks of 256. */
    private long pageOf(long token) {
        return token / AttentionBlocking.KEY_BLOCK * (AttentionBlocking.KEY_BLOCK / pool.pageTokens);
    }

    /** Returns the first token of a page of a sequence. */
    private long kept(long page) {
        return page * pool.pageTokens;
    }

    /** Returns the number of pages at the start of a sequence that can be released before an append. */
    int stale(Sequence sequence) {
        if (tokens == 0) {
            return 0;
        }
        long first = pageOf(firstSeen(Math.max(0, sequence.shortest() - MARGIN)));
        return Math.clamp(first - sequence.dropped, 0, sequence.pageCount);
    }

    /** Returns the number of pages that become free when the stale pages of a sequence are released. */
    int freedByDrop(Sequence sequence) {
        int stale = stale(sequence);
        int freed = 0;
        for (int i = 0; i < stale; i++) {
            long page = sequence.dropped + i;
            freed += pool.isShared(sequence.page(page)) || isMarked(sequence, page) ? 0 : 1;
        }
        return freed;
    }

    private boolean isMarked(Sequence sequence, long page) {
        for (Mark mark : sequence.marks) {
            if (mark.pages.length == 0 && page >= firstOf(mark) && page < endOf(mark)) {
                return true;
            }
        }
        return false;
    }

    /** Releases the stale pages. Stale pages of a snapshot now belong to the snapshot. */
    void dropStale(Sequence sequence) {
        int stale = stale(sequence);
        if (stale == 0) {
            return;
        }
        long end = sequence.dropped + stale;
        for (Mark mark : sequence.marks) {
            long first = Math.max(firstOf(mark), sequence.dropped);
            if (mark.pages.length == 0 && first < end) {
                mark.first = first;
                mark.pages = new int[(int) (endOf(mark) - first)];
                for (int i = 0; i < mark.pages.length; i++) {
                    mark.pages[i] = sequence.page(first + i);
                    pool.share(mark.pages[i]);
                }
            }
        }
        for (int i = 0; i < stale; i++) {
            pool.release(sequence.removeFirst());
        }
    }

    /** Returns the first page of a snapshot. With the pages from it on, the last token can be computed again, for its logits. */
    private long firstOf(Mark mark) {
        return pageOf(firstSeen(mark.length - 1));
    }

    private long endOf(Mark mark) {
        return Math.ceilDiv(mark.length, (long) pool.pageTokens);
    }

    /** Adds a snapshot of the present length. */
    void mark(int number, Sequence sequence) {
        if (tokens == 0) {
            return;
        }
        long length = sequence.shortest();
        if (length != sequence.longest()) {
            throw RecurrentCache.uneven(number, sequence.lengths);
        }
        List<Mark> all = sequence.marks;
        if (length > sequence.firstKey && (all.isEmpty() || all.get(all.size() - 1).length != length)) {
            all.add(new Mark(length));
        }
        if (all.size() > RecurrentCache.MOST_SNAPSHOTS) {
            release(all.remove(RecurrentCache.nearest(all.size(), i -> all.get(i).length)));
        }
    }

    /**
     * Returns the length of the longest prefix, at most {@code length}, to which a sequence can be truncated; -1 if it slid and there is no
     * such prefix.
     */
    long restorable(Sequence sequence, long length) {
        long most = Math.min(length, sequence.shortest());
        if (tokens == 0 || canCut(sequence, most, sequence.dropped)) {
            return most;
        }
        long best = sequence.firstKey == 0 ? 0 : -1;
        for (Mark mark : sequence.marks) {
            long at = Math.min(most, mark.length);
            best = at > best && mark.pages.length > 0 && canCut(sequence, at, mark.first) ? at : best;
        }
        return best;
    }

    /** Returns whether the pages from a given page on hold all tokens that the next query sees at a length. */
    private boolean canCut(Sequence sequence, long length, long first) {
        return kept(first) <= Math.max(sequence.firstKey, firstSeen(length));
    }

    /** Returns the smallest length, apart from 0 and snapshots, to which a sequence can be truncated. */
    long leastCut(Sequence sequence) {
        return Math.max(sequence.firstKey, kept(sequence.dropped) + tokens - 1);
    }

    /** Gives a sequence the pages of a length to which it can be truncated; pages after this length may be among them. */
    void restore(Sequence sequence, long length) {
        if (!canCut(sequence, length, sequence.dropped)) {
            Mark mark = markOf(sequence, length);
            int count = mark == null ? 0 : pagesOf(mark, length);
            int[] pages = mark == null ? new int[0] : Arrays.copyOf(mark.pages, count);
            for (int page : pages) {
                pool.share(page);
            }
            while (sequence.pageCount > 0) {
                pool.release(sequence.removeLast());
            }
            sequence.dropped = mark == null ? 0 : mark.first;
            for (int page : pages) {
                sequence.add(page);
            }
        }
        forgetBeyond(sequence, length);
    }

    /** Returns the snapshot whose pages a truncated sequence gets; null for none. */
    private @Nullable Mark markOf(Sequence sequence, long length) {
        for (Mark mark : sequence.marks) {
            if (length > 0 && mark.length >= length && mark.pages.length > 0 && canCut(sequence, length, mark.first)) {
                return mark;
            }
        }
        return null;
    }

    private int pagesOf(Mark mark, long length) {
        return (int) (Math.ceilDiv(length, (long) pool.pageTokens) - mark.first);
    }

    /** Returns the number of pages that become free when a sequence is truncated. */
    long freed(Sequence sequence, long length) {
        long most = restorable(sequence, length);
        boolean isCut = canCut(sequence, most, sequence.dropped);
        long left = isCut ? length : most;
        BitSet after = new BitSet();
        Map<Integer, Integer> owned = new HashMap<>();
        Mark mark = isCut ? null : markOf(sequence, most);
        long end = isCut ? Math.ceilDiv(left, (long) pool.pageTokens) : 0;
        for (long page = sequence.dropped; page < sequence.dropped + sequence.pageCount; page++) {
            owned.merge(sequence.page(page), 1, Integer::sum);
            after.set(sequence.page(page), page < end);
        }
        for (Mark each : sequence.marks) {
            for (int i = 0; i < each.pages.length; i++) {
                owned.merge(each.pages[i], 1, Integer::sum);
                if (each.length <= left || each == mark && i < pagesOf(mark, most)) {
                    after.set(each.pages[i]);
                }
            }
        }
        return owned.entrySet().stream()
                .filter(page -> !after.get(page.getKey()) && pool.owners(page.getKey()) == page.getValue())
                .count();
    }

    private void forgetBeyond(Sequence sequence, long length) {
        List<Mark> all = sequence.marks;
        while (!all.isEmpty() && all.get(all.size() - 1).length > length) {
            release(all.remove(all.size() - 1));
        }
    }

    /** Releases the pages of snapshots. */
    void clear(Sequence sequence) {
        List<Mark> all = sequence.marks;
        for (int i = 0; i < all.size(); i++) { // no lambda: a session that slides calls this for each token
            release(all.get(i));
        }
        all.clear();
    }

    private void release(Mark mark) {
        for (int page : mark.pages) {
            pool.release(page);
        }
    }

    /** Gives a sequence the snapshots of another one with the same pages. */
    void share(Sequence from, Sequence to) {
        for (Mark mark : from.marks) {
            Mark copy = new Mark(mark.length);
            copy.first = mark.first;
            copy.pages = mark.pages.clone();
            for (int page : copy.pages) {
                pool.share(page);
            }
            to.marks.add(copy);
        }
    }

    static void addPages(Sequence sequence, BitSet to) {
        for (Mark mark : sequence.marks) {
            for (int page : mark.pages) {
                to.set(page);
            }
        }
    }
}
