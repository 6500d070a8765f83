package io.multihead.demo;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The arguments of a program as the user wrote them. If the locale has another encoding than UTF-8, as with
 * {@code LC_ALL=C}, the JVM decodes other characters. Linux provides the bytes of the arguments.
 */
final class Arguments {
    private static final Path COMMAND_LINE = Path.of("/proc/self/cmdline");

    private Arguments() {}

    /**
     * Returns the arguments decoded as UTF-8, or reports to {@code warnings} that they were decoded in another
     * encoding.
     */
    static String[] asGiven(String[] arguments, PrintWriter warnings) {
        String encoding = System.getProperty("sun.jnu.encoding", "");
        if (encoding.equals("UTF-8") || arguments.length == 0) {
            return arguments;
        }
        try {
            return ofCommandLine(Files.readAllBytes(COMMAND_LINE), arguments);
        } catch (IOException | IllegalArgumentException unknown) {
            warnings.println(
                    "warning: arguments were read in the locale's encoding, " + encoding
                            + "; characters outside of this encoding are lost. A locale with UTF-8 keeps them, such as LC_ALL=C.UTF-8");
            return arguments;
        }
    }

    /**
     * Returns the last arguments of a command line in which each argument ends with a byte of 0.
     *
     * @param read the arguments as the JVM has decoded them, which is correct if all characters are ASCII
     * @throws CharacterCodingException if they are not in UTF-8
     * @throws IllegalArgumentException if they differ from the arguments that the JVM has read
     */
    static String[] ofCommandLine(byte[] commandLine, String... read) throws CharacterCodingException {
        List<String> all = new ArrayList<>();
        int start = 0;
        for (int i = 0; i < commandLine.length; i++) {
            if (commandLine[i] == 0) {
                ByteBuffer bytes = ByteBuffer.wrap(commandLine, start, i - start);
                all.add(StandardCharsets.UTF_8.newDecoder().decode(bytes).toString());
                start = i + 1;
            }
        }
        if (all.size() < read.length) {
            throw new IllegalArgumentException("command line: " + all.size() + " arguments; expected " + read.length);
        }
        String[] given = all.subList(all.size() - read.length, all.size()).toArray(String[]::new);
        for (int i = 0; i < read.length; i++) {
            if (isAscii(given[i]) && !given[i].equals(read[i])) {
                throw new IllegalArgumentException(
                        "command line: " + Arrays.toString(given) + "; expected " + Arrays.toString(read));
            }
        }
        return given;
    }

    private static boolean isAscii(String text) {
        return text.chars().allMatch(c -> c < 128);
    }
}
