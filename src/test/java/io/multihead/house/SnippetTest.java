package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Every Java block of the README and the docs compiles like the code of a user of the module, and the target of every
 * relative link exists. A block is a whole file, or statements with their imports.
 */
@Execution(ExecutionMode.CONCURRENT)
class SnippetTest {
    private static final Pattern LINK = Pattern.compile("]\\((?![a-z]+:)([^)#\\s]+)[^)]*\\)");

    @TempDir
    private Path output;

    @Test
    void everySnippetCompiles() throws Exception {
        int snippets = 0;
        for (Path page : pages()) {
            for (String snippet : Snippets.of(Files.readString(page))) {
                assertEquals(List.of(), errors(snippet), page + ":\n" + snippet);
                snippets++;
            }
        }
        assertTrue(snippets > 0, "no snippet found");
    }

    @Test
    void everyLinkLeadsSomewhere() throws Exception {
        int links = 0;
        for (Path page : pages()) {
            for (String link : links(Files.readString(page))) {
                assertTrue(Files.exists(page.resolveSibling(link)), page + " links to " + link);
                links++;
            }
        }
        assertTrue(links > 0, "no link found");
    }

    @Test
    void linksAreFoundAmongOthers() {
        assertEquals(
                List.of("a.md", "b/c.md"), links("[x](a.md) [y](https://example.org/z) ![z](b/c.md#part) [w](#here)"));
    }

    @Test
    void statementsCompile() throws Exception {
        assertEquals(List.of(), errors("import io.multihead.tensor.Shape;\n\nlong n = Shape.of(2, 3).elements();\n"));
        assertEquals(List.of(), errors("import java.util.BitSet;\n\nBitSet bits = new BitSet();\nbits.set(1);\n"));
    }

    @Test
    void aWrongSnippetIsSeen() throws Exception {
        assertEquals(1, errors("public class Wrong { int x = \"text\"; }").size());
        assertEquals(1, errors("int x = \"text\";").size());
        assertEquals(
                1,
                errors("import io.multihead.tensor.Shape;\n\nvar options = Shape.absent();")
                        .size());
        assertEquals(1, errors("long n = Shape.of(2, 3).elements();").size(), "without its import");
    }

    @Test
    void aSnippetThatNeedsInternalsIsSeen() throws Exception {
        assertFalse(errors("io.multihead.internal.base.Checks.atLeast(1, 0, \"n\");")
                .isEmpty());
    }

    @Test
    void noBlockEscapes() {
        assertEquals(List.of("a\n", "b\n"), Snippets.of("x\n```java\na\n```\n```text\nb;\n```\n~~~java\nb\n~~~\n"));
        assertEquals(List.of("a\n"), Snippets.of("- item\n\n  ```java\n  a\n  ```\n"));
        assertThrows(AssertionError.class, () -> Snippets.of("```java no-compile\na\n```\n"));
        assertThrows(AssertionError.class, () -> Snippets.of("```Java\na\n```\n"));
        assertThrows(AssertionError.class, () -> Snippets.of("```java\na\n"));
    }

    private static List<String> links(String markdown) {
        return LINK.matcher(markdown).results().map(link -> link.group(1)).toList();
    }

    private List<String> errors(String snippet) throws Exception {
        return Snippets.errors(output, snippet);
    }

    private static List<Path> pages() throws Exception {
        try (Stream<Path> docs = Files.walk(Path.of("docs"))) {
            return Stream.concat(Stream.of(Path.of("README.md"), Path.of("jmh/README.md")), docs)
                    .filter(page -> page.toString().endsWith(".md") && Files.exists(page))
                    .sorted()
                    .toList();
        }
    }
}
