package io.multihead.internal.text.unigram;

import io.multihead.internal.base.Checks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;

/**
 * The pieces of a vocabulary, bytes without 0, as a double array (Aoe 1989): a step takes one read of memory. A state is the location of
 * the children of a node: the child for byte {@code b} is at {@code state ^ b}. A unit has its byte in the low 8 bits, a flag for a piece
 * that ends there in bit 8, and its own state in the other bits; the value of such a piece is a unit at {@code state ^ 0}, with a label
 * that no text has. No two nodes have the same state, so a byte that matches is a child. Immutable and thread-safe.
 */
public final class PieceArray {
    /** The state at which all pieces begin. */
    public final int root;

    /** A piece and its value, 0 to {@link #MOST_VALUE}. */
    public record Entry(byte[] piece, int value) {}

    static final int MOST_VALUE = (1 << 23) - 1;
    private static final int STATE_SHIFT = 9;
    private static final int ENDS = 1 << 8;
    /** The label of values: neither a byte of UTF-8 nor {@link UnigramBuffer#MARK}. */
    private static final int VALUE = 0xfe;

    private static final int INDEX_BITS = 24;
    private static final int KEY_BYTES = (Long.SIZE - INDEX_BITS) / Byte.SIZE;
    private static final Comparator<Entry> BY_BYTES = (a, b) -> Arrays.compareUnsigned(a.piece, b.piece);

    private static final int BLOCK = 256;
    /** The number of blocks that are searched for room before the array grows; earlier blocks are nearly full. */
    private static final int OPEN_BLOCKS = 16;

    private int[] units = new int[BLOCK];
    /** The number of units in the blocks that were opened. */
    private int size = BLOCK;

    private final BitSet used = new BitSet();
    private final BitSet states = new BitSet();
    private int firstFree;
    /**
     * The bytes of a node's children and the first piece of each child, by the depth of the node. A node is kept until the nodes below it
     * are complete.
     */
    private final List<Children> levels = new ArrayList<>();

    private static final class Children {
        final byte[] labels = new byte[BLOCK];
        final int[] starts = new int[BLOCK + 1];
        int count;

        void find(Entry[] sorted, int from, int end, int depth) {
            count = 0;
            for (int i = from; i < end; i++) {
                byte label = sorted[i].piece.length == depth ? 0 : sorted[i].piece[depth];
                if (count == 0 || labels[count - 1] != label) {
                    starts[count] = i;
                    labels[count++] = label;
                }
            }
            starts[count] = end;
        }
    }

    /** Makes the array of pieces. All pieces must be different. No piece may be empty, or contain a byte of 0 or {@link #VALUE}. */
    public PieceArray(List<Entry> pieces) {
        Entry[] sorted = sorted(pieces);
        root = sorted.length == 0 ? 0 : place(sorted, 0, sorted.length, 0);
        units = Arrays.copyOf(units, size);
    }

    /**
     * Returns pieces in the order of their bytes. Numbers made from the first bytes are compared, and arrays only if these are equal, which
     * is much faster than comparing all arrays.
     */
    private static Entry[] sorted(List<Entry> pieces) {
        Checks.index(pieces.size(), 1L << INDEX_BITS, "number of pieces");
        long[] keys = new long[pieces.size()];
        for (int i = 0; i < keys.length; i++) {
            byte[] piece = pieces.get(i).piece;
            for (int b = 0; b < KEY_BYTES; b++) {
                keys[i] = keys[i] << Byte.SIZE | (b < piece.length ? piece[b] & 0xff : 0);
            }
            // the sign bit is inverted, because keys are compared as signed numbers
            keys[i] = (keys[i] << INDEX_BITS | i) ^ Long.MIN_VALUE;
        }
        Arrays.sort(keys);
        Entry[] sorted = new Entry[keys.length];
        int from = 0;
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = pieces.get((int) keys[i] & (1 << INDEX_BITS) - 1);
            if (keys[i] >> INDEX_BITS != keys[from] >> INDEX_BITS) {
                Arrays.sort(sorted, from, i, BY_BYTES);
                from = i;
            }
        }
        Arrays.sort(sorted, from, sorted.length, BY_BYTES);
        return sorted;
    }

    /** Returns the unit of a byte below a state, or 0 if there is none. */
    public int unit(int state, byte next) {
        int label = next & 0xff;
        int unit = units[state ^ label];
        return (unit & 0xff) == label ? unit : 0;
    }

    public static boolean ends(int unit) {
        return (unit & ENDS) != 0;
    }

    public static int state(int unit) {
        return unit >>> STATE_SHIFT;
    }

    /** Returns the value of the piece that ends at the unit of a state. */
    public int value(int state) {
        return units[state] >>> STATE_SHIFT;
    }

    /** Places the children of a node, whose pieces have {@code depth} common bytes, and returns its state. */
    private int place(Entry[] sorted, int from, int end, int depth) {
        if (depth == levels.size()) {
            levels.add(new Children());
        }
        Children children = levels.get(depth);
        children.find(sorted, from, end, depth);
        int state = take(children);
        for (int i = 0; i < children.count; i++) {
            int label = children.labels[i] & 0xff;
            int first = children.starts[i];
            if (label == 0) {
                units[state] = sorted[first].value << STATE_SHIFT | VALUE;
            } else {
                boolean ends = sorted[first].piece.length == depth + 1;
                int below = place(sorted, first, children.starts[i + 1], depth + 1);
                units[state ^ label] = below << STATE_SHIFT | (ends ? ENDS : 0) | label;
            }
        }
        return state;
    }

    /** Finds a state whose children are all free, and takes them. */
    private int take(Children children) {
        int first = children.labels[0] & 0xff;
        int from = Math.max(firstFree, size - OPEN_BLOCKS * BLOCK);
        for (int free = used.nextClearBit(from); ; free = used.nextClearBit(free + 1)) {
            if (free >= size) {
                openBlock();
            }
            int state = free ^ first;
            if (!states.get(state) && isFree(state, children)) {
                for (int i = 0; i < children.count; i++) {
                    used.set(state ^ children.labels[i] & 0xff);
                }
                states.set(state);
                firstFree = used.nextClearBit(firstFree);
                return state;
            }
        }
    }

    private boolean isFree(int state, Children children) {
        for (int i = 1; i < children.count; i++) {
            if (used.get(state ^ children.labels[i] & 0xff)) {
                return false;
            }
        }
        return true;
    }

    private void openBlock() {
        if (size > MOST_VALUE - BLOCK) {
            throw Checks.fail("vocabulary", "pieces of too many characters", "expected fewer or shorter ones");
        }
        size += BLOCK;
        if (size > units.length) {
            units = Arrays.copyOf(units, 2 * units.length);
        }
    }
}
