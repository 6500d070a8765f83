package io.multihead.jmh.report;

import io.multihead.jmh.bench.Roofline;
import io.multihead.jmh.bench.Work;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What the machine can do at most, as {@link Roofline} measured it. */
final class Limits {
    /** A number at the end is the threads that run at once. */
    private static final Pattern METHOD = Pattern.compile("(fmaPeak|readBandwidth)(\\d*)");

    private final Map<Work.Unit, Map<Integer, Double>> measured = new EnumMap<>(Work.Unit.class);

    /** Takes a result if it measures a limit. */
    boolean take(Result result) {
        Matcher method = METHOD.matcher(result.method());
        if (!result.benchmark().equals("Roofline") || !method.matches()) {
            return false;
        }
        int threads = method.group(2).isEmpty() ? result.run().threads() : Integer.parseInt(method.group(2));
        boolean peak = method.group(1).equals("fmaPeak");
        // each thread does the whole of it
        double each = peak
                ? Roofline.operations(Machine.lanes(result.run().flags()))
                : (double) Float.BYTES * Roofline.FLOATS;
        Work work = new Work(threads * each, peak ? Work.Unit.OPERATIONS : Work.Unit.BYTES);
        measured.computeIfAbsent(work.unit(), unit -> new TreeMap<>()).put(threads, work.speed(result.time()));
        return true;
    }

    /** The limit of so many threads in GFLOP/s or GB/s; NaN if unknown. */
    double of(Work.Unit unit, int threads) {
        Map<Integer, Double> byThreads = measured.getOrDefault(unit, Map.of());
        if (byThreads.containsKey(threads)) {
            return byThreads.get(threads);
        }
        // cores multiply on their own, but share memory: only a measurement says what two can read
        return unit == Work.Unit.OPERATIONS ? threads * byThreads.getOrDefault(1, Double.NaN) : Double.NaN;
    }

    /** One line per limit. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        measured.forEach((unit, byThreads) -> byThreads.forEach((threads, speed) -> lines.add(String.format(
                Locale.ROOT, "%s, %s: %.1f %s", unit.limit, Result.count(threads, "thread"), speed, unit.speed))));
        return lines;
    }
}
