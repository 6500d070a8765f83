package io.multihead.house.bad.internal.base;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The only class that may create temporary files. It breaks no rule. */
public final class AtomicFile {
    private AtomicFile() {}

    static Path file(Path folder) throws IOException {
        return Files.createTempFile(folder, "multihead", null);
    }
}
