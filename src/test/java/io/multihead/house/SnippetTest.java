package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.langchain4j.model.embedding.EmbeddingModel;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Every Java block of the README and the docs compiles, as a user of the module would compile it, and every relative link
 * leads somewhere. A block is a whole file, or statements with their imports.
 */
@Execution(ExecutionMode.CONCURRENT)
class SnippetTest {
    private static final Path MODULE = Path.of("target/classes");
    private static final Pattern TYPE =
            Pattern.compile("(?m)^(?:public |final )*(?:class|record|interface|enum) (\\w+)");
    private static final Pattern LINK = Pattern.compile("]\\((?![a-z]+:)([^)#\\s]+)[^)]*\\)");

    @TempDir
    private Path output;

    @Test
    void everySnippetCompiles() throws Exception {
        int snippets = 0;
        for (Path page : pages()) {
            for (String snippet : snippets(Files.readString(page))) {
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
        assertEquals(List.of("a\n", "b\n"), snippets("x\n```java\na\n```\n```text\nb;\n```\n~~~java\nb\n~~~\n"));
        assertEquals(List.of("a\n"), snippets("- item\n\n  ```java\n  a\n  ```\n"));
        assertThrows(AssertionError.class, () -> snippets("```java no-compile\na\n```\n"));
        assertThrows(AssertionError.class, () -> snippets("```Java\na\n```\n"));
        assertThrows(AssertionError.class, () -> snippets("```java\na\n"));
    }

    private static List<String> links(String markdown) {
        return LINK.matcher(markdown).results().map(link -> link.group(1)).toList();
    }

    private static List<String> snippets(String markdown) {
        List<String> found = new ArrayList<>();
        StringBuilder block = null;
        String fence = null;
        boolean java = false;
        for (String line : markdown.lines().toList()) {
            String text = line.strip();
            if (fence != null && text.equals(fence)) {
                if (java) {
                    found.add(block.toString().stripTrailing().stripIndent() + "\n");
                }
                fence = null;
            } else if (fence != null) {
                block.append(line).append('\n');
            } else if (text.startsWith("```") || text.startsWith("~~~")) {
                fence = text.substring(0, 3);
                String language = text.substring(3);
                java = language.equals("java");
                boolean hidden =
                        !java && language.strip().toLowerCase(Locale.ROOT).matches("java\\b.*");
                assertFalse(hidden, "a block is either java, which is compiled, or text: " + text);
                block = new StringBuilder();
            }
        }
        assertEquals(null, fence, "a block does not end");
        return found;
    }

    private List<String> errors(String snippet) throws Exception {
        var type = TYPE.matcher(snippet);
        boolean whole = type.find();
        String name = whole ? type.group(1) : "Statements";
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        // without a class path of its own, javac would take this JVM's, where nothing is hidden
        String path = MODULE + File.pathSeparator + langchain4j();
        List<String> options = Stream.of(
                        "-d", output, "-cp", output, "-p", path, "--add-modules", "io.multihead,langchain4j.core")
                .map(Object::toString)
                .toList();
        var source = Sources.of(name + ".java", whole ? snippet : wrap(snippet));
        ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, found, options, null, List.of(source))
                .call();
        return found.getDiagnostics().stream()
                .filter(d -> d.getKind() == Diagnostic.Kind.ERROR)
                .map(d -> d.getMessage(null))
                .toList();
    }

    /** The optional dependency, which the users of its package have. */
    private static Path langchain4j() throws Exception {
        return Path.of(EmbeddingModel.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    }

    /** Statements as a file: the imports, and a method around the rest. */
    private static String wrap(String statements) {
        String imports =
                statements.lines().filter(line -> line.startsWith("import ")).collect(Collectors.joining("\n"));
        String rest =
                statements.lines().filter(line -> !line.startsWith("import ")).collect(Collectors.joining("\n"));
        return imports + "\nclass Statements {\n    void run() throws java.io.IOException {\n" + rest + "\n    }\n}\n";
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
