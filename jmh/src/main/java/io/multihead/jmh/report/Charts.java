package io.multihead.jmh.report;

import io.multihead.jmh.bench.Work;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Which charts a benchmark has: speeds beside their limit, one chart per number of threads, more where cases are many. */
final class Charts {
    private static final int GROUPS = 6;

    private final Limits limits;
    private final Map<Case, Map<String, Result>> cases;
    private final List<Picture> pictures = new ArrayList<>();

    private Charts(Limits limits, Map<Case, Map<String, Result>> cases) {
        this.limits = limits;
        this.cases = cases;
    }

    /** An image of the page: file name without ending, text for those who do not see it, and what it draws when asked. */
    record Picture(String name, String alt, Chart chart) {}

    /** The charts of one benchmark; none where no limit is known, or where a table says as much. */
    static List<Picture> of(Limits limits, Map<Case, Map<String, Result>> cases) {
        Charts charts = new Charts(limits, cases);
        Map<String, List<Case>> groups = new TreeMap<>();
        boolean mixed = cases.keySet().stream()
                        .map(of -> work(cases.get(of)).unit())
                        .distinct()
                        .count()
                > 1;
        for (Case of : cases.keySet()) {
            Work work = work(cases.get(of));
            if (work.known()) {
                String memory = mixed && work.unit() == Work.Unit.BYTES ? "-memory" : "";
                groups.computeIfAbsent(of.benchmark() + "-" + of.threads() + memory, key -> new ArrayList<>())
                        .add(of);
            }
        }
        for (Map.Entry<String, List<Case>> group : groups.entrySet()) {
            charts.draw(group.getKey(), group.getValue());
        }
        return charts.pictures;
    }

    /** The work of this library in a case, which its peers do too; that of f32 where it was not measured. */
    private static Work work(Map<String, Result> impls) {
        Result ours = impls.get("multihead");
        return ours != null
                ? ours.work()
                : impls.values().stream()
                        .map(Result::work)
                        .max(Comparator.comparingDouble(Work::amount))
                        .orElseThrow();
    }

    /** Parts what has too many cases by the parameter of fewest values, and in halves what has none. */
    private void draw(String name, List<Case> group) {
        List<String> varying = varying(group);
        if (group.size() <= GROUPS) {
            if (group.size() > 1) {
                pictures.add(picture(name, group, varying));
            }
            return;
        }
        if (varying.size() == 1) {
            int half = (group.size() + 1) / 2;
            draw(name + "-1", group.subList(0, half));
            draw(name + "-2", group.subList(half, group.size()));
            return;
        }
        String by = varying.stream()
                .min(Comparator.comparingInt(
                        parameter -> values(group, parameter).size()))
                .orElseThrow();
        for (String value : values(group, by)) {
            List<Case> part = group.stream()
                    .filter(of -> of.parameters().get(by).equals(value))
                    .toList();
            draw(name + "-" + by + "-" + value.replaceAll("[^\\w.-]", "-"), part);
        }
    }

    private Picture picture(String name, List<Case> group, List<String> varying) {
        Case first = group.getFirst();
        Work.Unit unit = work(cases.get(first)).unit();
        double limit = limits.of(unit, first.threads());
        String title = title(first, varying)
                + (Double.isNaN(limit)
                        ? ""
                        : String.format(Locale.ROOT, "; line: %s, %.0f %s", unit.limit, limit, unit.speed));
        List<String> labels = group.stream()
                .map(of -> varying.stream().map(of.parameters()::get).collect(Collectors.joining(", ")))
                .toList();
        Chart chart = new Chart(
                new Chart.Labels(title, String.join(", ", varying), unit.speed, labels, Tables::speed), limit);
        speeds(group.stream().map(cases::get).toList())
                .forEach((impl, speeds) -> chart.bars(impl, Impls.ours(first.benchmark(), impl), speeds));
        return new Picture(name, "Bars of " + unit.speed + " by impl. " + title, chart);
    }

    /**
     * Speeds by impl, a list of one for each case; null where an impl was not measured, or did not read as much as the others: a
     * narrow cache would look slow for reading less. An impl that is in one case alone is shown, since it may be the best peer there.
     */
    static Map<String, List<Double>> speeds(List<Map<String, Result>> group) {
        Map<String, List<Double>> speeds = new TreeMap<>(Impls.order());
        for (int i = 0; i < group.size(); i++) {
            Work work = work(group.get(i));
            for (Result result : group.get(i).values()) {
                if (result.work().equals(work)) {
                    speeds.computeIfAbsent(
                                    result.impl(), impl -> new ArrayList<>(Collections.nCopies(group.size(), null)))
                            .set(i, work.speed(result.time()));
                }
            }
        }
        return speeds;
    }

    private static String title(Case of, List<String> varying) {
        String fixed = of.parameters().entrySet().stream()
                .filter(e -> !e.getKey().equals("threads") && !varying.contains(e.getKey()))
                .map(e -> ", " + e.getKey() + "=" + e.getValue())
                .collect(Collectors.joining());
        return of.benchmark() + ", " + Result.count(of.threads(), "thread") + fixed;
    }

    private static List<String> varying(List<Case> group) {
        return group.getFirst().parameters().keySet().stream()
                .filter(parameter -> values(group, parameter).size() > 1)
                .toList();
    }

    private static Set<String> values(List<Case> group, String parameter) {
        return group.stream()
                .map(of -> of.parameters().get(parameter))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }
}
