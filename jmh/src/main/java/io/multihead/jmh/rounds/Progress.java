package io.multihead.jmh.rounds;

import java.util.DoubleSummaryStatistics;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The remaining time of a run. The estimate of a fork is the average of its earlier runs. The estimate of a fork
 * without earlier runs is its planned time, times the ratio of other forks' times to their planned times.
 */
final class Progress {
    private final Map<Schedule.Turn, DoubleSummaryStatistics> measured = new HashMap<>();
    private double planned;
    private double taken;

    void took(Schedule.Turn turn, double seconds) {
        measured.computeIfAbsent(turn, key -> new DoubleSummaryStatistics()).accept(seconds);
        planned += turn.trial().seconds();
        taken += seconds;
    }

    double left(List<Schedule.Turn> turns) {
        double beyond = planned == 0 ? 1 : taken / planned;
        return turns.stream()
                .mapToDouble(turn -> measured.containsKey(turn)
                        ? measured.get(turn).getAverage()
                        : beyond * turn.trial().seconds())
                .sum();
    }

    static String text(double seconds) {
        long rounded = Math.round(seconds);
        return rounded < 3600
                ? String.format(Locale.ROOT, "%d:%02d min", rounded / 60, rounded % 60)
                : String.format(Locale.ROOT, "%d:%02d h", rounded / 3600, rounded % 3600 / 60);
    }
}
