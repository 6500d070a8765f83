package io.multihead.jmh.report;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import java.util.TreeMap;
import java.util.TreeSet;

/** The results of several runs of JMH as one study: the newest of each benchmark with its parameters. */
final class Results {
    /** By benchmark, then by case, then by impl, each in the order of the page. */
    final Map<String, Map<Case, Map<String, Result>>> benchmarks = new TreeMap<>();

    final Limits limits = new Limits();
    final Collection<Result> all;
    final FileTime oldest;
    final FileTime newest;

    private Results(Collection<Result> all, FileTime oldest, FileTime newest) {
        this.all = all;
        this.oldest = oldest;
        this.newest = newest;
        Map<String, Set<String>> methods = new TreeMap<>();
        all.forEach(result -> methods.computeIfAbsent(result.benchmark(), name -> new TreeSet<>())
                .add(result.method()));
        for (Result result : all) {
            if (!limits.take(result)) {
                boolean told = methods.get(result.benchmark()).size() == 1
                        || result.impl().equals(result.method());
                add(told ? result : result.with("method", result.method()));
            }
        }
    }

    /** Reads files of JMH's JSON. */
    static Results read(List<Path> files) throws IOException {
        Map<Path, FileTime> times = new LinkedHashMap<>();
        for (Path file : files) {
            times.put(file, Files.getLastModifiedTime(file));
        }
        List<Path> byAge = new ArrayList<>(times.keySet());
        byAge.sort(Comparator.comparing(times::get));
        Map<List<Object>, Result> newest = new LinkedHashMap<>();
        for (Path file : byAge) {
            try {
                new ObjectMapper().readTree(file.toFile()).forEach(entry -> put(newest, entry));
            } catch (JacksonException e) {
                throw new IOException(file + ": " + e.getOriginalMessage(), e);
            }
        }
        if (newest.isEmpty()) {
            throw new IOException("no results in " + files);
        }
        return new Results(newest.values(), times.get(byAge.getFirst()), times.get(byAge.getLast()));
    }

    private static void put(Map<List<Object>, Result> newest, JsonNode entry) {
        try {
            Result result = Result.of(entry);
            int threads = result.run().threads();
            newest.put(
                    List.of(result.benchmark(), result.method(), result.parameters(), result.impl(), threads), result);
        } catch (IllegalArgumentException e) {
            System.err.println("left out " + entry.path("benchmark").asText() + ": " + e.getMessage());
        }
    }

    private void add(Result result) {
        benchmarks
                .computeIfAbsent(result.benchmark(), name -> new TreeMap<>())
                .computeIfAbsent(result.belongsTo(), key -> new TreeMap<>(Impls.order()))
                .put(result.impl(), result);
    }

    /** The best time of an impl that is not ours; NaN if there is none. */
    static double bestPeer(Map<String, Result> impls) {
        return impls.values().stream()
                .filter(result -> !Impls.ours(result.benchmark(), result.impl()))
                .mapToDouble(Result::time)
                .min()
                .orElse(Double.NaN);
    }
}
