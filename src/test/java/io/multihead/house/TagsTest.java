package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * JUnit and jqwik each read only their own tags. A class with tests of both kinds needs both tags, otherwise runs by
 * tag omit one kind.
 */
class TagsTest {
    private static final Pattern TAG = Pattern.compile(
            "^ *@((?:net\\.jqwik|org\\.junit\\.jupiter)\\.api\\.)?Tag\\(\"(\\w+)\"\\)", Pattern.MULTILINE);
    private static final Pattern PROPERTY = Pattern.compile("^ *@(Property|Example)\\b", Pattern.MULTILINE);
    private static final Pattern TEST =
            Pattern.compile("^ *@(Test|ParameterizedTest|RepeatedTest|TestFactory)\\b", Pattern.MULTILINE);
    private static final String JQWIK = "net.jqwik.api.";
    private static final String JUNIT = "org.junit.jupiter.api.";

    @Test
    void testsOfBothKindsHaveTheTag() throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                found.addAll(missing(file.getFileName().toString(), Files.readString(file)));
            }
        }
        assertEquals(List.of(), found);
    }

    @Test
    void aTagOfTheOtherKindIsFound() {
        String jqwik = "import net.jqwik.api.Tag;\n@Tag(\"lanes\")\n";
        String junit = "import org.junit.jupiter.api.Tag;\n@Tag(\"lanes\")\n";
        assertEquals(List.of("A: jqwik's Tag lanes"), missing("A", junit + " @Property void a();"));
        assertEquals(List.of("A: JUnit's Tag lanes"), missing("A", jqwik + " @Property void a();\n @Test void b();"));
        assertEquals(List.of(), missing("A", jqwik + " @Property void a();"));
        assertEquals(List.of(), missing("A", " @Property void a();\n @Test void b();"));
        String both = jqwik + "@org.junit.jupiter.api.Tag(\"lanes\")\n";
        assertEquals(List.of(), missing("A", both + " @Property void a();\n @Test void b();"));
        String more = both + "@Tag(\"bits\")\n @Property void a();\n @Test void b();";
        assertEquals(List.of("A: JUnit's Tag bits"), missing("A", more));
    }

    private static List<String> missing(String name, String code) {
        List<String> missing = new ArrayList<>();
        Set<String> jqwik = tags(code, JQWIK);
        Set<String> junit = tags(code, JUNIT);
        Set<String> all = new TreeSet<>(jqwik);
        all.addAll(junit);
        for (String tag : all) {
            if (PROPERTY.matcher(code).find() && !jqwik.contains(tag)) {
                missing.add(name + ": jqwik's Tag " + tag);
            }
            if (TEST.matcher(code).find() && !junit.contains(tag)) {
                missing.add(name + ": JUnit's Tag " + tag);
            }
        }
        return missing;
    }

    /** Returns the tags of a package, which is written before the tag or imported. */
    private static Set<String> tags(String code, String from) {
        Set<String> tags = new TreeSet<>();
        for (Matcher tag = TAG.matcher(code); tag.find(); ) {
            String own = tag.group(1);
            if (from.equals(own) || own == null && code.contains("import " + from + "Tag;")) {
                tags.add(tag.group(2));
            }
        }
        return tags;
    }
}
