package io.multihead.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The folder of a command's results, which are written at the end of minutes of work. */
final class OutputFolder {
    private OutputFolder() {}

    /**
     * Creates a file in a folder and deletes it, since permissions alone do not show whether files can be created.
     *
     * @throws IOException if the folder does not exist, or files cannot be created in it
     */
    static void requireWritable(Path folder) throws IOException {
        try {
            Files.delete(Files.createTempFile(folder, "writable", ".tmp"));
        } catch (IOException e) {
            throw new IOException(folder + ": no file can be created; expected a folder that can be written to", e);
        }
    }
}
