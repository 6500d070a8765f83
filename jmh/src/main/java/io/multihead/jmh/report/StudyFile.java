package io.multihead.jmh.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
 * The measurements of one kind of processor, as JSON beside the page, so that the page keeps it when another runs the study: limits, controls, how
 * JMH ran, and each impl's time in each round, or its median and spread where rounds were not kept.
 */
final class StudyFile {
    private static final ObjectMapper JSON = new ObjectMapper();

    private StudyFile() {}

    /** Reads the studies in a folder, by the name of the file without its ending; none where the folder is missing. */
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

    /** Reads what {@link #write} wrote. */
    static Study read(JsonNode root) {
        Limits limits = new Limits();
        root.path("limits")
                .forEach(limit -> limits.put(
                        Work.Unit.valueOf(limit.path("unit").asText()),
                        limit.path("threads").asInt(),
                        limit.path("speed").asDouble()));
        root.path("controls").properties().forEach(control -> rounds(control.getValue())
                .forEach((round, speeds) ->
                        speeds.forEach(speed -> limits.controls().put(control.getKey(), round, speed))));
        List<Result> results = new ArrayList<>();
        root.path("results")
                .forEach(entry -> results.add(result(
                        entry, run(root.path("runs").path(entry.path("run").asInt())))));
        return new Study(root.path("name").asText(), root.path("processor").asText(), new Results(results, limits));
    }

    /** Returns a study as JSON. */
    static byte[] write(Study study) throws IOException {
        ObjectNode root = JSON.createObjectNode();
        root.put("name", study.name()).put("processor", study.processor());
        ArrayNode limits = root.putArray("limits");
        study.results()
                .limits
                .all()
                .forEach((unit, byThreads) -> byThreads.forEach((threads, speed) -> limits.addObject()
                        .put("unit", unit.name())
                        .put("threads", threads)
                        .put("speed", speed)));
        ObjectNode controls = root.putObject("controls");
        study.results()
                .limits
                .controls()
                .speeds()
                .forEach((control, speeds) -> rounds(controls.putObject(control), speeds));
        List<Result.Run> runs =
                study.results().all().stream().map(Result::run).distinct().toList();
        ArrayNode all = root.putArray("runs");
        runs.forEach(run -> all.add(JSON.valueToTree(run)));
        ArrayNode results = root.putArray("results");
        for (Result result : study.results().all()) {
            ObjectNode entry = results.addObject().put("benchmark", result.benchmark());
            ObjectNode parameters = entry.putObject("parameters");
            result.parameters().forEach(parameters::put);
            entry.put("impl", result.impl()).put("run", runs.indexOf(result.run()));
            if (result.times().forks().isEmpty()) {
                entry.put("ms", result.times().median())
                        .put("spread", result.times().spread());
            } else {
                rounds(entry.putObject("rounds"), result.times().forks());
            }
            if (result.calls().count() > 0 || !Double.isNaN(result.calls().bytes())) {
                entry.set("calls", JSON.valueToTree(result.calls()));
            }
        }
        return text(root).getBytes(StandardCharsets.UTF_8);
    }

    /** Returns JSON with a line for each element of a list, so that a new measurement changes its own lines. */
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

    private static Result result(JsonNode entry, Result.Run run) {
        String benchmark = entry.path("benchmark").asText();
        String impl = entry.path("impl").asText();
        Map<String, String> parameters = new TreeMap<>();
        entry.path("parameters")
                .properties()
                .forEach(e -> parameters.put(e.getKey(), e.getValue().asText()));
        Map<String, String> withImpl = new TreeMap<>(parameters);
        withImpl.put("impl", impl);
        Work work = Comparison.work(Comparison.class.getPackageName() + "." + benchmark + "Bench", withImpl);
        Times times = entry.has("rounds")
                ? Times.of(rounds(entry.path("rounds")))
                : Times.summary(number(entry, "ms"), number(entry, "spread"));
        JsonNode calls = entry.path("calls");
        Result.Calls single = new Result.Calls(number(calls, "count"), number(calls, "late"), number(calls, "bytes"));
        return new Result(benchmark, impl, parameters, impl, work, times, single, run);
    }

    private static Result.Run run(JsonNode run) {
        List<String> flags = new ArrayList<>();
        run.path("flags").forEach(flag -> flags.add(flag.asText()));
        return new Result.Run(
                run.path("threads").asInt(),
                run.path("jdk").asText(),
                flags,
                run.path("lanes").asInt(),
                run.path("iterations").asText(),
                run.path("date").asText());
    }

    private static SortedMap<Integer, List<Double>> rounds(JsonNode node) {
        SortedMap<Integer, List<Double>> rounds = new TreeMap<>();
        node.properties().forEach(round -> {
            List<Double> values = new ArrayList<>();
            round.getValue().forEach(value -> values.add(value.asDouble()));
            rounds.put(Integer.valueOf(round.getKey()), values);
        });
        return rounds;
    }

    private static void rounds(ObjectNode node, SortedMap<Integer, List<Double>> rounds) {
        rounds.forEach((round, values) -> {
            ArrayNode own = node.putArray(String.valueOf(round));
            values.forEach(own::add);
        });
    }

    /** Returns a number; NaN, which JSON writes as text, where there is none. */
    private static double number(JsonNode node, String name) {
        JsonNode value = node.path(name);
        return value.isNumber() ? value.asDouble() : Double.NaN;
    }
}
