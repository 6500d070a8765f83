package io.multihead.jmh.report;

import io.multihead.jmh.bench.Work;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/** The Markdown tables of a benchmark: every case and impl, and the gain from a second thread. */
public final class Tables {
    private static final List<String> COLUMNS = List.of(
            "case,impl,ms,spread,speed,of the best peer,interval,verdict,of the limit,calls,p99,B/call".split(","));

    private static final int DIGITS = 4;

    private final Limits limits;

    Tables(Limits limits) {
        this.limits = limits;
    }

    /** Returns a table with one row per case and impl. Empty columns are omitted. */
    String results(Map<Case, Map<String, Result>> cases) {
        List<List<String>> rows = new ArrayList<>();
        cases.forEach((of, impls) -> impls.values().forEach(result -> rows.add(row(of, result, impls))));
        return markdown(COLUMNS, rows);
    }

    /**
     * Returns the ratio of the times with one and with two threads for every impl that was measured with both, or an
     * empty text if there is none.
     */
    String secondThread(Map<Case, Map<String, Result>> cases) {
        Map<String, Map<String, String>> gains = new LinkedHashMap<>();
        Set<String> impls = new TreeSet<>(Impls.order());
        cases.forEach((of, two) -> {
            Map<String, Result> one = of.threads() == 2 ? cases.getOrDefault(of.withThreads(1), Map.of()) : Map.of();
            two.forEach((impl, result) -> {
                if (one.containsKey(impl)) {
                    impls.add(impl);
                    String label = of.labelWithoutThreads().isEmpty() ? of.benchmark() : of.labelWithoutThreads();
                    gains.computeIfAbsent(label, key -> new LinkedHashMap<>())
                            .put(impl, number("%.2f", one.get(impl).time() / result.time()));
                }
            });
        });
        return gains.isEmpty() ? "" : grid("two threads over one", impls, gains);
    }

    private List<String> row(Case of, Result result, Map<String, Result> impls) {
        Work work = result.work();
        double speed = work.speed(result.time());
        Ratio ratio = Impls.ours(result.benchmark(), result.impl()) ? Results.overBestPeer(impls, result) : Ratio.NONE;
        double ofMedians = Impls.comparable(result.impl()) ? Results.bestPeer(impls) / result.time() : Double.NaN;
        return List.of(
                of.label(),
                result.impl(),
                milliseconds(result.time()),
                number("%.2f", result.times().spread()),
                work.known() ? speed(speed) + " " + work.unit().speed : "",
                number("%.2f", Double.isNaN(ratio.median()) ? ofMedians : ratio.median()),
                ratio.interval("%.2f"),
                ratio.verdict(),
                number("%.2f", speed / limits.of(work.unit(), of.threads())),
                number("%.0f", result.calls().count()),
                number("%.2f", result.calls().late()),
                number("%.0f", result.calls().bytes()));
    }

    static String speed(double speed) {
        return number(speed < 100 ? "%.1f" : "%.0f", speed);
    }

    /** Returns a time with four digits, including trailing zeros. */
    private static String milliseconds(double time) {
        BigDecimal rounded = new BigDecimal(time).round(new MathContext(DIGITS));
        return rounded.setScale(rounded.scale() + DIGITS - rounded.precision()).toPlainString();
    }

    /** Returns a table of rows by name. Each row has cells by column. */
    static String grid(String corner, Collection<String> columns, Map<?, Map<String, String>> cells) {
        List<String> head = new ArrayList<>(List.of(corner));
        head.addAll(columns);
        List<List<String>> rows = new ArrayList<>();
        cells.forEach((name, byColumn) -> {
            List<String> row = new ArrayList<>(List.of(name.toString()));
            columns.forEach(column -> row.add(byColumn.getOrDefault(column, "")));
            rows.add(row);
        });
        return markdown(head, rows);
    }

    /** Returns a table of rows, without the columns that have no text in any row. */
    public static String markdown(List<String> columns, List<List<String>> rows) {
        int[] shown = IntStream.range(0, columns.size())
                .filter(column -> rows.stream().anyMatch(row -> !row.get(column).isEmpty()))
                .toArray();
        StringBuilder table = new StringBuilder();
        line(table, columns, shown);
        table.append("|---".repeat(shown.length)).append("|\n");
        rows.forEach(row -> line(table, row, shown));
        return table.toString();
    }

    private static void line(StringBuilder table, List<String> cells, int[] shown) {
        for (int column : shown) {
            table.append("| ").append(cells.get(column)).append(' ');
        }
        table.append("|\n");
    }

    static String number(String format, double value) {
        return Double.isNaN(value) ? "" : String.format(Locale.ROOT, format, value);
    }
}
