package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Measurements that are repeated in every round. Differences are differences of the machine. */
final class Controls {
    /** A round is flagged if a control differs by more than this share from its median over all rounds. */
    static final double SHARE = 0.05;

    private final Map<String, SortedMap<Integer, List<Double>>> speeds = new LinkedHashMap<>();

    void put(String control, int round, double speed) {
        speeds.computeIfAbsent(control, key -> new TreeMap<>())
                .computeIfAbsent(round, key -> new ArrayList<>())
                .add(speed);
    }

    Map<String, SortedMap<Integer, List<Double>>> speeds() {
        return speeds;
    }

    /** Returns the rounds in which a control differs by more than {@link #SHARE}. */
    SortedSet<Integer> flagged() {
        SortedSet<Integer> flagged = new TreeSet<>();
        speeds.forEach((control, rounds) -> {
            double median =
                    Times.median(rounds.values().stream().flatMap(List::stream).toList());
            rounds.forEach((round, own) -> {
                if (own.stream().anyMatch(speed -> Math.abs(speed / median - 1) > SHARE)) {
                    flagged.add(round);
                }
            });
        });
        return flagged;
    }

    /** Returns a table with a row for each round, or an empty text without rounds. */
    String table() {
        SortedMap<Integer, Map<String, String>> rows = new TreeMap<>();
        speeds.forEach((control, rounds) -> rounds.forEach((round, own) ->
                rows.computeIfAbsent(round, key -> new TreeMap<>()).put(control, range(own))));
        String mark = String.format(Locale.ROOT, "differs by more than %.0f %%", 100 * SHARE);
        flagged().forEach(round -> rows.get(round).put("", mark));
        List<String> columns = new ArrayList<>(speeds.keySet());
        columns.add("");
        return rows.isEmpty() ? "" : Tables.grid("round", columns, rows);
    }

    private static String range(List<Double> speeds) {
        double low = Collections.min(speeds);
        double high = Collections.max(speeds);
        return low == high ? Tables.number("%.1f", low) : String.format(Locale.ROOT, "%.1f to %.1f", low, high);
    }
}
