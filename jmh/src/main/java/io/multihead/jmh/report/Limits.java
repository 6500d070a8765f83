package io.multihead.jmh.report;

import io.multihead.jmh.bench.Roofline;
import io.multihead.jmh.bench.Work;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The limits of the machine, which {@link Roofline} measures in every round: the limits of speeds, and controls that
 * reveal rounds in which the machine was slower.
 */
final class Limits {
    /** A name may end with the number of simultaneous threads. */
    private static final Pattern METHOD = Pattern.compile("(fmaPeak|readBandwidth)(\\d*)");

    /** The ratio of two forks of the same code on a quiet machine. */
    private static final double TOLERANCE = 1.02;

    private final Map<Work.Unit, SortedMap<Integer, Double>> highest = new EnumMap<>(Work.Unit.class);
    private final Controls controls = new Controls();

    boolean take(Result result) {
        Matcher method = METHOD.matcher(result.method());
        if (!result.benchmark().equals("Roofline") || !method.matches()) {
            return false;
        }
        int threads = method.group(2).isEmpty() ? result.run().threads() : Integer.parseInt(method.group(2));
        boolean peak = method.group(1).equals("fmaPeak");
        // each thread does the whole work
        double each = peak ? Roofline.operations(Machine.lanes(result.run().flags())) : (double) Roofline.BYTES;
        Work work = new Work(threads * each, peak ? Work.Unit.OPERATIONS : Work.Unit.BYTES);
        result.times()
                .forks()
                .forEach((round, times) -> times.forEach(time -> {
                    double speed = work.speed(time);
                    put(work.unit(), threads, speed);
                    controls.put(name(work.unit(), threads), round, speed);
                }));
        return true;
    }

    /** Sets a limit, unless a higher limit is known, since a measured speed is possible. */
    void put(Work.Unit unit, int threads, double speed) {
        highest.computeIfAbsent(unit, key -> new TreeMap<>()).merge(threads, speed, Math::max);
    }

    /** Returns the limit of a number of threads in GFLOP/s or GB/s, or NaN if it is unknown. */
    double of(Work.Unit unit, int threads) {
        Map<Integer, Double> byThreads = all().getOrDefault(unit, new TreeMap<>());
        if (byThreads.containsKey(threads)) {
            return byThreads.get(threads);
        }
        // cores multiply independently, but share memory: only a measurement shows the bandwidth of two cores
        return unit == Work.Unit.OPERATIONS ? threads * byThreads.getOrDefault(1, Double.NaN) : Double.NaN;
    }

    /** Returns newer limits and controls where they exist, and these ones otherwise. */
    Limits replacedBy(Limits newer) {
        Limits merged = new Limits();
        for (Limits each : List.of(this, newer)) {
            each.highest.forEach((unit, byThreads) ->
                    merged.highest.computeIfAbsent(unit, key -> new TreeMap<>()).putAll(byThreads));
        }
        merged.controls.speeds().putAll((newer.controls.speeds().isEmpty() ? this : newer).controls.speeds());
        return merged;
    }

    /**
     * Returns results that are faster than their limit, which is a defect of the probe, since a limit that a kernel
     * exceeds is wrong. Calls that read fewer bytes than the probe may read from a cache.
     */
    List<String> exceeded(Results results) {
        List<String> exceeded = new ArrayList<>();
        for (Result result : results.all()) {
            Work work = result.work();
            double limit = work.known() ? of(work.unit(), result.belongsTo().threads()) : Double.NaN;
            boolean cached = work.unit() == Work.Unit.BYTES && work.amount() < Roofline.BYTES;
            double speed = work.speed(result.time());
            if (!cached && speed > limit * TOLERANCE) {
                exceeded.add(String.format(
                        Locale.ROOT,
                        "%s %s, %s: %.1f %s, limit %.1f",
                        result.benchmark(),
                        result.belongsTo().label(),
                        result.impl(),
                        speed,
                        work.unit().speed,
                        limit));
            }
        }
        return exceeded;
    }

    Map<Work.Unit, SortedMap<Integer, Double>> all() {
        return highest;
    }

    Controls controls() {
        return controls;
    }

    Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        highest.forEach((unit, byThreads) -> byThreads.forEach((threads, speed) ->
                facts.put(name(unit, threads), String.format(Locale.ROOT, "%.1f %s", speed, unit.speed))));
        return facts;
    }

    private static String name(Work.Unit unit, int threads) {
        return unit.limit + ", " + Result.count(threads, "thread");
    }
}
