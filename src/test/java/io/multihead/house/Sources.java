package io.multihead.house;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Java source files and what the compiler's parser makes of them. */
final class Sources {
    private Sources() {}

    /**
     * A file with its syntax tree.
     *
     * @param name its path, with slashes
     * @param code its text
     * @param unit its tree
     * @param trees finds positions in the tree
     */
    record Parsed(String name, String code, CompilationUnitTree unit, Trees trees) {}

    /** Parses one file; a syntax error fails, since a tree with errors hides methods. */
    static Parsed parse(String name, String code) {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        JavacTask task = (JavacTask) ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, found, List.of("-proc:none"), null, List.of(of(name, code)));
        try {
            CompilationUnitTree unit = task.parse().iterator().next();
            for (Diagnostic<?> diagnostic : found.getDiagnostics()) {
                if (diagnostic.getKind() == Diagnostic.Kind.ERROR) {
                    throw new AssertionError(name + ": " + diagnostic);
                }
            }
            return new Parsed(name, code, unit, Trees.instance(task));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Every Java file below a directory; none if there is no such directory. */
    static List<Parsed> below(Path directory) {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .sorted()
                    .map(file -> parse(file.toString().replace('\\', '/'), read(file)))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Source code in memory. */
    static JavaFileObject of(String name, String code) {
        return new SimpleJavaFileObject(URI.create("string:///" + name), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignored) {
                return code;
            }
        };
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
