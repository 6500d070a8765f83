package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/** The text of studies in Markdown: how to read it, what was measured where, and a section for each kind of processor. */
final class Sections {
    private static final String LEGEND = """
            Impls take turns: in each round, one fork of every impl of a case runs before any has a second. A row is one impl in one case.

            - **ms**: median over rounds of the median over iterations. **spread**: slowest fork over that.
            - **of the best peer**: the time of the fastest peer of the same round over this one, so that above 1 is faster than every
              peer; the median over rounds. **interval**: the lowest and the highest of five rounds, which contain the median with 94 %
              whatever the distribution (sign test; of more rounds, the narrowest order statistics with 90 %). **verdict**: ahead or behind
              where that interval is on one side of 1, else level; nothing with fewer than five rounds. One verdict in sixteen is chance, half
              of those on each side.
            - **of the limit**: GFLOP/s over the FMA peak, or GB/s over the read bandwidth, of the same number of threads: the highest that a
              fork of the probe reached; where the peak of two was not measured, it is twice that of one. GB/s count each weight, key and
              value once; what stays in cache can be read faster than memory.
            - Where each call was timed by itself (`Sampled`): **ms** is the median call, **p99** the 99th percentile over it, **B/call** what
              a call allocates, including what JMH allocates for itself.

            Cases without an interval were measured before rounds were, all forks of an impl after each other.
            """;

    private Sections() {}

    /** Returns all sections, with links to charts in the folder of each processor below another. */
    static String all(Map<String, Study> studies, String folder) {
        StringBuilder text = new StringBuilder("# Figures\n\n").append(LEGEND);
        text.append("\n## Last measured\n\n").append(dates(studies.values()));
        studies.forEach((key, study) -> text.append('\n').append(section(study, folder + "/" + key)));
        return text.toString();
    }

    /** Returns the charts of a study. */
    static List<Charts.Picture> pictures(Study study) {
        Results results = study.results();
        return results.benchmarks.values().stream()
                .flatMap(cases -> Charts.of(results.limits, cases).stream())
                .toList();
    }

    /** Returns the section of one study, without charts where no folder is given. */
    static String section(Study study, String folder) {
        Results results = study.results();
        StringBuilder text = new StringBuilder("## " + study.name() + "\n\n| | |\n|---|---|\n");
        Machine.facts(study).forEach((name, value) -> text.append("| %s | %s |\n".formatted(name, value)));
        String controls = results.limits.controls().table();
        if (!controls.isEmpty()) {
            text.append(
                            "\nControls of each round, GFLOP/s and GB/s; a round is marked in which one differs from its median by more than ")
                    .append(String.format(Locale.ROOT, "%.0f %%:\n\n", 100 * Controls.SHARE))
                    .append(controls);
        }
        List<String> exceeded = results.limits.exceeded(results);
        if (!exceeded.isEmpty()) {
            text.append("\nFaster than the limit that was measured, which shows that the probe did not reach it:\n\n");
            exceeded.forEach(line -> text.append("- ").append(line).append('\n'));
        }
        Tables tables = new Tables(results.limits);
        results.benchmarks.forEach((benchmark, cases) -> {
            text.append("\n### ").append(benchmark).append('\n');
            if (!folder.isEmpty()) {
                Charts.of(results.limits, cases)
                        .forEach(picture ->
                                text.append("\n![%s](%s/%s.png)\n".formatted(picture.alt(), folder, picture.name())));
            }
            for (String table : List.of(tables.results(cases), tables.secondThread(cases))) {
                text.append(table.isEmpty() ? "" : "\n" + table);
            }
        });
        return text.toString();
    }

    /** Returns a table of the last day on which each benchmark was measured on each kind of processor. */
    private static String dates(Collection<Study> studies) {
        SortedSet<String> benchmarks = new TreeSet<>();
        studies.forEach(study -> benchmarks.addAll(study.results().benchmarks.keySet()));
        List<String> columns = new ArrayList<>(List.of("benchmark"));
        studies.forEach(study -> columns.add(study.name()));
        List<List<String>> rows = new ArrayList<>();
        for (String benchmark : benchmarks) {
            List<String> row = new ArrayList<>(List.of(benchmark));
            studies.forEach(
                    study -> row.add(study.results().benchmarks.getOrDefault(benchmark, Map.of()).values().stream()
                            .flatMap(impls -> impls.values().stream())
                            .map(result -> result.run().date())
                            .max(String::compareTo)
                            .orElse("")));
            rows.add(row);
        }
        return Tables.markdown(columns, rows);
    }
}
