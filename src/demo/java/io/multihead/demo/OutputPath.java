package io.multihead.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** The paths of a command's results, which are written at the end, after minutes: a path that takes no result is refused before the work. */
final class OutputPath {
    private OutputPath() {}

    /**
     * Creates the folder of an option if it does not exist.
     *
     * @throws ParameterException if files cannot be created in it
     */
    static void requireFolder(CommandLine line, String option, Path folder) {
        try {
            Files.createDirectories(folder);
            probe(folder);
        } catch (IOException e) {
            throw wrong(line, option, folder, "a writable folder", e);
        }
    }

    /**
     * Checks the file of an option, which need not exist.
     *
     * @throws ParameterException if it is a folder, or files cannot be created in its folder
     */
    static void requireFile(CommandLine line, String option, Path file) {
        if (Files.isDirectory(file)) {
            throw wrong(line, option, file, "a file, not a folder", null);
        }
        Path folder = file.toAbsolutePath().getParent();
        try {
            probe(folder == null ? file : folder);
        } catch (IOException e) {
            throw wrong(line, option, file, "a file in a writable folder", e);
        }
    }

    /** Creates a file in a folder and deletes it, since permissions alone do not show whether files can be created. */
    private static void probe(Path folder) throws IOException {
        Files.delete(Files.createTempFile(folder, "writable", ".tmp"));
    }

    private static ParameterException wrong(
            CommandLine line, String option, Path path, String expected, @Nullable IOException cause) {
        return new ParameterException(line, option + ": " + path + "; expected " + expected, cause);
    }
}
