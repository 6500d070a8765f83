package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every row of docs/layer-options.md that offers an option of another suite names the test that holds it. */
class OptionTablesTest {
    private static final Path PAGE = Path.of("docs/layer-options.md");
    private static final Path TESTS = Path.of("src/test/java");
    private static final Pattern TEST = Pattern.compile("`(\\w+)\\.(\\w+)`");

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

    /** Reads the tables whose last column is headed "test"; returns how many of their rows name one. */
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
