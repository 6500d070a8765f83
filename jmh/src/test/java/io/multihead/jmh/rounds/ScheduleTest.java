package io.multihead.jmh.rounds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.runner.options.CommandLineOptionException;

class ScheduleTest {
    private static final List<String> TIMES = List.of("-wi", "2", "-w", "500ms", "-i", "3", "-r", "2s");

    @Test
    void implsOfARowTakeTurnsInEveryRound() {
        List<Trial> trials = List.of(trial("a", "1", 3), trial("a", "2", 3), trial("b", "1", 3), trial("b", "2", 3));
        Schedule schedule = new Schedule(trials, 1);
        assertEquals(3, schedule.rounds());
        assertEquals(List.of("a1 b1", "a2 b2"), names(schedule.round(1)));
        assertEquals(List.of("b1 a1", "b2 a2"), names(schedule.round(2)), "every second round goes the other way");
        assertEquals(names(schedule.round(1)), names(schedule.round(3)));
    }

    @Test
    void trialsOfFewerRoundsEndEarlier() {
        Schedule schedule = new Schedule(List.of(trial("a", "1", 3), trial("b", "1", 1)), 1);
        assertEquals(List.of("a1 b1"), names(schedule.round(1)));
        assertEquals(List.of("a1"), names(schedule.round(2)));
    }

    @Test
    void trialThatIsSelectedTwiceRunsOnce() {
        Schedule schedule = new Schedule(List.of(trial("a", "1", 1), trial("a", "1", 1)), 1);
        assertEquals(List.of("a1"), names(schedule.round(1)));
    }

    @Test
    void buildsTakeTurns() {
        Schedule schedule = new Schedule(List.of(trial("a", "1", 2)), 2);
        assertEquals(
                List.of(0, 1),
                schedule.round(1).getFirst().stream().map(Schedule.Turn::build).toList());
        assertEquals(
                List.of(1, 0),
                schedule.round(2).getFirst().stream().map(Schedule.Turn::build).toList());
    }

    @Test
    void estimateUsesWhatForksTook() {
        Schedule.Turn known = new Schedule.Turn(trial("a", "1", 1), 0);
        Schedule.Turn unknown = new Schedule.Turn(trial("b", "1", 1), 0);
        Progress progress = new Progress();
        assertEquals(20, progress.left(List.of(known, unknown)), 1e-12, "plans, before anything ran");
        progress.took(known, 14);
        progress.took(known, 16);
        assertEquals(15 + 1.5 * 10, progress.left(List.of(known, unknown)), 1e-12);
        assertEquals("1:05 min", Progress.text(65));
        assertEquals("2:01 h", Progress.text(7260));
    }

    @Test
    void argumentsOfJmhSelectTrials() throws CommandLineOptionException {
        String[] arguments =
                "\\.SgemmBench\\. -p size=256,512 -p impl=multihead,onednn -p threads=1 -f 2 -wi 2 -w 500ms -i 3 -r 2s"
                        .split(" ");
        List<Trial> trials = Trials.of(5, arguments);
        assertEquals(4, trials.size());
        assertEquals(2, new HashSet<>(trials.stream().map(Trial::row).toList()).size());
        Trial first = trials.getFirst();
        assertEquals(2, first.rounds());
        assertEquals(TIMES, first.options());
        assertEquals(3 + 2 * 0.5 + 3 * 2, first.seconds(), 1e-12);
        List<String> forked = first.arguments("file");
        assertTrue(
                forked.containsAll(List.of("impl=multihead", "size=256", "threads=1", "-f", "1")), forked.toString());
        assertEquals(5, Trials.of(5, "\\.ExponentialBench\\.").getFirst().rounds());
        assertTrue(Trials.of(5, "\\.NoSuchBench\\.").isEmpty());
        assertThrows(CommandLineOptionException.class, () -> Trials.of(5, "-f", "many"));
    }

    /**
     * A line of the plan docs must set all parameters, since otherwise all values would be measured. The plans quick
     * and compare select several classes.
     */
    @Test
    void everyLineOfAPlanSelectsBenchmarksAndGivesTheirParameters() throws Exception {
        for (String set : List.of("quick", "docs", "compare")) {
            for (String line : Files.readAllLines(Path.of("plans", set))) {
                if (!line.startsWith("#")) {
                    List<Trial> trials = Trials.of(1, line.split(" "));
                    assertTrue(!trials.isEmpty(), set + ": " + line);
                    for (String parameter :
                            set.equals("docs") ? trials.getFirst().parameters().keySet() : List.<String>of()) {
                        assertTrue(line.contains(" -p " + parameter + "="), parameter + ": " + line);
                    }
                }
            }
        }
    }

    @Test
    void reasonsOfFailuresAreFound() {
        assertEquals(
                "PEER ABSENT: onnxgqa is causal always",
                Fork.reason(
                        List.of(
                                "<failure>",
                                "",
                                "java.lang.IllegalStateException: PEER ABSENT: onnxgqa is causal always"),
                        0));
        assertEquals(
                "java.lang.Error: x",
                Fork.reason(List.of("Iteration   1: <failure>", "", "java.lang.Error: x", "at y"), 0));
        assertEquals("JMH ended with status 3 and no result", Fork.reason(List.of("fine"), 3));
    }

    private static Trial trial(String impl, String size, int rounds) {
        Map<String, String> parameters = Map.of("impl", impl, "size", size);
        return new Trial("some.Bench.method", new TreeMap<>(parameters), List.of(), rounds, 10);
    }

    private static List<String> names(List<List<Schedule.Turn>> rows) {
        return rows.stream()
                .map(row -> row.stream()
                        .map(turn -> turn.trial().parameters())
                        .map(parameters -> parameters.get("impl") + parameters.get("size"))
                        .collect(Collectors.joining(" ")))
                .toList();
    }
}
