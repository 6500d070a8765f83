package io.multihead.jmh.report;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import java.util.stream.Stream;

/**
 * The text of studies in Markdown: claims and their explanation, the machine of each measurement, and pages for each
 * kind of processor.
 */
final class Sections {
    private static final String LEGEND = """
            Implementations (impls) alternate: in each round, one fork of every impl of a case runs before any impl runs a second fork. A row is one
            impl in one case.

            - **ms**: the median over rounds of the median over iterations. **spread**: the time of the slowest fork divided by this median.
            - **of the best peer**: the time of the fastest peer divided by the time of this impl in the same round, as the median over rounds. A
              ratio above 1 means that this impl is faster than every peer. **interval**: the lowest and the highest ratio of five rounds, which
              contain the median with a probability of 94 % for any distribution (sign test). With more rounds, the interval is the narrowest pair of
              order statistics with a probability of at least 90 %. **verdict**: ahead or behind if the interval is on one side of 1, else level.
              Fewer than five rounds have no verdict. One verdict in sixteen is chance, half of them on each side.
            - **of the limit**: GFLOP/s divided by the FMA peak, or GB/s divided by the read bandwidth, of the same number of threads. The limit is
              the highest value that a fork of the probe reached. If the peak of two threads was not measured, it is twice the peak of one thread.
              GB/s count each weight, key and value once. Data in the processor's caches can be read faster than memory.
            - If each call was timed separately (`Sampled`), **ms** is the median call, **p99** is the 99th percentile divided by the median, and
              **B/call** is the number of bytes that a call allocates, including JMH's own allocations.

            Cases without an interval were measured before the study had rounds. All forks of an impl then ran one after another.
            """;

    private Sections() {}

    /**
     * Returns the first page: claims and their explanation, and the date of each measurement. Pages of processors are
     * in a folder.
     */
    static String front(Map<String, Study> studies, String folder) {
        return Claims.ofAll(studies, folder)
                + "\n## How to read the tables\n\n"
                + LEGEND
                + "\n## Last measured\n\n"
                + dates(studies.values());
    }

    /**
     * Returns the pages of one processor by their paths: a page with the machine and all claims, and a page for each
     * benchmark in the folder of the charts.
     */
    static Map<String, String> pages(String key, Study study) {
        Map<String, String> pages = new TreeMap<>();
        String title = "# " + study.name() + "\n\n[Performance](../performance.md) explains the tables.\n\n";
        String overview = Overview.of(study)
                .map(picture -> "\n![%s](%s/%s.svg)\n".formatted(picture.chart().title(), key, picture.name()))
                .orElse("");
        pages.put(key + ".md", title + facts(study) + overview + "\n## Results\n\n" + Claims.of(study, key));
        study.results()
                .benchmarks
                .forEach((benchmark, cases) -> pages.put(
                        key + "/" + benchmark + ".md",
                        "# %s on %s\n\n[All results](../%s.md); [how to read the tables](../../performance.md#how-to-read-the-tables).\n"
                                        .formatted(benchmark, study.name(), key)
                                + tables(study, cases, true)));
        return pages;
    }

    static List<Charts.Picture> pictures(Study study) {
        Results results = study.results();
        return Stream.concat(
                        Overview.of(study).stream(),
                        results.benchmarks.values().stream()
                                .flatMap(cases -> Charts.of(results.limits, cases).stream()))
                .toList();
    }

    static String section(Study study) {
        StringBuilder text = new StringBuilder("## " + study.name() + "\n\n").append(facts(study));
        study.results()
                .benchmarks
                .forEach((benchmark, cases) ->
                        text.append("\n### ").append(benchmark).append('\n').append(tables(study, cases, false)));
        return text.toString();
    }

    /** Returns the machine, its controls, and the results that exceeded its limits. */
    private static String facts(Study study) {
        Results results = study.results();
        StringBuilder text = new StringBuilder("| | |\n|---|---|\n");
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
            text.append("\nThese results exceed the measured limit, so the probe did not reach the limit:\n\n");
            exceeded.forEach(line -> text.append("- ").append(line).append('\n'));
        }
        return text.toString();
    }

    /** Returns the tables of a benchmark, and links to its charts if they are requested. */
    private static String tables(Study study, Map<Case, Map<String, Result>> cases, boolean charts) {
        StringBuilder text = new StringBuilder();
        Limits limits = study.results().limits;
        if (charts) {
            Charts.of(limits, cases)
                    .forEach(picture -> text.append(
                            "\n![%s](%s.svg)\n".formatted(picture.chart().title(), picture.name())));
        }
        Tables tables = new Tables(limits);
        for (String table : List.of(tables.results(cases), tables.secondThread(cases))) {
            text.append(table.isEmpty() ? "" : "\n" + table);
        }
        return text.toString();
    }

    /** Returns a table of the last day on which each benchmark was measured on each kind of processor. */
    private static String dates(Collection<Study> studies) {
        Map<String, Map<String, String>> days = new TreeMap<>();
        for (Study study : studies) {
            for (Result result : study.results().all()) {
                days.computeIfAbsent(result.benchmark(), key -> new TreeMap<>())
                        .merge(study.name(), result.run().date(), BinaryOperator.maxBy(Comparator.naturalOrder()));
            }
        }
        return Tables.grid("benchmark", studies.stream().map(Study::name).toList(), days);
    }
}
