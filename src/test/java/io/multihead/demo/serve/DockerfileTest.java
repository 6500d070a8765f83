package io.multihead.demo.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Runs the container's commands of the Dockerfile in docs/server.md with a {@code java} that prints its arguments. */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "the container's lines are for a POSIX shell")
class DockerfileTest {
    @TempDir
    private Path folder;

    @Test
    void theFirstRunWritesACacheAndTheNextOnesReadIt() throws Exception {
        Path cache = folder.resolve("serve.aot");
        List<String> common =
                List.of("-cp", "generate.jar", Serve.class.getName(), "--host", "0.0.0.0", "--model", "/model.gguf");
        assertEquals(arguments("-XX:AOTCacheOutput=" + cache, common), run(cache));
        Files.createFile(cache);
        assertEquals(arguments("-XX:AOTCache=" + cache, common), run(cache));
    }

    private static List<String> arguments(String option, List<String> others) {
        List<String> all = new ArrayList<>(List.of("--add-modules", "jdk.incubator.vector", option));
        all.addAll(others);
        return all;
    }

    /** Runs entry point and command like a container, and returns the arguments of java. */
    private List<String> run(Path cache) throws IOException, InterruptedException {
        Path java = folder.resolve("java");
        Files.writeString(java, "#!/bin/sh\nfor argument in \"$@\"; do echo \"$argument\"; done\n");
        assertTrue(java.toFile().setExecutable(true), "cannot make " + java + " executable");
        List<String> command = new ArrayList<>(words("ENTRYPOINT"));
        command.addAll(words("CMD"));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("CACHE", cache.toString());
        builder.environment().merge("PATH", folder.toString(), (path, first) -> first + File.pathSeparator + path);
        Process process = builder.start();
        List<String> lines =
                new String(process.getInputStream().readAllBytes()).lines().toList();
        assertEquals(0, process.waitFor(), String.join("\n", lines));
        return lines;
    }

    /** Returns the JSON list of an instruction, which may have continued lines. */
    private static List<String> words(String instruction) throws IOException {
        String page = Files.readString(Path.of("docs/server.md"));
        String file = page.substring(page.indexOf("```dockerfile"), page.lastIndexOf("```"));
        String line = file.replace("\\\n", "")
                .lines()
                .filter(text -> text.startsWith(instruction + " "))
                .findFirst()
                .orElseThrow();
        return Arrays.asList(new ObjectMapper().readValue(line.substring(instruction.length()), String[].class));
    }
}
