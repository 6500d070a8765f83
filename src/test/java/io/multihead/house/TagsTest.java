package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** JUnit reads its own tags and jqwik its own: a class with tests of both kinds needs both, else runs by tag leave one kind out. */
class TagsTest {
    private static final Pattern TAG =
            Pattern.compile("^ *@(net\\.jqwik\\.api\\.|org\\.junit\\.jupiter\\.api\\.)?Tag\\(", Pattern.MULTILINE);
    private static final Pattern PROPERTY = Pattern.compile("^ *@Property\\b", Pattern.MULTILINE);
    private static final Pattern TEST =
            Pattern.compile("^ *@(Test|ParameterizedTest|RepeatedTest)\\b", Pattern.MULTILINE);

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
        assertEquals(List.of("A: jqwik's Tag"), missing("A", junit + " @Property void a();"));
        assertEquals(List.of("A: JUnit's Tag"), missing("A", jqwik + " @Property void a();\n @Test void b();"));
        assertEquals(List.of(), missing("A", jqwik + " @Property void a();"));
        assertEquals(List.of(), missing("A", " @Property void a();\n @Test void b();"));
    }

    private static List<String> missing(String name, String code) {
        List<String> missing = new ArrayList<>();
        if (TAG.matcher(code).find()) {
            if (PROPERTY.matcher(code).find() && !code.contains("net.jqwik.api.Tag")) {
                missing.add(name + ": jqwik's Tag");
            }
            if (TEST.matcher(code).find() && !code.contains("org.junit.jupiter.api.Tag")) {
                missing.add(name + ": JUnit's Tag");
            }
        }
        return missing;
    }
}
