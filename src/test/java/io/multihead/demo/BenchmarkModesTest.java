package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@code jmh/run} refuses wrong arguments of its modes before it builds. In this test, a build ends immediately with a
 * special status.
 */
class BenchmarkModesTest {
    private static final int BUILT = 97;

    @TempDir
    private Path folder;

    private record Ended(int code, String text) {}

    private Ended run(String... arguments) throws IOException, InterruptedException {
        script("bin/mvn", "exit " + BUILT);
        script("bin/javac", "echo javac 25");
        List<String> command = new ArrayList<>(List.of("bash", "jmh/run"));
        command.addAll(Arrays.asList(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().merge("PATH", folder.resolve("bin") + ":", (path, first) -> first + path);
        builder.environment().put("JAVA_HOME", folder.toString());
        Process process = builder.start();
        String text = new String(process.getInputStream().readAllBytes());
        return new Ended(process.waitFor(), text.strip());
    }

    private void script(String name, String command) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + command + "\n");
        assertTrue(file.toFile().setExecutable(true));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "fresh layers | fresh layers: expected layer or embeddings, or neither",
                "report jmh nosuch.json | report nosuch.json: no such file; expected JMH's JSON or a folder of rounds",
                "compare nosuch.jar | compare nosuch.jar: no such file; expected a jar of the library, or a checkout",
                "quick two | rounds: two; expected a number of at least 1",
            })
    void wordsThatSelectNothingAreRefusedBeforeABuild(String arguments, String message) throws Exception {
        Ended ended = run(arguments.split(" "));
        assertTrue(ended.text.startsWith(message), ended.text);
        assertEquals(1, ended.code);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "quick",
                "docs 2",
                "fresh layer",
                "errors",
                "-l",
                "Sgemm -p impl=multihead",
                "compare jmh",
                "compare jmh 5 AttentionForward -p threads=1",
            })
    void otherWordsAreBuiltFor(String arguments) throws Exception {
        assertEquals(new Ended(BUILT, ""), run(arguments.split(" ")));
    }
}
