package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.LineMap;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.lang.model.element.Modifier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The size budget: files of at most 500 lines, methods of 60 lines (kernels 100), and 6 parameters of public methods
 * (tests 10). Any method of an internal package may have 10 parameters.
 */
@Execution(ExecutionMode.CONCURRENT)
class BudgetTest {
    private static final int FILE_LINES = 500;
    private static final String KERNELS = "src/main/java/io/multihead/internal/kernel/";
    /** Classes in this folder and in tests are public for other packages, not for users. */
    private static final String INTERNAL = "src/main/java/io/multihead/internal/";

    private static final String TESTS = "src/test/java/";

    private static final List<Path> ROOTS = List.of(
            Path.of("src/main/java"),
            Path.of("src/main/module"),
            Path.of("src/demo/java"),
            Path.of("src/test/java"),
            Path.of("jmh/src"),
            Path.of("src/it"),
            Path.of(".ci/consumer"));

    @Test
    void everythingFitsItsBudget() {
        List<String> over = new ArrayList<>();
        int files = 0;
        for (Path root : ROOTS) {
            for (Sources.Parsed source : Sources.below(root)) {
                over.addAll(measure(source));
                files++;
            }
        }
        assertTrue(files > 50, "read only " + files + " files");
        assertEquals(List.of(), over);
    }

    @Test
    void aLongFileIsSeen() {
        String lines = "class A {\n" + "\n".repeat(498);
        assertEquals(List.of(), measure("A.java", lines + "}\n"));
        assertEquals(List.of("A.java: 501 lines, budget 500"), measure("A.java", lines + "\n}\n"));
        assertEquals(List.of("A.java: 501 lines, budget 500"), measure("A.java", lines + "\n}"));
    }

    @Test
    void aLongMethodIsSeen() {
        String code = "class A { void a() {" + "\n;".repeat(59) + "} }";
        assertEquals(List.of(), measure("A.java", code));
        assertEquals(List.of("A.java: a has 61 lines, budget 60"), measure("A.java", code.replace("{\n", "{\n\n")));
        String nested = "class A { Runnable r = new Runnable() { public void run() {" + "\n;".repeat(60) + "} }; }";
        assertEquals(List.of("A.java: run has 61 lines, budget 60"), measure("A.java", nested));
        String kernel = "class A { void a() {" + "\n;".repeat(100) + "} }";
        assertEquals(List.of(KERNELS + "A.java: a has 101 lines, budget 100"), measure(KERNELS + "A.java", kernel));
        assertEquals(List.of(), measure(KERNELS + "A.java", kernel.replaceFirst("\n;", "")));
    }

    @Test
    void wideSignaturesAreSeen() {
        String seven = "(int a, int b, int c, int d, int e, int f, int g)";
        List<String> method = List.of("A.java: wide has 7 parameters, budget 6");
        assertEquals(method, measure("A.java", "class A { public void wide" + seven + " {} }"));
        assertEquals(method, measure("A.java", "interface A { void wide" + seven + "; }"));
        assertEquals(
                List.of("A.java: A has 7 parameters, budget 6"), measure("A.java", "public record A" + seven + " {}"));
        assertEquals(List.of(), measure("A.java", "record A" + seven + " {}"));
        assertEquals(
                List.of("A.java: <init> has 7 parameters, budget 6"),
                measure("A.java", "class A { public A" + seven + " {} }"));
        assertEquals(List.of(), measure("A.java", "class A { void wide" + seven + " {} }"));
        assertEquals(List.of(), measure(KERNELS + "A.java", "class A { public void wide" + seven + " {} }"));
        assertEquals(List.of(), measure(INTERNAL + "a/A.java", "class A { public void wide" + seven + " {} }"));
        assertEquals(List.of(), measure(TESTS + "A.java", "class A { public void wide" + seven + " {} }"));
        String eleven = seven.replace(")", ", int h, int i, int j, int k)");
        assertEquals(
                List.of(KERNELS + "A.java: wide has 11 parameters, budget 10"),
                measure(KERNELS + "A.java", "class A { void wide" + eleven + " {} }"));
        assertEquals(
                List.of(INTERNAL + "a/A.java: wide has 11 parameters, budget 10"),
                measure(INTERNAL + "a/A.java", "class A { private void wide" + eleven + " {} }"));
    }

    @Test
    void whatCannotBeReadIsNoPass() {
        assertThrows(AssertionError.class, () -> measure("A.java", "class A { void a( {} }"));
    }

    private static List<String> measure(String name, String code) {
        return measure(Sources.parse(name, code));
    }

    private static List<String> measure(Sources.Parsed source) {
        List<String> over = new ArrayList<>();
        long lines = source.code().lines().count();
        if (lines > FILE_LINES) {
            over.add(source.name() + ": " + lines + " lines, budget " + FILE_LINES);
        }
        new Methods(source, over).scan(source.unit(), false);
        return over;
    }

    /** Measures every method. The argument of the scan tells whether members are public without a modifier. */
    private static final class Methods extends TreeScanner<Void, Boolean> {
        private final Sources.Parsed source;
        private final boolean kernel;
        private final boolean internal;
        private final int parameters;
        private final List<String> over;

        Methods(Sources.Parsed source, List<String> over) {
            this.source = source;
            this.kernel = source.name().startsWith(KERNELS);
            this.internal = source.name().startsWith(INTERNAL);
            this.parameters = internal || source.name().startsWith(TESTS) ? 10 : 6;
            this.over = over;
        }

        @Override
        public Void visitClass(ClassTree type, Boolean ignored) {
            if (type.getKind() == Tree.Kind.RECORD
                    && type.getModifiers().getFlags().contains(Modifier.PUBLIC)) {
                long components = type.getMembers().stream()
                        .filter(VariableTree.class::isInstance)
                        .map(member -> ((VariableTree) member).getModifiers().getFlags())
                        .filter(flags -> !flags.contains(Modifier.STATIC))
                        .count();
                check(type.getSimpleName().toString(), "parameters", components, parameters);
            }
            boolean open =
                    Set.of(Tree.Kind.INTERFACE, Tree.Kind.ANNOTATION_TYPE).contains(type.getKind());
            return super.visitClass(type, open);
        }

        @Override
        public Void visitMethod(MethodTree method, Boolean open) {
            LineMap map = source.unit().getLineMap();
            SourcePositions positions = source.trees().getSourcePositions();
            long lines = map.getLineNumber(positions.getEndPosition(source.unit(), method))
                    - map.getLineNumber(positions.getStartPosition(source.unit(), method))
                    + 1;
            String name = method.getName().toString();
            check(name, "lines", lines, kernel ? 100 : 60);
            Set<Modifier> flags = method.getModifiers().getFlags();
            if (internal || flags.contains(Modifier.PUBLIC) || open && !flags.contains(Modifier.PRIVATE)) {
                check(name, "parameters", method.getParameters().size(), parameters);
            }
            return super.visitMethod(method, open);
        }

        private void check(String name, String what, long actual, int budget) {
            if (actual > budget) {
                over.add(source.name() + ": " + name + " has " + actual + " " + what + ", budget " + budget);
            }
        }
    }
}
