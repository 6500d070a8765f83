package io.multihead.jmh.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.multihead.jmh.bench.Comparison;
import io.multihead.jmh.bench.Work;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The measurements of one kind of processor, as JSON next to the page, so that the page keeps them when another
 * processor runs the study: limits, controls, JMH's settings, and the time of each impl in each round, or its median
 * and spread if rounds were not kept.
 */
final class StudyFile {
    private static final ObjectMapper JSON = new ObjectMapper();

    private StudyFile() {}

    /** Reads the studies in a folder by the file name without extension, or none if the folder is missing. */
    static SortedMap<String, Study> readAll(Path folder) throws IOException {
        SortedMap<String, Study> studies = new TreeMap<>();
        if (Files.isDirectory(folder)) {
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file :
                        files.filter(file -> file.toString().endsWith(".json")).toList()) {
                    String key = file.getFileName().toString().replaceFirst("\\.json$", "");
                    studies.put(key, read(JSON.readTree(file.toFile())));
                }
            }
        }
        return studies;
    }

    private record Limit(Work.Unit unit, int threads, double speed) {}

    /** A result with the index of its run, and with the times of its rounds or their median and spread. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record Entry(
            String benchmark,
            SortedMap<String, String> parameters,
            String impl,
            int run,
            Double ms,
            Double spread,
            SortedMap<Integer, List<Double>> rounds,
            Result.Calls calls) {
        static Entry of(Result result, List<Result.Run> runs) {
            Times times = result.times();
            boolean kept = !times.forks().isEmpty();
            boolean timed =
                    result.calls().count() > 0 || !Double.isNaN(result.calls().bytes());
            return new Entry(
                    result.benchmark(),
                    new TreeMap<>(result.parameters()),
                    result.impl(),
                    runs.indexOf(result.run()),
                    kept ? null : times.median(),
                    kept ? null : times.spread(),
                    kept ? times.forks() : null,
                    timed ? result.calls() : null);
        }

        Result result(List<Result.Run> runs) {
            Map<String, String> withImpl = new TreeMap<>(parameters);
            withImpl.put("impl", impl);
            Work work = Comparison.work(Comparison.class.getPackageName() + "." + benchmark + "Bench", withImpl);
            Times times = rounds != null ? Times.of(rounds) : Times.summary(ms, spread == null ? Double.NaN : spread);
            Result.Calls single = calls != null ? calls : new Result.Calls(Double.NaN, Double.NaN, Double.NaN);
            return new Result(benchmark, impl, parameters, impl, work, times, single, runs.get(run));
        }
    }

    private record Stored(
            String name,
            String processor,
            List<Limit> limits,
            Map<String, SortedMap<Integer, List<Double>>> controls,
            List<Result.Run> runs,
            List<Entry> results) {}

    static Study read(JsonNode root) {
        Stored stored = JSON.convertValue(root, Stored.class);
        Limits limits = new Limits();
        stored.limits.forEach(limit -> limits.put(limit.unit, limit.threads, limit.speed));
        limits.controls().speeds().putAll(stored.controls);
        List<Result> results =
                stored.results.stream().map(entry -> entry.result(stored.runs)).toList();
        return new Study(stored.name, stored.processor, new Results(results, limits));
    }

    static byte[] write(Study study) throws IOException {
        Limits limits = study.results().limits;
        List<Limit> all = new ArrayList<>();
        limits.all()
                .forEach((unit, byThreads) ->
                        byThreads.forEach((threads, speed) -> all.add(new Limit(unit, threads, speed))));
        List<Result> results = study.results().all();
        List<Result.Run> runs = results.stream().map(Result::run).distinct().toList();
        ObjectNode root = JSON.valueToTree(new Stored(
                study.name(),
                study.processor(),
                all,
                limits.controls().speeds(),
                runs,
                results.stream().map(result -> Entry.of(result, runs)).toList()));
        return text(root).getBytes(StandardCharsets.UTF_8);
    }

    /** Returns JSON with a line for each element of a list, so that a new measurement changes only its lines. */
    private static String text(ObjectNode root) throws IOException {
        List<String> fields = new ArrayList<>();
        for (Map.Entry<String, JsonNode> field : root.properties()) {
            String value = JSON.writeValueAsString(field.getValue());
            if (field.getValue().isArray()) {
                List<String> lines = new ArrayList<>();
                for (JsonNode element : field.getValue()) {
                    lines.add("    " + JSON.writeValueAsString(element));
                }
                value = "[\n" + String.join(",\n", lines) + "\n  ]";
            }
            fields.add("  \"" + field.getKey() + "\": " + value);
        }
        return "{\n" + String.join(",\n", fields) + "\n}\n";
    }
}
