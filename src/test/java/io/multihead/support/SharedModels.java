package io.multihead.support;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** Real files of models in the repository's neighborhood on some machines. */
public final class SharedModels {
    private static final Path FOLDER = Path.of("..", "shared", "models");

    private SharedModels() {}

    /** Returns a file, such as {@code stories260K/golden.json}; where it is absent the test is skipped by its name. */
    public static Path file(String name) {
        Path file = FOLDER.resolve(name);
        assumeTrue(
                Files.isRegularFile(file),
                () -> "SKIPPED: no " + file.toAbsolutePath().normalize());
        return file;
    }
}
