package io.multihead.support;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** Files of published models, which some machines have in a folder next to the repository. */
public final class SharedModels {
    private static final Path FOLDER = Path.of("..", "shared", "models");

    private SharedModels() {}

    /**
     * Returns a file, such as {@code stories260K/golden.json}. If it is absent, the test is skipped with a message that
     * names the file.
     */
    public static Path file(String name) {
        Path file = FOLDER.resolve(name);
        assumeTrue(
                Files.isRegularFile(file),
                () -> "SKIPPED: no " + file.toAbsolutePath().normalize());
        return file;
    }
}
