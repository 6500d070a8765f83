package io.multihead.internal.text.wordpiece;

import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * The pieces of a vocabulary as two tries, one for pieces that begin a word and one for pieces that continue it, so that the longest match
 * takes one step per code point. Edges are in one open-addressed table: 1.5 MB for BERT's vocabulary. Immutable once built.
 */
public final class PieceTrie {
    /** The root of pieces that begin a word. */
    public static final int FIRST = 0;
    /** The root of pieces that continue a word. */
    public static final int CONTINUING = 1;

    private static final int CODE_POINT_BITS = 21;
    private static final long EMPTY = -1;

    private long[] keys = filled(1 << 10);
    private int[] children = new int[1 << 10];
    private int shift = 54;
    private int edges;
    /** The id of the piece that ends at a node, or -1. */
    private int[] ids = {-1, -1};

    /**
     * Returns the tries of a vocabulary in the order of its ids, in which pieces that continue a word begin with the prefix; without the
     * tokens of the ids {@code added}, which are not pieces.
     */
    public static PieceTrie of(List<String> vocabulary, Set<Integer> added, String prefix) {
        PieceTrie pieces = new PieceTrie();
        for (int id = 0; id < vocabulary.size(); id++) {
            String piece = vocabulary.get(id);
            if (added.contains(id)) {
                continue;
            }
            if (continues(piece, prefix)) {
                pieces.add(CONTINUING, piece.substring(prefix.length()), id);
            } else {
                pieces.add(FIRST, piece, id);
            }
        }
        return pieces;
    }

    /** Returns whether a piece continues a word. The prefix alone does not continue a word, but may be a word. */
    public static boolean continues(String piece, String prefix) {
        return piece.length() > prefix.length() && piece.startsWith(prefix);
    }

    /** Adds a piece below a root; of two pieces with the same text, the later one is used. */
    public void add(int root, String piece, int id) {
        int node = root;
        for (int i = 0; i < piece.length(); ) {
            int codePoint = piece.codePointAt(i);
            node = childOrNew(node, codePoint);
            i += Character.charCount(codePoint);
        }
        ids[node] = id;
    }

    /** Returns the node that a code point leads to, or -1. */
    public int child(int node, int codePoint) {
        long key = (long) node << CODE_POINT_BITS | codePoint;
        int slot = slot(key);
        while (keys[slot] != key) {
            if (keys[slot] == EMPTY) {
                return -1;
            }
            slot = slot + 1 & keys.length - 1;
        }
        return children[slot];
    }

    /** Returns the id of the piece that ends at a node, or -1. */
    public int id(int node) {
        return ids[node];
    }

    private int childOrNew(int node, int codePoint) {
        int child = child(node, codePoint);
        if (child >= 0) {
            return child;
        }
        if (2 * edges >= keys.length) {
            grow();
        }
        child = edges + 2;
        put((long) node << CODE_POINT_BITS | codePoint, child);
        edges++;
        if (child == ids.length) {
            ids = Arrays.copyOf(ids, 2 * child);
        }
        ids[child] = -1;
        return child;
    }

    private void grow() {
        long[] oldKeys = keys;
        int[] oldChildren = children;
        keys = filled(2 * oldKeys.length);
        children = new int[keys.length];
        shift--;
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldKeys[i] != EMPTY) {
                put(oldKeys[i], oldChildren[i]);
            }
        }
    }

    private void put(long key, int child) {
        int slot = slot(key);
        while (keys[slot] != EMPTY) {
            slot = slot + 1 & keys.length - 1;
        }
        keys[slot] = key;
        children[slot] = child;
    }

    /** Returns the slot of a key, with Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4). */
    private int slot(long key) {
        return (int) (key * 0x9E3779B97F4A7C15L >>> shift);
    }

    private static long[] filled(int length) {
        long[] result = new long[length];
        Arrays.fill(result, EMPTY);
        return result;
    }
}
