package io.multihead.jmh.report;

import io.multihead.jmh.bench.Work;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * The charts of a benchmark: the speeds of all impls compared with their limit. Each number of threads and unit of
 * speed has a chart.
 */
final class Charts {
    /** The number of cases in a chart that fits on a screen. */
    private static final int CASES = 8;

    private Charts() {}

    /** An image of the page: the file name without extension, and the chart. Its title is the alternative text. */
    record Picture(String name, Chart chart) {}

    /**
     * Returns the charts of one benchmark, or none if no work is known, or for a single case, for which a table is
     * sufficient.
     */
    static List<Picture> of(Limits limits, Map<Case, Map<String, Result>> cases) {
        Map<String, List<Case>> charts = new TreeMap<>();
        cases.forEach((of, impls) -> {
            Work work = work(impls);
            if (work.known()) {
                String memory = work.unit() == Work.Unit.BYTES ? "-memory" : "";
                charts.computeIfAbsent(of.benchmark() + "-" + of.threads() + memory, key -> new ArrayList<>())
                        .add(of);
            }
        });
        List<Picture> pictures = new ArrayList<>();
        charts.forEach((name, group) -> {
            int parts = (group.size() + CASES - 1) / CASES;
            for (int part = 0; part < parts; part++) {
                List<Case> own = group.subList(group.size() * part / parts, group.size() * (part + 1) / parts);
                String number = parts == 1 ? "" : "-" + (part + 1);
                if (group.size() > 1) {
                    pictures.add(new Picture(name + number, chart(limits, own, cases)));
                }
            }
        });
        return pictures;
    }

    private static Chart chart(Limits limits, List<Case> group, Map<Case, Map<String, Result>> cases) {
        Case first = group.getFirst();
        Work.Unit unit = work(cases.get(first)).unit();
        double limit = limits.of(unit, first.threads());
        String line = Double.isNaN(limit) ? "" : String.format(Locale.ROOT, "; line: %s, %.0f", unit.limit, limit);
        String title =
                "%s, %s, %s%s".formatted(first.benchmark(), Result.count(first.threads(), "thread"), unit.speed, line);
        List<Chart.Group> groups = group.stream()
                .map(of -> new Chart.Group(of.labelWithoutThreads(), speeds(cases.get(of))))
                .toList();
        return new Chart(title, groups, limit, Tables::speed, impl -> Impls.ours(first.benchmark(), impl));
    }

    /**
     * Returns the work of this library in a case, which is also the work of its peers, or the work in f32 if this
     * library was not measured.
     */
    private static Work work(Map<String, Result> impls) {
        Result ours = impls.get("multihead");
        return ours != null
                ? ours.work()
                : impls.values().stream()
                        .map(Result::work)
                        .max(Comparator.comparingDouble(Work::amount))
                        .orElseThrow();
    }

    /**
     * Returns the speeds of impls with the same work as this library, since a narrow cache would look slow because it
     * reads less.
     */
    static Map<String, Double> speeds(Map<String, Result> impls) {
        Work work = work(impls);
        Map<String, Double> speeds = new LinkedHashMap<>();
        impls.values().stream()
                .filter(result -> result.work().equals(work))
                .sorted(Comparator.comparing(Result::impl, Impls.order()))
                .forEach(result -> speeds.put(result.impl(), work.speed(result.time())));
        return speeds;
    }
}
