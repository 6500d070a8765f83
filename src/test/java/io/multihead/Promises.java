package io.multihead;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/** What a test run measured of the promises: one line each in {@code target/promises.txt}, from which the README is filled. */
public final class Promises {
    private static final Path FILE = Path.of("target", "promises.txt");

    private Promises() {}

    /** Notes a measured value beside what we aim for, with the lane width of this JVM. */
    public static synchronized void record(String promise, double value, String aim) {
        String lanes = System.getProperty("io.multihead.lanes", "preferred");
        String line = String.format(Locale.ROOT, "%s | %s | %.4g | %s%n", promise, lanes, value, aim);
        try {
            Files.createDirectories(FILE.getParent());
            Files.writeString(FILE, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
