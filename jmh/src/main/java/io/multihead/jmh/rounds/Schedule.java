package io.multihead.jmh.rounds;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The order of forks: round by round, and in each round row by row, so that the impls of a row alternate. */
final class Schedule {
    private final Map<Trial.Row, List<Trial>> rows = new LinkedHashMap<>();
    private final int rounds;
    private final int builds;

    /** Sorts trials into rows for builds that alternate. A repeated trial runs once per round. */
    Schedule(List<Trial> trials, int builds) {
        this.builds = builds;
        for (Trial trial : trials) {
            List<Trial> row = rows.computeIfAbsent(trial.row(), key -> new ArrayList<>());
            if (row.stream()
                    .noneMatch(known -> known.method().equals(trial.method())
                            && known.parameters().equals(trial.parameters()))) {
                row.add(trial);
            }
        }
        rounds = trials.stream().mapToInt(Trial::rounds).max().orElse(0);
    }

    record Turn(Trial trial, int build) {}

    int rounds() {
        return rounds;
    }

    /**
     * Returns the rows of a round, each with its forks in order. Every second round has the reverse order, so that a
     * slower or hotter machine during a row does not always affect the same impl.
     *
     * @param round from 1
     */
    List<List<Turn>> round(int round) {
        List<List<Turn>> turns = new ArrayList<>();
        for (List<Trial> row : rows.values()) {
            List<Turn> own = new ArrayList<>();
            for (Trial trial : row) {
                for (int build = 0; build < builds && round <= trial.rounds(); build++) {
                    own.add(new Turn(trial, build));
                }
            }
            if (!own.isEmpty()) {
                turns.add(round % 2 == 1 ? own : own.reversed());
            }
        }
        return turns;
    }
}
