package io.multihead.jmh.rounds;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.openjdk.jmh.runner.options.CommandLineOptionException;

/**
 * Measures in rounds. JMH runs all forks of one impl, then all forks of the next impl, minutes apart, so that a slow
 * minute of a shared machine affects one impl only. Here, each impl of a row runs one fork before any impl runs a
 * second fork. The controls, which are the FMA peak and the read bandwidth, run at the start of every round, then every
 * few minutes, and at the end.
 */
public final class Rounds {
    /** The number of seconds without a control, after which a control runs before the next row. */
    private static final double CONTROL_EVERY = 300;

    private static final String[] CONTROLS = {
        "\\.Roofline\\.(fmaPeak|readBandwidth)$", "-wi", "2", "-w", "300ms", "-i", "3", "-r", "300ms"
    };

    private final Fork fork;
    private final List<Build> builds;
    private final Schedule schedule;
    private final List<Schedule.Turn> controls;
    private final Progress progress = new Progress();
    private final Map<Schedule.Turn, String> failures = new LinkedHashMap<>();
    private final long start = System.nanoTime();
    private int files;
    private double lastControl;

    private Rounds(Path folder, List<Build> builds, List<Trial> trials) throws CommandLineOptionException {
        this.fork = new Fork(folder);
        this.builds = builds;
        this.schedule = new Schedule(trials, builds.size());
        int last = builds.size() - 1;
        this.controls = Trials.of(schedule.rounds(), CONTROLS).stream()
                .map(trial -> new Schedule.Turn(trial, last))
                .toList();
    }

    /**
     * Measures the rows that the lines of standard input select. Each line has the arguments of one invocation of JMH,
     * separated by tabs. {@code -f} in a line is the number of rounds of this line.
     *
     * @param arguments the folder of results, which must be empty, the number of rounds of lines without {@code -f},
     *     and the builds to compare as {@code NAME=CLASSPATH}. The last build runs the controls.
     */
    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createDirectories(Path.of(arguments[0]));
        int rounds = Integer.parseInt(arguments[1]);
        List<Build> builds = Arrays.stream(arguments).skip(2).map(Build::of).toList();
        List<Trial> trials = new ArrayList<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            trials.addAll(Trials.of(rounds, line.split("\t")));
        }
        if (trials.isEmpty()) {
            System.err.println("no benchmark matches");
            System.exit(1);
        }
        try {
            new Rounds(folder, builds, trials).run();
        } catch (InterruptedException e) {
            System.err.println("interrupted");
        }
    }

    private void run() throws IOException, InterruptedException {
        System.err.printf(
                Locale.ROOT,
                "%s, %d forks: about %s%n",
                schedule.rounds() == 1 ? "1 round" : schedule.rounds() + " rounds",
                left(1, 0).size(),
                Progress.text(estimate(1, left(1, 0))));
        for (int round = 1; round <= schedule.rounds(); round++) {
            control(round);
            List<List<Schedule.Turn>> rows = schedule.round(round);
            for (int row = 0; row < rows.size(); row++) {
                if (seconds() - lastControl > CONTROL_EVERY) {
                    control(round);
                }
                for (Schedule.Turn turn : rows.get(row)) {
                    measure(round, turn);
                }
                report(round, left(round, row + 1));
            }
        }
        control(schedule.rounds());
        failures.forEach((turn, reason) -> System.err.println("not timed: " + label(turn) + ": " + reason));
    }

    private void control(int round) throws IOException, InterruptedException {
        for (Schedule.Turn turn : controls) {
            measure(round, turn);
            if (failures.containsKey(turn)) {
                throw new IOException("control failed: " + label(turn) + ": " + failures.get(turn));
            }
        }
        lastControl = seconds();
    }

    private void measure(int round, Schedule.Turn turn) throws IOException, InterruptedException {
        if (failures.getOrDefault(turn, "").startsWith(Fork.ABSENT)) {
            return; // the peer is absent in every round
        }
        double before = seconds();
        String file = String.format(Locale.ROOT, "%02d-%04d.json", round, ++files);
        String reason = fork.run(file, turn.trial(), round, builds.get(turn.build()));
        if (reason.isEmpty()) {
            progress.took(turn, seconds() - before);
        } else {
            failures.put(turn, reason);
            System.err.println("round " + round + ": " + label(turn) + ": " + reason);
        }
    }

    private void report(int round, List<Schedule.Turn> left) {
        System.err.printf(
                Locale.ROOT,
                "round %d of %d, fork %d of %d: %s so far, about %s left%n",
                round,
                schedule.rounds(),
                files,
                files + left.size(),
                Progress.text(seconds()),
                Progress.text(estimate(round, left)));
    }

    /** Returns the remaining forks from a row of a round on, without controls. */
    private List<Schedule.Turn> left(int round, int row) {
        List<Schedule.Turn> left = new ArrayList<>();
        for (int next = round; next <= schedule.rounds(); next++) {
            List<List<Schedule.Turn>> rows = schedule.round(next);
            rows.subList(next == round ? row : 0, rows.size()).forEach(left::addAll);
        }
        left.removeIf(turn -> failures.getOrDefault(turn, "").startsWith(Fork.ABSENT));
        return left;
    }

    /** Returns the estimated seconds of forks and of the controls of this and later rounds. */
    private double estimate(int round, List<Schedule.Turn> forks) {
        double rows = progress.left(forks);
        double each = progress.left(controls);
        return rows + each * (schedule.rounds() - round + 1 + rows / CONTROL_EVERY);
    }

    private String label(Schedule.Turn turn) {
        String build = builds.size() == 1 ? "" : " (" + builds.get(turn.build()).name() + ")";
        return turn.trial().label() + build;
    }

    private double seconds() {
        return (System.nanoTime() - start) * 1e-9;
    }
}
