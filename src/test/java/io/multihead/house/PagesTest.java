package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The targets of links and anchors in pages exist, named files exist, the index lists every page, and no page is too
 * long.
 */
class PagesTest {
    private static final int PAGE_LINES = 250;
    /** The lines of a page with a task, code, its output and notes. Settings and formats belong to the reference. */
    private static final int USE_LINES = 120;

    private static final int SUMMARY_POINTS = 10;

    /** Pages of figures, promises and tables, of first steps, and of migration from other libraries. */
    private static final List<Path> WITHOUT_TASK = Stream.of(
                    "README.md",
                    "SECURITY.md",
                    "docs/start.md",
                    "docs/models.md",
                    "docs/from",
                    "docs/accuracy.md",
                    "docs/performance.md",
                    "docs/embeddings-speed.md")
            .map(Path::of)
            .toList();

    private static final Map<String, Integer> LINES = Map.of("README.md", 150, "CONTRIBUTING.md", 120);
    private static final Path INDEX = Path.of("docs/README.md");
    /** The target of a link without a scheme: a path, which is empty for this page, and an optional anchor. */
    private static final Pattern LINK = Pattern.compile("]\\((?![a-z]+:)([^)#\\s]*)(?:#([^)\\s]*))?\\)");
    /** A path of the repository within code, which ends like a file name. */
    private static final Pattern NAMED =
            Pattern.compile("`((?:src|jmh|docs|\\.ci|\\.mvn)/[\\w./-]*\\.(?:java|md|xml|js|bin|safetensors))`");
    /** A page that a comment, a script or a build file names. */
    private static final Pattern MENTION = Pattern.compile("(?<![\\w/])docs/[\\w/-]+\\.md\\b");

    /** A script, a class of the demo, or a test that a page names. */
    private static final Pattern SCRIPT = Pattern.compile("(?<![\\w/.-])(\\.ci/[a-z]+|jmh/run)\\b");

    private static final Pattern DEMO = Pattern.compile("\\bio\\.multihead\\.demo\\.([A-Z]\\w*)");
    private static final Pattern TEST = Pattern.compile("`(\\w*[a-z](?:Test|Properties|Fuzz))\\b");
    /** A method of a test that a page names. */
    private static final Pattern METHOD = Pattern.compile("`(\\w*[a-z](?:Test|Properties)\\.[a-z]\\w*)");

    @Test
    void everyLinkAndAnchorLeadsSomewhere() throws Exception {
        List<String> problems = new ArrayList<>();
        int links = 0;
        for (Path page : pages()) {
            links += brokenLinks(page, Files.readString(page), problems);
        }
        assertEquals(List.of(), problems);
        assertTrue(links > 100, "found only " + links + " links");
    }

    @Test
    void everyNamedFileExists() throws Exception {
        List<String> problems = new ArrayList<>();
        int named = 0;
        for (Path page : pages()) {
            named += missing(page, NAMED, Files.readString(page), problems);
        }
        assertTrue(named > 20, "found only " + named + " files");
        for (String root : List.of("src", "jmh/src", ".ci")) {
            for (Path file : files(Path.of(root))) {
                if (!file.endsWith("PagesTest.java")) { // it names pages that do not exist
                    missing(file, MENTION, text(file), problems);
                }
            }
        }
        missing(Path.of("pom.xml"), MENTION, text(Path.of("pom.xml")), problems);
        missing(Path.of("jmh/run"), MENTION, text(Path.of("jmh/run")), problems);
        assertEquals(List.of(), problems);
    }

    @Test
    void everyNamedScriptAndClassExists() throws Exception {
        Map<String, Path> sources = new HashMap<>();
        for (Path root : List.of(Path.of("src"), Path.of("jmh/src"))) {
            files(root).forEach(file -> sources.put(file.getFileName().toString(), file));
        }
        List<String> problems = new ArrayList<>();
        int tests = 0;
        int methods = 0;
        for (Path page : pages()) {
            String text = Files.readString(page);
            missing(page, SCRIPT, text, problems);
            unknown(page, DEMO, text, sources.keySet(), problems);
            tests += unknown(page, TEST, text, sources.keySet(), problems);
            methods += unknownMethods(page, text, sources, problems);
        }
        assertEquals(List.of(), problems);
        assertTrue(tests > 20, "found only " + tests + " tests");
        assertTrue(methods > 20, "found only " + methods + " methods");
    }

    @Test
    void noPageIsTooLong() throws Exception {
        for (Path page : pages()) {
            int lines = Files.readAllLines(page).size();
            int limit = LINES.getOrDefault(page.toString(), PAGE_LINES);
            assertTrue(lines <= limit, page + " has " + lines + " lines, budget " + limit);
        }
    }

    /** The pages of the index's first table. */
    private static List<Path> pagesToUseIt() throws IOException {
        String index = Files.readString(INDEX);
        String table = index.substring(index.indexOf("| to use it |"), index.indexOf("| reference |"));
        return LINK.matcher(table)
                .results()
                .map(link -> INDEX.resolveSibling(link.group(1)).normalize())
                .toList();
    }

    @Test
    void pagesToUseItAreShort() throws Exception {
        for (Path page : pagesToUseIt()) {
            int lines = Files.readAllLines(page).size();
            int limit = LINES.getOrDefault(page.toString(), USE_LINES);
            assertTrue(lines <= limit, page + " has " + lines + " lines, budget " + limit);
        }
        assertTrue(pagesToUseIt().size() > 10, "found only " + pagesToUseIt());
    }

    /** Pages with a task have code, and a list of three things to know. */
    @Test
    void pagesToUseItHaveCodeAndThreeThingsToKnow() throws Exception {
        int tasks = 0;
        for (Path page : pagesToUseIt()) {
            if (WITHOUT_TASK.stream().noneMatch(page::startsWith)) {
                String text = Files.readString(page);
                assertTrue(text.contains("\n```") || text.contains("\n    "), page + " has no code");
                String[] known = text.split("\n## Three things to know\n", -1);
                assertEquals(2, known.length, page + ": headings Three things to know");
                String list = known[1].split("\n## ", 2)[0];
                assertEquals(
                        3, list.lines().filter(line -> line.startsWith("- ")).count(), page + ": things to know");
                tasks++;
            }
        }
        assertTrue(tasks > 15, "found only " + tasks + " pages with tasks");
    }

    /** GitHub drops cells of a row that has more cells than the header. A bar in code also begins a cell. */
    @Test
    void rowsOfATableHaveTheSameCells() throws Exception {
        List<String> problems = new ArrayList<>();
        int rows = 0;
        for (Path page : pages()) {
            rows += unevenRows(page, Files.readString(page), problems);
        }
        assertEquals(List.of(), problems);
        assertTrue(rows > 500, "found only " + rows + " rows");
    }

    @Test
    void unevenRowsAreSeen() {
        List<String> problems = new ArrayList<>();
        String text = "| a | b |\n|---|---|\n| `x \\| y` | z |\n| `x | y` | z |\n```\n| a |\n```\n| c |\n|---|\n";
        assertEquals(6, unevenRows(Path.of("x.md"), text, problems));
        assertEquals(List.of("x.md has a row with 3 cells instead of 2: | `x | y` | z |"), problems);
    }

    /** Returns the number of rows. */
    private static int unevenRows(Path page, String text, List<String> problems) {
        int rows = 0;
        int cells = -1;
        boolean code = false;
        for (String line : text.lines().toList()) {
            code ^= line.strip().startsWith("```");
            if (code || !line.startsWith("|")) {
                cells = -1;
                continue;
            }
            int own = line.split("(?<!\\\\)\\|", -1).length - 2;
            if (cells >= 0 && own != cells) {
                problems.add(page + " has a row with " + own + " cells instead of " + cells + ": " + line);
            }
            cells = cells < 0 ? own : cells;
            rows++;
        }
        return rows;
    }

    @Test
    void experimentsBeginWithAShortSummary() throws Exception {
        int pages = 0;
        for (Path page : files(Path.of("docs/experiments"))) {
            String text = Files.readString(page);
            String summary = text.substring(text.indexOf("In short:\n"), text.indexOf("\n## "));
            long points = summary.lines().filter(line -> line.startsWith("- ")).count();
            assertTrue(points >= 1 && points <= SUMMARY_POINTS, page + " has " + points + " points");
            pages++;
        }
        assertTrue(pages > 5, "found only " + pages + " pages");
    }

    @Test
    void theIndexHasEveryPage() throws Exception {
        Set<Path> linked = new HashSet<>();
        LINK.matcher(Files.readString(INDEX))
                .results()
                .forEach(link -> linked.add(INDEX.resolveSibling(link.group(1)).normalize()));
        for (Path page : pages()) {
            boolean generated = page.startsWith("docs/performance"); // jmh/run writes these pages and the links to them
            assertTrue(generated || page.equals(INDEX) || linked.contains(page), INDEX + " does not link to " + page);
        }
    }

    @Test
    void brokenOnesAreSeen() throws Exception {
        List<String> problems = new ArrayList<>();
        Path page = Path.of("docs/x.md");
        String text = "# A b\n[x](no.md) [y](https://example.org/no) [z](#a-b) [w](#c) [v](architecture.md#packages) "
                + "[u](architecture.md#no) [t](../README.md)\n";
        assertEquals(6, brokenLinks(page, text, problems));
        assertEquals(
                List.of("docs/x.md links to no.md", "docs/x.md links to #c", "docs/x.md links to architecture.md#no"),
                problems);
        problems.clear();
        assertEquals(2, missing(page, NAMED, "`docs/no.md` `src/test/java`, `jmh/README.md`", problems));
        assertEquals(1, missing(page, MENTION, "of docs/none.md, master/docs/gguf.md", problems));
        assertEquals(List.of("docs/x.md names docs/no.md", "docs/x.md names docs/none.md"), problems);
        problems.clear();
        assertEquals(2, missing(page, SCRIPT, "    .ci/run 1\n    x/jmh/run .ci/never", problems));
        Set<String> sources = Set.of("SomeTest.java");
        assertEquals(2, unknown(page, TEST, "`SomeTest`, `NoProperties.c`", sources, problems));
        assertEquals(1, unknown(page, DEMO, "-Dstudy.main=io.multihead.demo.None", sources, problems));
        assertEquals(
                List.of("docs/x.md names .ci/never", "docs/x.md names NoProperties", "docs/x.md names None"), problems);
        problems.clear();
        Map<String, Path> own = Map.of("PagesTest.java", Path.of("src/test/java/io/multihead/house/PagesTest.java"));
        assertEquals(2, unknownMethods(page, "`PagesTest.brokenOnesAreSeen`, `PagesTest.never`", own, problems));
        assertEquals(List.of("docs/x.md names PagesTest.never"), problems);
    }

    @Test
    void anchorsAreThoseOfHeadings() {
        String text = "# One: two, `three`\n## A\n## A\n```\n# none\n```\n### [Link](x.md) & co\n#### Q_8's *end*\n";
        assertEquals(Set.of("one-two-three", "a", "a-1", "link--co", "q_8s-end"), anchors(text));
    }

    /** Returns the number of links. */
    private static int brokenLinks(Path page, String text, List<String> problems) throws IOException {
        int links = 0;
        for (var link : LINK.matcher(text).results().toList()) {
            Path target = link.group(1).isEmpty() ? page : page.resolveSibling(link.group(1));
            String anchor = link.group(2);
            boolean exists = target.equals(page) || Files.exists(target);
            if (exists && anchor != null) {
                exists = anchors(target.equals(page) ? text : Files.readString(target))
                        .contains(anchor);
            }
            if (!exists) {
                problems.add(page + " links to " + link.group(1) + (anchor == null ? "" : "#" + anchor));
            }
            links++;
        }
        return links;
    }

    /** Returns the number of named files. */
    private static int missing(Path page, Pattern pattern, String text, List<String> problems) {
        int named = 0;
        for (var match : pattern.matcher(text).results().toList()) {
            String path = match.group(match.groupCount());
            if (!Files.exists(Path.of(path))) {
                problems.add(page + " names " + path);
            }
            named++;
        }
        return named;
    }

    /** Returns the number of named classes. */
    private static int unknown(Path page, Pattern pattern, String text, Set<String> sources, List<String> problems) {
        int named = 0;
        for (var match : pattern.matcher(text).results().toList()) {
            if (!sources.contains(match.group(1) + ".java")) {
                problems.add(page + " names " + match.group(1));
            }
            named++;
        }
        return named;
    }

    /** Returns the number of named methods. */
    private static int unknownMethods(Path page, String text, Map<String, Path> sources, List<String> problems)
            throws IOException {
        int named = 0;
        for (var match : METHOD.matcher(text).results().toList()) {
            String[] method = match.group(1).split("\\.", 2);
            Path source = sources.get(method[0] + ".java");
            if (source != null && !Files.readString(source).contains(" " + method[1] + "(")) {
                problems.add(page + " names " + match.group(1));
            }
            named++;
        }
        return named;
    }

    /**
     * Returns the anchors that GitHub generates: the letters, digits, hyphens and underscores of a heading, and a
     * number if the heading is repeated.
     */
    private static Set<String> anchors(String markdown) {
        Map<String, Integer> seen = new HashMap<>();
        Set<String> anchors = new HashSet<>();
        boolean code = false;
        for (String line : markdown.lines().toList()) {
            code ^= line.strip().startsWith("```");
            if (!code && line.matches("#{1,6} .*")) {
                String text = line.replaceFirst("#+ ", "").replaceAll("]\\([^)]*\\)", "");
                String anchor = text.toLowerCase(Locale.ROOT)
                        .strip()
                        .replaceAll("[^\\p{L}\\p{N} _-]", "")
                        .replace(' ', '-');
                int count = seen.merge(anchor, 1, Integer::sum);
                anchors.add(count == 1 ? anchor : anchor + "-" + (count - 1));
            }
        }
        return anchors;
    }

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(files(Path.of("docs")));
        pages.addAll(List.of(
                Path.of("README.md"), Path.of("CONTRIBUTING.md"), Path.of("SECURITY.md"), Path.of("jmh/README.md")));
        return pages.stream()
                .filter(page -> page.toString().endsWith(".md"))
                .sorted()
                .toList();
    }

    private static List<Path> files(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> !file.toString().contains("/target/"))
                    .toList();
        }
    }

    /** Returns a file's text, empty for a file that is not text. */
    private static String text(Path file) throws IOException {
        try {
            return Files.readString(file);
        } catch (MalformedInputException e) {
            return "";
        }
    }
}
