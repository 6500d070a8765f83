package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.LineMap;
import com.sun.source.tree.MethodTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;

/** The size budget: files of 400 lines, methods of 60 (kernels 100), 6 public parameters (kernels 10). */
class BudgetTest {
    private static final int FILE_LINES = 400;
    private static final List<Path> ROOTS =
            List.of(Path.of("src/main/java"), Path.of("src/demo/java"), Path.of("src/test/java"), Path.of("jmh/src"));

    @Test
    void everythingFitsItsBudget() {
        List<String> over = new ArrayList<>();
        List<Path> sources = sources();
        assertTrue(sources.size() > 50, "read only " + sources.size() + " files");
        for (Path source : sources) {
            over.addAll(measure(source.toString(), read(source)));
        }
        assertEquals(List.of(), over);
    }

    @Test
    void theBudgetCanBeExceeded() {
        String body = "\n;".repeat(61);
        String code = "class A { void longOne() {" + body
                + "}\n public void wide(int a, int b, int c, int d, int e, int f, int g) {} }";
        assertEquals(
                List.of("A.java: longOne has 62 lines, budget 60", "A.java: wide has 7 parameters, budget 6"),
                measure("A.java", code));
        assertEquals(1, measure("B.java", "class B {}" + "\n".repeat(400)).size());
        assertEquals(
                List.of(),
                measure(
                        "src/main/java/io/multihead/internal/kernel/C.java",
                        "class C { void longOne() {" + body + "} }"));
    }

    private static List<String> measure(String name, String code) {
        List<String> over = new ArrayList<>();
        long lines = code.chars().filter(c -> c == '\n').count();
        if (lines >= FILE_LINES) {
            over.add(name + ": " + lines + " lines, budget " + FILE_LINES);
        }
        boolean kernel = name.contains("internal/kernel/");
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavacTask task = (JavacTask) compiler.getTask(null, null, d -> {}, null, null, List.of(new Source(name, code)));
        try {
            SourcePositions positions = Trees.instance(task).getSourcePositions();
            for (CompilationUnitTree unit : task.parse()) {
                unit.accept(new Methods(unit, positions, kernel, name, over), null);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return over;
    }

    private static final class Methods extends TreeScanner<Void, Void> {
        private final CompilationUnitTree unit;
        private final SourcePositions positions;
        private final boolean kernel;
        private final String file;
        private final List<String> over;

        Methods(CompilationUnitTree unit, SourcePositions positions, boolean kernel, String file, List<String> over) {
            this.unit = unit;
            this.positions = positions;
            this.kernel = kernel;
            this.file = file;
            this.over = over;
        }

        @Override
        public Void visitMethod(MethodTree method, Void unused) {
            LineMap map = unit.getLineMap();
            long lines = map.getLineNumber(positions.getEndPosition(unit, method))
                    - map.getLineNumber(positions.getStartPosition(unit, method))
                    + 1;
            int allowed = kernel ? 100 : 60;
            if (lines > allowed) {
                over.add(file + ": " + method.getName() + " has " + lines + " lines, budget " + allowed);
            }
            int parameters = method.getParameters().size();
            boolean open = method.getModifiers().getFlags().contains(Modifier.PUBLIC);
            int most = kernel ? 10 : 6;
            if ((open || kernel) && parameters > most) {
                over.add(file + ": " + method.getName() + " has " + parameters + " parameters, budget " + most);
            }
            return super.visitMethod(method, unused);
        }
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String code;

        Source(String name, String code) {
            super(URI.create("string:///" + name), JavaFileObject.Kind.SOURCE);
            this.code = code;
        }

        @Override
        public CharSequence getCharContent(boolean ignored) {
            return code;
        }
    }

    private static List<Path> sources() {
        List<Path> sources = new ArrayList<>();
        for (Path root : ROOTS) {
            if (Files.isDirectory(root)) {
                try (Stream<Path> files = Files.walk(root)) {
                    files.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
        return sources;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
