package io.multihead.jmh.rounds;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Runs one fork of JMH in a separate process, and keeps its result as soon as it is complete. */
final class Fork {
    /** The beginning of the reason if a peer is missing, which is the same in later rounds. */
    static final String ABSENT = "PEER ABSENT";

    private static final ObjectMapper JSON = new ObjectMapper();

    private final Children children = Children.ofThisJvm();
    private final Path folder;
    private final Path log;

    Fork(Path folder) {
        this.folder = folder;
        this.log = folder.resolve("log");
    }

    /**
     * Runs a fork and waits for its end. Returns the reason for a missing result, or an empty text. A shutdown of this
     * JVM ends the fork. The result states its round and the build of the library.
     */
    String run(String file, Trial trial, int round, Build build) throws IOException, InterruptedException {
        Path result = folder.resolve("jmh.tmp");
        Path output = folder.resolve("output.tmp");
        Files.deleteIfExists(result);
        Instant start = Instant.now();
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-cp", build.classPath(), "org.openjdk.jmh.Main"));
        command.addAll(trial.arguments(result.toString()));
        int status = children.await(children.start(new ProcessBuilder(command)
                .redirectInput(new File("/dev/null"))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())));
        List<String> lines = Files.readAllLines(output);
        Files.write(log, lines, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        JsonNode entries = Files.exists(result) && Files.size(result) > 0 ? JSON.readTree(result.toFile()) : null;
        if (status != 0 || entries == null || entries.isEmpty()) {
            return reason(lines, status);
        }
        ObjectNode root = JSON.createObjectNode().put("round", round).put("build", build.name());
        root.put("start", start.toString()).set("results", entries);
        Path complete = folder.resolve("result.tmp");
        JSON.writeValue(complete.toFile(), root);
        Files.move(complete, folder.resolve(file), StandardCopyOption.ATOMIC_MOVE);
        return "";
    }

    /** Returns the message about a failure in JMH's output. */
    static String reason(List<String> lines, int status) {
        for (String line : lines) {
            if (line.contains(ABSENT)) {
                return line.substring(line.indexOf(ABSENT));
            }
        }
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            if (line.startsWith("ERROR") || line.startsWith("No matching benchmarks") || line.contains("VM failed")) {
                return line;
            }
            if (line.endsWith("<failure>")) {
                return lines.subList(i + 1, lines.size()).stream()
                        .filter(cause -> !cause.isBlank())
                        .findFirst()
                        .orElse(line);
            }
        }
        return "JMH ended with status " + status + " and no result";
    }
}
