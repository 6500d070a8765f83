package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The page of public types names each type once, with its package. The file docs/api.txt has the signatures of their
 * members.
 */
class PublicTypesTest {
    private static final String ROOT = "io.multihead.";
    private static final Pattern QUOTED = Pattern.compile("`([\\w.]+)`");

    @Test
    void thePageHasEachTypeOnce() throws IOException {
        List<String> types = types();
        assertTrue(types.size() > 100, "found only " + types.size());
        List<String> listed = listed(Files.readAllLines(Path.of("docs/types.md")));
        assertEquals(
                List.of(), types.stream().filter(type -> !listed.contains(type)).toList(), "not on the page");
        assertEquals(types, listed.stream().filter(types::contains).toList(), "on the page twice");
        assertEquals(
                List.of(), listed.stream().filter(type -> !types.contains(type)).toList(), "of no type");
    }

    /**
     * Releases promise that programs continue to compile and run. A change of public signatures must therefore be
     * intended.
     */
    @Test
    void signaturesAreThoseOfTheFile() throws Exception {
        List<Class<?>> types = new ArrayList<>();
        for (String type : types()) {
            types.add(Class.forName(type, false, getClass().getClassLoader()));
        }
        List<String> now = List.copyOf(Signatures.of(types));
        assertTrue(now.size() > 1000, "found only " + now.size());
        Path made = Path.of("target/api.txt");
        Files.write(made, now);
        List<String> before = Files.readAllLines(Path.of("docs/api.txt"));
        String command = "after an intended change of the public API: cp " + made + " docs/api.txt";
        assertEquals(
                List.of(), before.stream().filter(line -> !now.contains(line)).toList(), "gone; " + command);
        assertEquals(
                List.of(), now.stream().filter(line -> !before.contains(line)).toList(), "new; " + command);
        assertEquals(before, now, "in another order; " + command);
    }

    /** A difference that a program can observe results in another line. */
    @Test
    void eachPartOfASignatureIsSeen() {
        String type = Sample.class.getName().replace('$', '.');
        assertEquals(
                List.of(
                        type + ".Inner.ONE: public static final " + type + ".Inner",
                        type + ".Inner.valueOf(String): public static " + type + ".Inner",
                        type + ".Inner.values(): public static " + type + ".Inner[]",
                        type + ".Inner: protected static final enum " + type + ".Inner",
                        type + ".LIMIT: public static final int",
                        type
                                + ".apply(java.util.List<? super T>, int...): protected abstract <U extends Number> @Nullable U throws java.io.IOException",
                        type + ".close(): public void",
                        type + ".inherited(): public void",
                        type + ".new(@Nullable String): protected",
                        type + ": public abstract static class " + type + "<T> : AutoCloseable, "
                                + type.replace("Sample", "Hidden")),
                List.copyOf(Signatures.of(List.of(Sample.class))));
    }

    abstract static class Hidden {
        public void inherited() {}

        void unseen() {}
    }

    /** A type with one member of each kind. */
    public abstract static class Sample<T> extends Hidden implements AutoCloseable {
        public static final int LIMIT = 1;

        protected Sample(@Nullable String name) {
            assertEquals("", name);
        }

        protected abstract <U extends Number> @Nullable U apply(List<? super T> list, int... more) throws IOException;

        @Override
        public synchronized void close() {}

        protected enum Inner {
            ONE
        }
    }

    private static List<String> types() {
        return new ClassFileImporter()
                .importPath(Path.of("target/classes")).stream()
                        .filter(type ->
                                type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getName)
                        .filter(name -> !name.startsWith(ROOT + "internal."))
                        .sorted()
                        .toList();
    }

    @Test
    void missingAndRepeatedTypesAreSeen() {
        String head = "| type | package | for |";
        assertEquals(
                List.of("io.multihead.a.X", "io.multihead.a.X", "io.multihead.b.Y"),
                listed(List.of(
                                head,
                                "| `X`, `b.Y` | `b` | words of `Z` |",
                                "| `X` | `a` | |",
                                "`W`",
                                "| `X` | `a` | |"))
                        .stream()
                        .filter(name -> !name.equals("io.multihead.b.X"))
                        .toList());
    }

    /** Returns the types of rows, in order. The last part of a package may precede a name. */
    private static List<String> listed(List<String> lines) {
        List<String> types = new ArrayList<>();
        for (String line : lines) {
            String[] cells = line.split("\\|");
            if (cells.length > 2) {
                Matcher names = QUOTED.matcher(cells[1]);
                Stream<String> quoted = names.results().map(name -> name.group(1));
                Matcher home = QUOTED.matcher(cells[2]);
                if (home.find()) {
                    quoted.map(name -> ROOT + home.group(1) + "." + name.substring(name.lastIndexOf('.') + 1))
                            .forEach(types::add);
                }
            }
        }
        types.sort(null);
        return types;
    }
}
