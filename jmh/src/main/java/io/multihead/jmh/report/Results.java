package io.multihead.jmh.report;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The results of rounds as one study, with all rounds of each benchmark and its parameters. */
final class Results {
    /** The results by benchmark, case and impl, each in the order of the page. */
    final Map<String, Map<Case, Map<String, Result>>> benchmarks = new TreeMap<>();

    final Limits limits;

    /** Sorts results. Results of controls become limits. */
    Results(Collection<Result> all, Limits limits) {
        this.limits = limits;
        Map<String, Set<String>> methods = new TreeMap<>();
        all.forEach(result -> methods.computeIfAbsent(result.benchmark(), name -> new TreeSet<>())
                .add(result.method()));
        for (Result result : all) {
            if (!limits.take(result)) {
                boolean methodIsImplied = methods.get(result.benchmark()).size() == 1
                        || result.impl().equals(result.method());
                add(methodIsImplied ? result : result.with("method", result.method()));
            }
        }
    }

    List<Result> all() {
        return benchmarks.values().stream()
                .flatMap(cases -> cases.values().stream())
                .flatMap(impls -> impls.values().stream())
                .toList();
    }

    /**
     * Returns these results with cases replaced by the cases of newer results. Cases are replaced as a whole, since
     * impls of different runs did not alternate and do not have the same rounds. Newer limits and controls replace
     * these limits and controls where they exist.
     */
    Results replacedBy(Results newer) {
        Results merged = new Results(List.of(), limits.replacedBy(newer.limits));
        all().stream()
                .filter(result -> !newer.benchmarks
                        .getOrDefault(result.benchmark(), Map.of())
                        .containsKey(result.belongsTo()))
                .forEach(merged::add);
        newer.all().forEach(merged::add);
        return merged;
    }

    /** Reads and merges files or folders of JMH's JSON, or of rounds of a build. */
    static Results read(List<Path> paths, String build) throws IOException {
        List<Path> files = files(paths);
        Map<List<Object>, SortedMap<Integer, List<JsonNode>>> entries = new LinkedHashMap<>();
        for (Path file : files) {
            JsonNode root;
            try {
                root = new ObjectMapper().readTree(file.toFile());
            } catch (JacksonException e) {
                throw new IOException(file + ": " + e.getOriginalMessage(), e);
            }
            String modified = Files.getLastModifiedTime(file).toString();
            String date = root.path("start").asText(modified).substring(0, 10);
            (root.isArray() ? root : root.path("results")).forEach(entry -> ((ObjectNode) entry).put("date", date));
            if (root.isArray()) {
                // a run without rounds replaces earlier results
                root.forEach(entry -> entries.put(Result.key(entry), new TreeMap<>(Map.of(1, List.of(entry)))));
            } else if (root.path("build").asText().equals(build)) {
                root.path("results").forEach(entry -> entries.computeIfAbsent(Result.key(entry), key -> new TreeMap<>())
                        .computeIfAbsent(root.path("round").asInt(), key -> new ArrayList<>())
                        .add(entry));
            }
        }
        List<Result> all = new ArrayList<>();
        entries.forEach((key, rounds) -> {
            try {
                all.add(Result.of(rounds));
            } catch (IllegalArgumentException e) {
                System.err.println("left out " + key.getFirst() + ": " + e.getMessage());
            }
        });
        if (all.isEmpty()) {
            throw new IOException("no results in " + paths);
        }
        return new Results(all, new Limits());
    }

    /** Returns the files, including the files of folders, oldest first. */
    private static List<Path> files(List<Path> paths) throws IOException {
        Map<Path, FileTime> times = new LinkedHashMap<>();
        for (Path path : paths) {
            try (Stream<Path> files = Files.walk(path)) {
                for (Path file : files.filter(file -> file.toString().endsWith(".json"))
                        .sorted()
                        .toList()) {
                    times.put(file, Files.getLastModifiedTime(file));
                }
            }
        }
        List<Path> byAge = new ArrayList<>(times.keySet());
        byAge.sort(Comparator.comparing(times::get));
        return byAge;
    }

    private void add(Result result) {
        benchmarks
                .computeIfAbsent(result.benchmark(), name -> new TreeMap<>())
                .computeIfAbsent(result.belongsTo(), key -> new TreeMap<>(Impls.order()))
                .put(result.impl(), result);
    }

    /** Returns the best time of a peer that does the same work, or NaN if there is none. */
    static double bestPeer(Map<String, Result> impls) {
        return peers(impls).stream().mapToDouble(Result::time).min().orElse(Double.NaN);
    }

    /**
     * Returns the ratio of an impl's speed to the speed of the fastest peer in the same round. The minimum of several
     * measured times is below the minimum of their true values, so the error is to the disadvantage of the impl. An
     * impl that does other work has no ratio.
     */
    static Ratio overBestPeer(Map<String, Result> impls, Result result) {
        return Impls.comparable(result.impl()) ? overFastest(peers(impls), result) : Ratio.NONE;
    }

    /**
     * Returns the ratio of a result's speed to the fastest of other results, for each round in which one of them was
     * measured.
     */
    static Ratio overFastest(List<Result> others, Result result) {
        List<Double> ratios = new ArrayList<>();
        result.times().rounds().forEach((round, time) -> others.stream()
                .filter(other -> other.times().rounds().containsKey(round))
                .mapToDouble(other -> other.times().rounds().get(round))
                .min()
                .ifPresent(best -> ratios.add(best / time)));
        return Ratio.of(ratios);
    }

    private static List<Result> peers(Map<String, Result> impls) {
        return impls.values().stream()
                .filter(result -> !Impls.ours(result.benchmark(), result.impl()) && Impls.comparable(result.impl()))
                .toList();
    }
}
