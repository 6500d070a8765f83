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
import org.junit.jupiter.api.Test;

/** The page of public types names each of them once, with its package. */
class PublicTypesTest {
    private static final String ROOT = "io.multihead.";
    private static final Pattern QUOTED = Pattern.compile("`([\\w.]+)`");

    @Test
    void thePageHasEachTypeOnce() throws IOException {
        List<String> types = new ClassFileImporter()
                .importPath(Path.of("target/classes")).stream()
                        .filter(type ->
                                type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getName)
                        .filter(name -> !name.startsWith(ROOT + "internal."))
                        .sorted()
                        .toList();
        assertTrue(types.size() > 100, "found only " + types.size());
        List<String> listed = listed(Files.readAllLines(Path.of("docs/types.md")));
        assertEquals(
                List.of(), types.stream().filter(type -> !listed.contains(type)).toList(), "not on the page");
        assertEquals(types, listed.stream().filter(types::contains).toList(), "on the page twice");
        assertEquals(
                List.of(), listed.stream().filter(type -> !types.contains(type)).toList(), "of no type");
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

    /** Returns the types of rows, in order; the last part of a package may stand before a name. */
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
