package io.multihead.jmh.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Prints the comparison of two builds of the library that alternated in the same rounds. */
public final class Compare {
    private static final List<String> COLUMNS = List.of(
            "benchmark", "case", "impl", "base, ms", "spread", "this, ms", "spread", "base over this", "interval", "");

    private Compare() {}

    /**
     * Prints a table, then the controls. The arguments are a folder of results and the names of two builds, the older
     * one first.
     */
    public static void main(String[] arguments) throws IOException {
        List<Path> folder = List.of(Path.of(arguments[0]));
        Results base = Results.read(folder, arguments[1]);
        Results changed = Results.read(folder, arguments[2]);
        System.out.println(table(base, changed));
        System.out.println("""
                base over this: above 1, this build is faster; the median of the ratios of the rounds, with the interval of the sign
                test. "ahead" or "behind" stands where the interval has 90 % and is on one side of 1, which takes five rounds.
                """);
        System.out.println(changed.limits.controls().table());
    }

    static String table(Results base, Results changed) {
        List<List<String>> rows = new ArrayList<>();
        base.benchmarks.forEach((benchmark, cases) -> cases.forEach((of, impls) -> impls.forEach((impl, before) -> {
            Result after = changed.benchmarks
                    .getOrDefault(benchmark, Map.of())
                    .getOrDefault(of, Map.of())
                    .get(impl);
            rows.add(row(of, before, after));
        })));
        return Tables.markdown(COLUMNS, rows);
    }

    private static List<String> row(Case of, Result before, Result after) {
        Ratio ratio = after == null ? Ratio.NONE : Results.overFastest(List.of(before), after);
        return List.of(
                of.benchmark(),
                of.label(),
                before.impl(),
                time(before),
                spread(before),
                after == null ? "" : time(after),
                after == null ? "" : spread(after),
                Tables.number("%.3f", ratio.median()),
                ratio.interval("%.3f"),
                after == null ? "not timed" : ratio.verdict());
    }

    private static String time(Result result) {
        return String.format(Locale.ROOT, "%.4g", result.time());
    }

    private static String spread(Result result) {
        return Tables.number("%.2f", result.times().spread());
    }
}
