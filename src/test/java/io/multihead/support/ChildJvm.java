package io.multihead.support;

import io.multihead.compute.Compute;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs a class of the tests in a JVM of its own, with the library and the tests on the class path: for what depends on options. */
public final class ChildJvm {
    private ChildJvm() {}

    /**
     * Returns what a main method printed to standard output.
     *
     * @throws IOException if the JVM did not end normally; the message has its output
     */
    public static String run(Class<?> main, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("--add-modules", "jdk.incubator.vector"));
        command.addAll(options);
        String classes = location(main) + File.pathSeparator + location(Compute.class);
        command.addAll(List.of("-cp", classes, main.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(command + " failed: " + output);
        }
        return output;
    }

    /** Not the property with the class path: the launcher of the tests may have loaded them otherwise. */
    private static String location(Class<?> type) {
        return Path.of(URI.create(
                        type.getProtectionDomain().getCodeSource().getLocation().toString()))
                .toString();
    }
}
