import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.FormatterException;
import com.palantir.javaformat.java.ImportOrderer;
import com.palantir.javaformat.java.JavaFormatterOptions;
import com.palantir.javaformat.java.RemoveUnusedImports;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Checks or applies palantir-java-format. The build runs this file with JDK 25, as the formatter parses with the JDK that runs
 * it, and Maven itself may run on an older one.
 */
public final class Format {
    private static final List<String> FOLDERS = List.of("src", "jmh/src", ".ci");

    private Format() {}

    /**
     * Formats all sources, or ends with 1 if some are not formatted.
     *
     * @param arguments {@code check} or {@code apply}, and a file that remembers the hashes of formatted sources
     */
    public static void main(String[] arguments) throws IOException {
        boolean apply = arguments[0].equals("apply");
        if (!apply && !arguments[0].equals("check")) {
            throw new IllegalArgumentException("format: " + arguments[0] + "; expected check or apply");
        }
        Path memory = Path.of(arguments[1]);
        Set<String> known = Files.exists(memory) ? new TreeSet<>(Files.readAllLines(memory)) : Set.of();
        Set<String> formatted = new TreeSet<>();
        Formatter formatter = Formatter.createFormatter(JavaFormatterOptions.builder()
                .style(JavaFormatterOptions.Style.PALANTIR)
                .build());
        int failures = 0;
        for (Path file : sources()) {
            String source = Files.readString(file);
            String hash = hash(source);
            if (known.contains(hash)) {
                formatted.add(hash);
                continue;
            }
            try {
                String wanted = formatter.formatSource(imports(source));
                if (wanted.equals(source) || apply) {
                    formatted.add(hash(wanted));
                } else {
                    failures++;
                    System.err.println(
                            file + ": not formatted; expected the result of mvn process-sources -Dformat=apply");
                }
                if (apply && !wanted.equals(source)) {
                    Files.writeString(file, wanted);
                }
            } catch (FormatterException e) {
                failures++;
                System.err.println(file + ": " + e.getMessage());
            }
        }
        Files.createDirectories(memory.getParent());
        Files.write(memory, formatted);
        System.exit(failures == 0 ? 0 : 1);
    }

    /** Sorts imports and removes those that are not used; long strings keep their lines. */
    private static String imports(String source) throws FormatterException {
        return RemoveUnusedImports.removeUnusedImports(
                ImportOrderer.reorderImports(source, JavaFormatterOptions.Style.PALANTIR));
    }

    private static List<Path> sources() throws IOException {
        Set<Path> sources = new TreeSet<>();
        for (String folder : FOLDERS) {
            try (Stream<Path> files = Files.walk(Path.of(folder))) {
                files.filter(file -> file.toString().endsWith(".java") && !generated(file))
                        .forEach(sources::add);
            }
        }
        return List.copyOf(sources);
    }

    private static boolean generated(Path file) {
        return StreamSupport.stream(file.spliterator(), false)
                .anyMatch(name -> name.toString().equals("target"));
    }

    private static String hash(String source) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            return HexFormat.of().formatHex(digest.digest(source.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }
}
