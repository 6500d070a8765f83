package io.multihead.house;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** Java source files and the syntax trees of the compiler's parser. */
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

    /** Parses one file. A syntax error is a failure, since a tree with errors hides methods. */
    static Parsed parse(String name, String code) {
        return parse(List.of(name), List.of(code)).getFirst();
    }

    /** Parses all files with one compiler, since each new compiler takes several milliseconds to start. */
    private static List<Parsed> parse(List<String> names, List<String> codes) {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<JavaFileObject> files = IntStream.range(0, names.size())
                .mapToObj(i -> of(names.get(i), codes.get(i)))
                .toList();
        JavacTask task = (JavacTask)
                ToolProvider.getSystemJavaCompiler().getTask(null, null, found, List.of("-proc:none"), null, files);
        try {
            List<Parsed> parsed = new ArrayList<>();
            for (CompilationUnitTree unit : task.parse()) {
                int file = names.indexOf(unit.getSourceFile().toUri().getPath().substring(1));
                parsed.add(new Parsed(names.get(file), codes.get(file), unit, Trees.instance(task)));
            }
            for (Diagnostic<?> diagnostic : found.getDiagnostics()) {
                if (diagnostic.getKind() == Diagnostic.Kind.ERROR) {
                    throw new AssertionError(diagnostic.toString());
                }
            }
            return parsed;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns every Java file below a directory, and none if the directory does not exist. */
    static List<Parsed> below(Path directory) {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(directory)) {
            List<Path> sources = files.filter(file -> file.toString().endsWith(".java"))
                    .sorted()
                    .toList();
            List<String> names = sources.stream()
                    .map(file -> file.toString().replace('\\', '/'))
                    .toList();
            return parse(names, sources.stream().map(Sources::read).toList());
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
