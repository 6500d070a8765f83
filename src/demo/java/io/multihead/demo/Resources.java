package io.multihead.demo;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** Reads texts of the demos in {@code src/demo/resources}. */
public final class Resources {
    private Resources() {}

    /**
     * Returns a whole text.
     *
     * @param name path on the class path, which begins with a slash
     */
    public static String text(String name) throws IOException {
        try (InputStream stream = Resources.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new FileNotFoundException(
                        name.substring(1) + " is not on the class path; expected src/demo/resources there");
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
