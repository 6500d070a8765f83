package io.multihead.fuzz;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A folder for the files of one target, in the folder of the system property {@code java.io.tmpdir}. */
final class Scratch {
    private Scratch() {}

    static Path folder(String name) {
        try {
            return Files.createTempDirectory("multihead-fuzz-" + name);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    static void write(Path file, byte[] bytes) {
        try {
            Files.createDirectories(file.getParent());
            Files.write(file, bytes);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
