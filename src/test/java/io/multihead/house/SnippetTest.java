package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every Java class in the README and the docs compiles. */
class SnippetTest {
    private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
    private static final Pattern CLASS = Pattern.compile("public (?:final )?class (\\w+)");

    @TempDir
    private Path output;

    @Test
    void everySnippetCompiles() throws Exception {
        List<String> snippets = new ArrayList<>();
        for (Path page : pages()) {
            BLOCK.matcher(Files.readString(page)).results().forEach(block -> snippets.add(block.group(1)));
        }
        assertTrue(snippets.size() >= 1, "no snippet found");
        for (String snippet : snippets) {
            assertEquals(List.of(), errors(snippet), snippet);
        }
    }

    @Test
    void aWrongSnippetIsSeen() {
        assertEquals(1, errors("public class Wrong { int x = \"text\"; }").size());
    }

    private List<String> errors(String code) {
        var name = CLASS.matcher(code);
        assertTrue(name.find(), "a snippet is a whole public class: " + code);
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        List<String> options =
                List.of("-d", output.toString(), "-cp", System.getProperty("java.class.path"), "-proc:none");
        JavaFileObject source =
                new SimpleJavaFileObject(
                        java.net.URI.create("string:///" + name.group(1) + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignored) {
                        return code;
                    }
                };
        ToolProvider.getSystemJavaCompiler()
                .getTask(null, null, found, options, null, List.of(source))
                .call();
        return found.getDiagnostics().stream()
                .filter(d -> d.getKind() == Diagnostic.Kind.ERROR)
                .map(d -> d.getMessage(null))
                .toList();
    }

    private static List<Path> pages() throws Exception {
        try (Stream<Path> docs = Files.walk(Path.of("docs"))) {
            return Stream.concat(Stream.of(Path.of("README.md"), Path.of("jmh/README.md")), docs)
                    .filter(page -> page.toString().endsWith(".md"))
                    .toList();
        }
    }
}
