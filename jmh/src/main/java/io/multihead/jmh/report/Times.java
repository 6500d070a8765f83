package io.multihead.jmh.report;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The times of one impl in one case.
 *
 * @param forks milliseconds of each round's forks, of which most rounds have one; empty where only the next two are still known
 * @param median median over rounds
 * @param spread slowest fork over the median; NaN for a single one, from which nothing follows about others
 */
record Times(SortedMap<Integer, List<Double>> forks, double median, double spread) {
    static Times of(SortedMap<Integer, List<Double>> forks) {
        List<Double> all = forks.values().stream().flatMap(List::stream).toList();
        double median = median(forks.values().stream().map(Times::median).toList());
        double spread = all.size() < 2 ? Double.NaN : Collections.max(all) / median;
        return new Times(Collections.unmodifiableSortedMap(forks), median, spread);
    }

    /** Returns the rest of a measurement whose rounds were not kept. */
    static Times summary(double median, double spread) {
        return new Times(Collections.emptySortedMap(), median, spread);
    }

    SortedMap<Integer, Double> rounds() {
        SortedMap<Integer, Double> rounds = new TreeMap<>();
        forks.forEach((round, times) -> rounds.put(round, median(times)));
        return rounds;
    }

    /** Returns the middle value, or the mean of the two; NaN of none. */
    static double median(Collection<Double> values) {
        if (values.isEmpty()) {
            return Double.NaN;
        }
        List<Double> sorted = values.stream().sorted().toList();
        int half = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(half) : (sorted.get(half - 1) + sorted.get(half)) / 2;
    }
}
