package io.multihead.grammar;

import java.util.HashMap;
import java.util.Map;

/** Converts moves over code points to moves over UTF-8 bytes. Surrogates have no moves. */
final class Utf8Moves {
    private static final int CONTINUATION = 0x80;
    private static final int LAST_CONTINUATION = 0xbf;
    private static final int BITS = 6;

    /** The largest code point of one, two, three and four bytes. */
    private static final int[] LARGEST = {0x7f, 0x7ff, 0xffff, Character.MAX_CODE_POINT};

    private static final int[] LEAD = {0, 0xc0, 0xe0, 0xf0};

    private final Machine machine;
    /** The states from which a number of arbitrary continuation bytes leads to a target. */
    private final Map<Long, Integer> shared = new HashMap<>();

    Utf8Moves(Machine machine) {
        this.machine = machine;
    }

    /** Adds moves that read a code point of a range. */
    void read(int from, int low, int high, int to) {
        if (low <= Character.MAX_SURROGATE && high >= Character.MIN_SURROGATE) {
            if (low < Character.MIN_SURROGATE) {
                read(from, low, Character.MIN_SURROGATE - 1, to);
            }
            if (high > Character.MAX_SURROGATE) {
                read(from, Character.MAX_SURROGATE + 1, high, to);
            }
            return;
        }
        int smallest = 0;
        for (int more = 0; more < LARGEST.length; more++) {
            int least = Math.max(low, smallest);
            int most = Math.min(high, LARGEST[more]);
            if (least <= most) {
                split(from, new int[] {least, most, LEAD[more]}, more, to);
            }
            smallest = LARGEST[more] + 1;
        }
    }

    /**
     * Adds moves that read a lead byte and {@code more} continuation bytes. {@code range} has the lowest and the highest value, and the
     * mark of the lead byte.
     */
    private void split(int from, int[] range, int more, int to) {
        int mark = range[2];
        if (more == 0) {
            machine.read(from, mark | range[0], mark | range[1], to);
            return;
        }
        int shift = BITS * more;
        int rest = (1 << shift) - 1;
        int first = range[0] >> shift;
        int last = range[1] >> shift;
        if (first == last) {
            step(from, mark | first, new int[] {range[0] & rest, range[1] & rest}, more, to);
            return;
        }
        if ((range[0] & rest) != 0) {
            step(from, mark | first, new int[] {range[0] & rest, rest}, more, to);
            first++;
        }
        if ((range[1] & rest) != rest) {
            step(from, mark | last, new int[] {0, range[1] & rest}, more, to);
            last--;
        }
        if (first <= last) {
            machine.read(from, mark | first, mark | last, any(more, to));
        }
    }

    private void step(int from, int value, int[] rest, int more, int to) {
        int middle = machine.state();
        machine.read(from, value, value, middle);
        split(middle, new int[] {rest[0], rest[1], CONTINUATION}, more - 1, to);
    }

    private int any(int more, int to) {
        if (more == 0) {
            return to;
        }
        long key = (long) more << Integer.SIZE | to;
        Integer known = shared.get(key);
        if (known == null) {
            known = machine.state();
            machine.read(known, CONTINUATION, LAST_CONTINUATION, any(more - 1, to));
            shared.put(key, known);
        }
        return known;
    }
}
