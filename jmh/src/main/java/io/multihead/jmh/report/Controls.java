package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** The same measurement in every round, once or more, which differs only where the machine did. */
final class Controls {
    /** A round is flagged in which a control differs by more than this share from its median over all rounds. */
    static final double SHARE = 0.05;

    private final Map<String, SortedMap<Integer, List<Double>>> speeds = new LinkedHashMap<>();

    void put(String control, int round, double speed) {
        speeds.computeIfAbsent(control, key -> new TreeMap<>())
                .computeIfAbsent(round, key -> new ArrayList<>())
                .add(speed);
    }

    /** The measurements of each control, by rounds. */
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

    /** Returns a table with a row for each round; empty if there are none. */
    String table() {
        SortedSet<Integer> rounds = new TreeSet<>();
        speeds.values().forEach(own -> rounds.addAll(own.keySet()));
        SortedSet<Integer> flagged = flagged();
        List<String> columns = new ArrayList<>(List.of("round"));
        columns.addAll(speeds.keySet());
        columns.add("");
        List<List<String>> rows = new ArrayList<>();
        for (int round : rounds) {
            List<String> row = new ArrayList<>(List.of(String.valueOf(round)));
            speeds.values().forEach(own -> row.add(range(own.getOrDefault(round, List.of()))));
            row.add(
                    flagged.contains(round)
                            ? String.format(Locale.ROOT, "differs by more than %.0f %%", 100 * SHARE)
                            : "");
            rows.add(row);
        }
        return rows.isEmpty() ? "" : Tables.markdown(columns, rows);
    }

    private static String range(List<Double> speeds) {
        double low = speeds.stream().mapToDouble(speed -> speed).min().orElse(Double.NaN);
        double high = speeds.stream().mapToDouble(speed -> speed).max().orElse(Double.NaN);
        return low == high || speeds.isEmpty()
                ? Tables.number("%.1f", low)
                : String.format(Locale.ROOT, "%.1f to %.1f", low, high);
    }
}
