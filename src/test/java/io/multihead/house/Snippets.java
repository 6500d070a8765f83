package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.langchain4j.model.embedding.EmbeddingModel;
import java.io.File;
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

/**
 * Blocks of Java of a page, which are whole files, or statements with their imports. They are compiled like the code of
 * a user of the module.
 */
final class Snippets {
    /** The class around statements, with the method {@code run}. */
    static final String STATEMENTS = "Statements";

    private static final Path MODULE = Path.of("target/classes");
    private static final Pattern TYPE =
            Pattern.compile("(?m)^(?:public |final )*(?:class|record|interface|enum) (\\w+)");

    private Snippets() {}

    /** Returns the name of a block's first class. */
    static String name(String snippet) {
        var type = TYPE.matcher(snippet);
        return type.find() ? type.group(1) : STATEMENTS;
    }

    /** Returns the blocks of Java of a page. */
    static List<String> of(String markdown) {
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

    /**
     * Returns the errors of the compiler, which writes the classes to the folder {@code output}. A snippet may use the
     * classes in this folder.
     */
    static List<String> errors(Path output, String snippet) throws Exception {
        String name = name(snippet);
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        // without this class path, javac would use the class path of this JVM, where internal classes are visible
        String path = MODULE + File.pathSeparator + langchain4j();
        List<String> options = Stream.of(
                        "-d", output, "-cp", output, "-p", path, "--add-modules", "io.multihead,langchain4j.core")
                .map(Object::toString)
                .toList();
        var source = Sources.of(name + ".java", name.equals(STATEMENTS) ? wrap(snippet) : snippet);
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

    /** Returns a file of statements: the imports, and a method around the other lines. */
    private static String wrap(String statements) {
        String imports =
                statements.lines().filter(line -> line.startsWith("import ")).collect(Collectors.joining("\n"));
        String rest =
                statements.lines().filter(line -> !line.startsWith("import ")).collect(Collectors.joining("\n"));
        return imports + "\nclass " + STATEMENTS + " {\n    void run() throws java.io.IOException {\n" + rest
                + "\n    }\n}\n";
    }
}
