package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Pages and the Javadoc of public types have American spelling and the field's terms, and nouns instead of pronouns and
 * clauses with "what". Other comments and scripts also have none of these clauses and idioms.
 */
class EnglishTest {
    private static final Path MAIN = Path.of("src/main/java/io/multihead");

    /** Words that have another spelling in American English. */
    private static final Pattern BRITISH =
            Pattern.compile("(?i)\\b(?:(?:de|re|un)?(?:normal|quant|recogn|initial|optim|serial|"
                    + "general|summar|organ|special|minim|maxim|stabil|vector|token|random|parallel|material|synchron|visual)"
                    + "is(?:e|ed|es|ing|ation|ations|er|ers)|(?:neighbour|colour|behaviour|favour|honour|artefact|labelled)\\w*|"
                    + "licence|analyse|spelt)\\b");
    /**
     * British spelling within names of code. A string may begin with it, like names in stored files and in the JSON of
     * tests.
     */
    private static final Pattern BRITISH_NAMES = Pattern.compile(
            "(?i)(?<!\" ?)(?:(?:normal|quant|recogn|initial|optim|serial|general|minim|maxim|stabil|vector|token|random|"
                    + "parallel|material|synchron|special|penal|capital)is(?:e|ing|ation)|"
                    + "neighbour|colour|behaviour|favour|honour|artefact|labelled(?!by)|centred|licence)");
    /** Clauses and pronouns in place of a noun. */
    private static final Pattern VAGUE = Pattern.compile("(?i)\\bwhat\\b|\\b(?:that|those) of\\b");

    /**
     * Phrases with a plainer form: an ellipsis, a pronoun or an idiom in place of the subject, the noun or the usual word, such as separate,
     * instead of, whatever it contains, unchanged, differs, except, by, omitted, malformed, truncated, requested, new and per.
     */
    private static final Pattern IDIOM = Pattern.compile("(?i)\\b(?:"
            + "(?<!there )(?:is|are) no (?:whole|multiple|probability|normal|integer|string|array|number|row)\\b"
            + "|of (?:its|their|his) own(?=[.,;:)])|in the place of|takes? the place of"
            + "|for any content|stays? (?:the caller's|as it is)|as it was\\b"
            + "|there twice|more or fewer|whose these are|which of the \\w+ are whose"
            + "|no longer|any ?more|to be had|in the making|for good\\b|as they are(?=[.,;)])"
            + "|outside of|but for\\b|multiplied with (?:a|the|its|one)|left out|leaves? out"
            + "|broken calls?|cut off|asked for|goes on\\b|fresh (?:f32|JVMs?)|says so"
            + "|(?:tokens|ns|cycles) an? (?:second|vector|element|row|weight)"
            + "|anew\\b|besides?\\b|in place of|(?:is|are) no such(?<!there (?:is|are) no such)\\b|so (?:many|few)\\b"
            + "|(?:refused|skipped|fails?|rejected) by name|valid by\\b|JSON by (?:a|its|the) schema"
            + "|texts? by (?:any|a) (?:language )?model|(?:when|if) not wanted|in the order wanted|by whom\\b"
            + "|(?:has|have) the bits of(?! (?:an )?elements?)|changes? no (?:bit|answer|result)|types of tokens"
            + "|floating (?:element )?types?\\b|in all(?=[.,;:)])|returns how (?:many|much)\\b|can be had\\b"
            + "|nothing (?:has|had) been \\w+ then|whoever\\b|thereof\\b|(?<!at )least (?:CPU |processor )?times?\\b"
            + "|shrunk from|found (?:by fuzzing|in review)|needs? nothing but|(?:gave|gives?|given|giving) up\\b"
            + "|behind (?:each other|one another)|in whose place|whatever (?:an? )?bytes?\\b|as much of itself"
            + "|the same in double|of the size of (?:1|one)\\b|takes? turns|to the bit\\b|of like sign|by far\\b|for ever\\b"
            + "|again and again|now and then|(?<!there )(?:is|are) no part\\b|brings? along)"
            + "|^(?-i:Of) (?=[a-z])|(?:^|[.;] )so (?:do|does|is|are|has|have) (?!not)");

    /** The rest of a line and annotations between a comment and a public declaration. */
    private static final Pattern PUBLIC = Pattern.compile("\\s*(?:@[^\n]*\n\\s*)*(?:public|protected) ");
    /** Comments, except comments after code on a line. */
    private static final Pattern COMMENT =
            Pattern.compile("(?s)/\\*.*?\\*/|(?m:^[ \\t]*//[^\\n]*(?:\\n[ \\t]*//[^\\n]*)*)");
    /** Code and names, which have their own rules. */
    private static final Pattern CODE = Pattern.compile(
            "(?s)<pre>.*?</pre>|\\{@(?:code|link|linkplain|value|snippet)\\s[^}]*}|@param \\w+|<a [^>]*>");

    @Test
    void pagesArePlain() throws IOException {
        List<String> found = new ArrayList<>();
        List<Path> pages = files(Path.of("docs"), ".md");
        pages.addAll(List.of(Path.of("README.md"), Path.of("CONTRIBUTING.md"), Path.of("SECURITY.md")));
        for (Path page : pages) {
            // pages of measurements, with names of code, and the changelog, about earlier versions
            if (!page.startsWith("docs/performance") && !page.endsWith("CHANGELOG.md")) {
                String text = prose(Files.readString(page));
                find(page, text, BRITISH, found);
                find(page, text, IDIOM, found);
                find(page, text, VAGUE, found);
            }
        }
        assertEquals(List.of(), found);
        assertTrue(pages.size() > 40, pages.size() + " pages");
    }

    @Test
    void sourcesHaveOneSpelling() throws IOException {
        List<String> found = new ArrayList<>();
        int sources = 0;
        for (String root : List.of("src", "jmh/src")) {
            for (Path source : files(Path.of(root), ".java")) {
                if (!source.endsWith("EnglishTest.java")) {
                    find(source, source.getFileName() + " " + Files.readString(source), BRITISH_NAMES, found);
                    sources++;
                }
            }
        }
        assertEquals(List.of(), found);
        assertTrue(sources > 1000, "found only " + sources + " sources");
    }

    @Test
    void publicJavadocIsPlain() throws IOException {
        List<String> found = new ArrayList<>();
        int comments = 0;
        for (Path source : files(MAIN, ".java")) {
            String code = Files.readString(source);
            if (!source.startsWith(MAIN.resolve("internal"))
                    && Pattern.compile("(?m)^public ").matcher(code).find()) {
                for (String comment : javadoc(code)) {
                    find(source, comment, BRITISH, found);
                    find(source, comment, VAGUE, found);
                    find(source, comment, IDIOM, found);
                    comments++;
                }
            }
        }
        assertEquals(List.of(), found);
        assertTrue(comments > 1000, "found only " + comments + " comments");
    }

    @Test
    void commentsArePlain() throws IOException {
        List<String> found = new ArrayList<>();
        int comments = 0;
        for (String root : List.of("src", "jmh/src", ".ci")) {
            for (Path source : files(Path.of(root), ".java")) {
                String code = source.endsWith("EnglishTest.java") ? "" : Files.readString(source);
                for (String comment : comments(code)) {
                    find(source, comment, VAGUE, found);
                    find(source, comment, IDIOM, found);
                    comments++;
                }
            }
        }
        assertEquals(List.of(), found);
        assertTrue(comments > 10_000, "found only " + comments + " comments");
    }

    @Test
    void scriptsArePlain() throws IOException {
        List<String> found = new ArrayList<>();
        List<Path> scripts = new ArrayList<>(List.of(Path.of("jmh/run")));
        for (String folder : List.of(".ci", "jmh/plans")) {
            files(Path.of(folder), "").stream()
                    .filter(file ->
                            Files.isRegularFile(file) && !file.toString().endsWith(".java"))
                    .forEach(scripts::add);
        }
        for (Path script : scripts) {
            String text = String.join(
                    " ",
                    Files.readString(script)
                            .lines()
                            .map(String::strip)
                            .filter(line -> line.startsWith("#"))
                            .map(line -> line.replaceAll("^#\\s*", ""))
                            .toList());
            find(script, text, VAGUE, found);
            find(script, text, IDIOM, found);
        }
        assertEquals(List.of(), found);
        assertTrue(scripts.size() > 20, scripts.size() + " scripts");
    }

    @Test
    void wordsAreFoundOutsideOfCode() {
        List<String> found = new ArrayList<>();
        Path file = Path.of("X");
        find(
                file,
                prose("Normalised rows\n```\ncolour\n```\n    optimise\n`quantise` [x](colour.md)\n"),
                BRITISH,
                found);
        find(file, "newNormalisedRows", BRITISH_NAMES, found);
        find(file, "{\"colour\": 1} uncoloured", BRITISH_NAMES, found);
        String code =
                "/** What {@code what} is, with the size\n * that of x. */\n@A\npublic int x;\n/** What. */\nint y;\n";
        javadoc(code).forEach(comment -> find(file, comment, VAGUE, found));
        assertEquals(
                List.of(
                        "X: Normalised rows [x]",
                        "X: newNormalisedRows",
                        "X: {\"colour\": 1} uncoloured",
                        "X: What is, with the",
                        "X: with the size that of x."),
                found);
    }

    @Test
    void phrasesAreFoundAndUsualOnesAreNot() {
        List<String> found = new ArrayList<>();
        Path file = Path.of("X");
        find(file, "A row is no multiple. A sum of its own terms is not so large", IDIOM, found);
        find(file, "Rows are in chains of their own. So is C, which must do so", IDIOM, found);
        find(file, "Of a user. Of a row, each part is read", IDIOM, found);
        comments("/* A sum has the bits of\n * another one */\n// such a row is\n// no such row\nint x; // beside\n")
                .forEach(comment -> find(file, comment, IDIOM, found));
        find(file, "If there is no such file, a byte has the bits of elements in all layers", IDIOM, found);
        assertEquals(
                List.of(
                        "X: A row is no multiple. A sum of",
                        "X: are in chains of their own. So is C,",
                        "X: chains of their own. So is C, which must",
                        "X: Of a user. Of",
                        "X: A sum has the bits of another one",
                        "X: such a row is no such row"),
                found);
    }

    private static void find(Path file, String text, Pattern words, List<String> found) {
        words.matcher(text).results().forEach(match -> {
            int from = text.lastIndexOf(' ', Math.max(0, match.start() - 15)) + 1;
            int to = text.indexOf(' ', Math.min(text.length(), match.end() + 10));
            found.add(file + ": " + text.substring(from, to < 0 ? text.length() : to));
        });
    }

    /** The text of a page without code and targets of links. */
    private static String prose(String page) {
        return page.replaceAll("(?ms)^\\s*```.*?^\\s*```", "")
                .replaceAll("(?m)^ {4}.*$", "")
                .replaceAll("`[^`]*`", "")
                .replaceAll("]\\([^)]*\\)", "]")
                .replaceAll("\\s+", " ")
                .strip();
    }

    /** The comments of public declarations, without code. */
    private static List<String> javadoc(String code) {
        List<String> comments = new ArrayList<>();
        for (int at = code.indexOf("/**"); at >= 0; at = code.indexOf("/**", at + 3)) {
            int end = code.indexOf("*/", at);
            if (PUBLIC.matcher(code).region(end + 2, code.length()).lookingAt()) {
                String comment = code.substring(at + 3, end).replaceAll("(?m)^\\s*\\* ?", "");
                comments.add(CODE.matcher(comment)
                        .replaceAll("")
                        .replaceAll("\\s+", " ")
                        .strip());
            }
        }
        return comments;
    }

    /** The comments of a source, without code. */
    private static List<String> comments(String code) {
        return COMMENT.matcher(code)
                .results()
                .map(comment -> comment.group().replaceAll("(?m)^\\s*(?:/?\\*+/?|//) ?", ""))
                .map(comment -> CODE.matcher(comment)
                        .replaceAll("x")
                        .replaceAll("\\s+", " ")
                        .strip())
                .toList();
    }

    private static boolean isBuilt(Path file) {
        return file.toString().contains("target" + file.getFileSystem().getSeparator());
    }

    private static List<Path> files(Path root, String end) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return new ArrayList<>(files.filter(file -> file.toString().endsWith(end) && !isBuilt(file))
                    .sorted()
                    .toList());
        }
    }
}
