import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.FormatterException;
import com.palantir.javaformat.java.ImportOrderer;
import com.palantir.javaformat.java.JavaFormatterOptions;
import com.palantir.javaformat.java.RemoveUnusedImports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Checks or applies palantir-java-format. The build runs this file with JDK 25, because the formatter uses the parser of its JDK, and
 * Maven itself may run on an older JDK.
 */
public final class Format {
    private static final List<String> FOLDERS = List.of("src", "jmh/src", ".ci");

    private final Formatter formatter = Formatter.createFormatter(JavaFormatterOptions.builder()
            .style(JavaFormatterOptions.Style.PALANTIR)
            .build());
    private final boolean apply;
    private final Set<String> known;
    private final Set<String> formatted = new ConcurrentSkipListSet<>();

    private Format(boolean apply, Set<String> known) {
        this.apply = apply;
        this.known = known;
    }

    /**
     * Formats all sources, or ends with 1 if some are not formatted.
     *
     * @param arguments {@code check} or {@code apply}, and a file for the hashes of formatted sources
     */
    public static void main(String[] arguments) throws IOException {
        boolean apply = arguments[0].equals("apply");
        if (!apply && !arguments[0].equals("check")) {
            throw new IllegalArgumentException("format: " + arguments[0] + "; expected check or apply");
        }
        Path memory = Path.of(arguments[1]);
        Format format = new Format(apply, Files.exists(memory) ? Set.copyOf(Files.readAllLines(memory)) : Set.of());
        // in parallel, since a new clone has more than a thousand files, and the rest of the build waits for this check
        List<String> failures =
                sources().parallelStream().flatMap(format::failure).toList();
        failures.forEach(System.err::println);
        Files.createDirectories(memory.getParent());
        Files.write(memory, format.formatted);
        System.exit(failures.isEmpty() ? 0 : 1);
    }

    /** Formats a file unless its hash is known, and returns the fault, if any. */
    private Stream<String> failure(Path file) {
        try {
            String source = Files.readString(file);
            String hash = hash(source);
            if (known.contains(hash)) {
                formatted.add(hash);
                return Stream.empty();
            }
            String wanted = formatter.formatSource(imports(source));
            if (!wanted.equals(source) && !apply) {
                return Stream.of(file + ": not formatted; expected the result of mvn process-sources -Dformat=apply");
            }
            formatted.add(hash(wanted));
            if (!wanted.equals(source)) {
                Files.writeString(file, wanted);
            }
            return Stream.empty();
        } catch (FormatterException e) {
            return Stream.of(file + ": " + e.getMessage());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sorts imports and removes unused imports. Long strings keep their lines. */
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
