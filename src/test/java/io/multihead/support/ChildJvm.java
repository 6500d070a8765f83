package io.multihead.support;

import io.multihead.compute.Compute;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a test class in a separate JVM, with the library and the tests on the class path, for tests that depend on JVM
 * options.
 */
public final class ChildJvm {
    /** The language for programs that print numbers in the language of their machine. */
    private static final List<String> LANGUAGE = List.of("-Duser.language=en", "-Duser.country=US");

    /** The encodings in which the output is read. */
    private static final List<String> ENCODINGS = List.of("-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8");

    /** The options that the documentation requires from users of the library. */
    private static final List<String> VECTOR_MODULE = List.of("--add-modules", "jdk.incubator.vector");

    /**
     * Compiles methods in the foreground, after a number of calls that does not depend on the load of the machine. C2's
     * inlining depends on the profile at that time, and results of calls that are not inlined are objects until the JVM
     * ends. Tests of allocated bytes need this option.
     */
    public static final String FOREGROUND = "-Xbatch";

    private ChildJvm() {}

    /**
     * Runs a main method with the Vector API, and returns the lines of standard output and standard error.
     *
     * @param options additional JVM options
     * @throws IOException if the JVM does not end normally and in time; the message contains its output
     */
    public static List<String> run(Class<?> main, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(VECTOR_MODULE);
        all.addAll(ENCODINGS);
        all.addAll(options);
        return runWithOnly(main, all, arguments);
    }

    /**
     * Runs a main method like {@link #run}, with the given JVM options only.
     *
     * @throws IOException if the JVM does not end normally and in time; the message contains its output
     */
    public static List<String> runWithOnly(Class<?> main, List<String> options, String... arguments)
            throws IOException, InterruptedException {
        String classes = location(main) + File.pathSeparator + location(Compute.class);
        return run(Path.of(""), options, classes, main, arguments);
    }

    /**
     * Runs a main method like {@link #run}, in a folder, with the libraries of the tests, and in English.
     *
     * @throws IOException if the JVM does not end normally and in time; the message contains its output
     */
    public static List<String> runIn(Path folder, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        String classes = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(entry -> Path.of(entry).toAbsolutePath().toString())
                .collect(Collectors.joining(File.pathSeparator));
        List<String> options = new ArrayList<>(VECTOR_MODULE);
        options.addAll(ENCODINGS);
        options.addAll(LANGUAGE);
        return run(folder, options, classes, main, arguments);
    }

    private static List<String> run(
            Path folder, List<String> options, String classes, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", classes, main.getName()));
        command.addAll(List.of(arguments));
        // a file needs no reader while the JVM runs, so the time limit also works for a JVM that never closes its
        // output
        Path output = Files.createTempFile("child", ".out");
        try {
            int status = run(folder, command, output);
            List<String> lines = Files.readAllLines(output);
            if (status != 0) {
                throw new IOException(command + " ended with " + status + ": " + String.join("\n", lines));
            }
            return lines;
        } finally {
            Files.delete(output);
        }
    }

    private static int run(Path folder, List<String> command, Path output) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .directory(folder.toAbsolutePath().toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            if (!process.waitFor(Patience.HANG_SECONDS, TimeUnit.SECONDS)) {
                throw new IOException(
                        command + " does not end within " + Patience.HANG_SECONDS + " s: " + Files.readString(output));
            }
            return process.exitValue();
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    /**
     * Returns the location of a class. The property java.class.path is not used, since a launcher may have a separate
     * class loader, and libraries of tests are not needed.
     */
    private static String location(Class<?> type) {
        return Path.of(URI.create(
                        type.getProtectionDomain().getCodeSource().getLocation().toString()))
                .toString();
    }
}
