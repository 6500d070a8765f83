package io.multihead.grammar;

import java.util.Map;
import java.util.TreeMap;

/** A set of code points, as ranges that do not touch. */
final class CharacterSet {
    /** The last code point of each range, by its first code point. */
    private final TreeMap<Integer, Integer> ranges = new TreeMap<>();

    static CharacterSet of(int... lowsAndHighs) {
        CharacterSet set = new CharacterSet();
        for (int i = 0; i < lowsAndHighs.length; i += 2) {
            set.add(lowsAndHighs[i], lowsAndHighs[i + 1]);
        }
        return set;
    }

    CharacterSet add(int low, int high) {
        int from = low;
        int to = high;
        Map.Entry<Integer, Integer> before = ranges.floorEntry(to + 1);
        while (before != null && before.getValue() >= from - 1) {
            from = Math.min(from, before.getKey());
            to = Math.max(to, before.getValue());
            ranges.remove(before.getKey());
            before = ranges.floorEntry(to + 1);
        }
        ranges.put(from, to);
        return this;
    }

    CharacterSet addAll(CharacterSet other) {
        other.ranges.forEach(this::add);
        return this;
    }

    CharacterSet complement() {
        CharacterSet set = new CharacterSet();
        int from = 0;
        for (Map.Entry<Integer, Integer> range : ranges.entrySet()) {
            if (range.getKey() > from) {
                set.add(from, range.getKey() - 1);
            }
            from = range.getValue() + 1;
        }
        if (from <= Dfa.LARGEST) {
            set.add(from, Dfa.LARGEST);
        }
        return set;
    }

    boolean contains(int codePoint) {
        Map.Entry<Integer, Integer> range = ranges.floorEntry(codePoint);
        return range != null && range.getValue() >= codePoint;
    }

    boolean containsAll(CharacterSet other) {
        return other.ranges.entrySet().stream().allMatch(range -> {
            Map.Entry<Integer, Integer> around = ranges.floorEntry(range.getKey());
            return around != null && around.getValue() >= range.getValue();
        });
    }

    Map<Integer, Integer> ranges() {
        return ranges;
    }
}
