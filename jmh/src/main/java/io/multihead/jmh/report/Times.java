package io.multihead.jmh.report;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The times of one impl in one case.
 *
 * @param forks milliseconds of the forks of each round. Most rounds have one fork. The map is empty if only median and
 *     spread are known.
 * @param median median over rounds
 * @param spread slowest fork divided by the median, or NaN for a single fork, which has no spread
 */
record Times(SortedMap<Integer, List<Double>> forks, double median, double spread) {
    static Times of(SortedMap<Integer, List<Double>> forks) {
        List<Double> all = forks.values().stream().flatMap(List::stream).toList();
        double median = median(forks.values().stream().map(Times::median).toList());
        double spread = all.size() < 2 ? Double.NaN : Collections.max(all) / median;
        return new Times(Collections.unmodifiableSortedMap(forks), median, spread);
    }

    /** Returns the times of a measurement without rounds. */
    static Times summary(double median, double spread) {
        return new Times(Collections.emptySortedMap(), median, spread);
    }

    SortedMap<Integer, Double> rounds() {
        SortedMap<Integer, Double> rounds = new TreeMap<>();
        forks.forEach((round, times) -> rounds.put(round, median(times)));
        return rounds;
    }

    /** Returns the middle value, or the mean of the two middle values, or NaN without values. */
    static double median(Collection<Double> values) {
        if (values.isEmpty()) {
            return Double.NaN;
        }
        List<Double> sorted = values.stream().sorted().toList();
        int half = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(half) : (sorted.get(half - 1) + sorted.get(half)) / 2;
    }
}
