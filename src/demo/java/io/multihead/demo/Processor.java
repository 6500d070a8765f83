package io.multihead.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The processor on which times were measured. */
final class Processor {
    private Processor() {}

    /** Returns the name of the processor on Linux, and its architecture on other systems. */
    static String name() {
        String architecture = System.getProperty("os.arch");
        Path file = Path.of("/proc/cpuinfo");
        if (!Files.isReadable(file)) {
            return architecture;
        }
        try {
            return Files.readAllLines(file).stream()
                    .filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(architecture);
        } catch (IOException e) {
            return architecture;
        }
    }
}
