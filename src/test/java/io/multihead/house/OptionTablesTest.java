package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Every row of docs/reference/layer-options.md with an option of another library names the test that checks this
 * option, and existing methods.
 */
@Execution(ExecutionMode.CONCURRENT)
class OptionTablesTest {
    private static final Path PAGE = Path.of("docs/reference/layer-options.md");
    private static final Path TESTS = Path.of("src/test/java");
    private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    /** A type and its member. Unlike a constant, a type has lower-case letters. */
    private static final Pattern MEMBER = Pattern.compile("\\b([A-Z]\\w*[a-z]\\w*)\\.(?=(\\w+))");
    /**
     * A method that is called, or a name without other text. Parameters of layers are not matched, since they have
     * underscores.
     */
    private static final Pattern METHOD = Pattern.compile("\\b([a-z][A-Za-z0-9]*)\\(|^([a-z][A-Za-z0-9]*)$");
    /** The abbreviations that the page uses. */
    private static final Map<String, String> SHORT =
            Map.of("Config", "MultiHeadConfig", "Options", "AttentionOptions", "Outputs", "AttentionOutputs");

    private static final List<JavaClass> EXPORTED = new ClassFileImporter()
            .importPath(Path.of("target/classes")).stream()
                    .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                    .filter(type -> !type.getPackageName().startsWith("io.multihead.internal"))
                    .toList();

    @Test
    void everyOfferHasItsTest() throws IOException {
        List<String> problems = new ArrayList<>();
        int rows = problems(Files.readAllLines(PAGE), problems);
        assertEquals(List.of(), problems);
        assertTrue(rows > 30, "found only " + rows + " rows with tests");
    }

    @Test
    void whatIsMissingIsSeen() throws IOException {
        List<String> problems = new ArrayList<>();
        String offers = "| a | b | c | `OptionTablesTest.everyOfferHasItsTest` |";
        String gone = "| a | b | c | `OptionTablesTest.gone` |";
        String none = "| a | b | c | |";
        String refused = "| a | not offered | c | |";
        problems(
                List.of(none, "| x | here | notes | test |", "|---|", offers, gone, none, refused, "", none), problems);
        assertEquals(List.of("no such test: " + gone, "no test: " + none), problems);
    }

    @Test
    void methodsExist() throws IOException {
        List<String> unknown = new ArrayList<>();
        int names = unknownNames(Files.readAllLines(PAGE), unknown);
        assertEquals(List.of(), unknown);
        assertTrue(names > 80, "found only " + names + " names");
    }

    @Test
    void methodsThatDoNotExistAreSeen() {
        List<String> unknown = new ArrayList<>();
        unknownNames(
                List.of(
                        "| other | here | notes |",
                        "|---|---|---|",
                        "| `f` | `forwardPacked` with offsets, `KeyValueView.packed` | `notes` |",
                        "| `f` | `KeyValueCache.Config.withRopeNone`, `Options.withScale`, `in_proj_weight` | |",
                        "| `f` | `Mask.CAUSAL.and(Mask.keyLength(lengths))`, `x.reshaped(batch)`, `Masks.and` | |",
                        "",
                        "`elsewhere`"),
                unknown);
        assertEquals(
                List.of("forwardPacked", "Config.withRopeNone", "Mask.keyLength", "keyLength", "reshaped", "Masks.and"),
                unknown);
    }

    /**
     * Collects the methods in columns headed "here" that no exported class has, and returns the number of checked
     * names.
     */
    private static int unknownNames(List<String> lines, List<String> unknown) {
        int column = -1;
        int names = 0;
        for (String line : lines) {
            String[] cells = line.split("\\|", -1);
            if (!line.startsWith("|")) {
                column = -1;
            } else if (column < 0) {
                column = Arrays.asList(cells).indexOf(" here ");
            } else {
                for (MatchResult code : CODE.matcher(cells[column]).results().toList()) {
                    names += unknownNames(code.group(1), unknown);
                }
            }
        }
        return names;
    }

    private static int unknownNames(String code, List<String> unknown) {
        int names = 0;
        for (MatchResult member : MEMBER.matcher(code).results().toList()) {
            names++;
            if (EXPORTED.stream().noneMatch(type -> has(type, member.group(1), member.group(2)))) {
                unknown.add(member.group(1) + "." + member.group(2));
            }
        }
        for (MatchResult method : METHOD.matcher(code).results().toList()) {
            names++;
            String name = method.group(1) == null ? method.group(2) : method.group(1);
            if (EXPORTED.stream().noneMatch(type -> declares(type, name))) {
                unknown.add(name);
            }
        }
        return names;
    }

    /**
     * Returns whether a class has the given name or a name with this abbreviation, and has the given member or nested
     * class.
     */
    private static boolean has(JavaClass type, String name, String member) {
        if (type.getEnclosingClass()
                        .map(JavaClass::getSimpleName)
                        .filter(name::equals)
                        .isPresent()
                && type.getSimpleName().equals(member)) {
            return true;
        }
        return (type.getSimpleName().equals(name) || type.getSimpleName().equals(SHORT.get(name)))
                && declares(type, member);
    }

    private static boolean declares(JavaClass type, String member) {
        return type.getMembers().stream()
                .filter(declared -> declared.getModifiers().contains(JavaModifier.PUBLIC))
                .map(JavaMember::getName)
                .anyMatch(member::equals);
    }

    /** Reads the tables whose last column is headed "test", and returns the number of rows that name a test. */
    private static int problems(List<String> lines, List<String> problems) throws IOException {
        boolean inside = false;
        int rows = 0;
        for (String line : lines) {
            inside = line.endsWith("| test |") || inside && line.startsWith("|");
            if (!inside || line.endsWith("| test |") || line.startsWith("|--")) {
                continue;
            }
            String[] cells = line.split("\\|", -1);
            List<MatchResult> tests =
                    TEST.matcher(cells[cells.length - 2]).results().toList();
            boolean refused = cells[2].strip().startsWith("not ");
            if (tests.isEmpty() && !refused) {
                problems.add("no test: " + line);
            }
            for (MatchResult test : tests) {
                if (!exists(test.group(1), test.group(2))) {
                    problems.add("no such test: " + line);
                }
            }
            rows += tests.isEmpty() ? 0 : 1;
        }
        return rows;
    }

    private static boolean exists(String type, String method) throws IOException {
        try (Stream<Path> files = Files.walk(TESTS)) {
            Path file = files.filter(path -> path.endsWith(type + ".java"))
                    .findFirst()
                    .orElse(null);
            return file != null && Files.readString(file).contains("    void " + method + "(");
        }
    }
}
