package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Pages for users name existing members of the API in sentences and tables: members of a type, and methods that set
 * options. Blocks of code are compiled by {@link SnippetTest}.
 */
class ApiNamesTest {
    private static final String ROOT = "io.multihead.";
    /**
     * Pages about internals, which may name members that are not public, and a page with abbreviations, which
     * {@link OptionTablesTest} reads.
     */
    private static final List<Path> INSIDE = List.of(
            Path.of("docs/architecture"),
            Path.of("docs/experiments"),
            Path.of("docs/performance"),
            Path.of("docs/CHANGELOG.md"),
            Path.of("docs/reference/layer-options.md"));

    private static final Pattern FENCED = Pattern.compile("(?ms)^ *(```|~~~).*?^ *\\1 *$");
    private static final Pattern CODE = Pattern.compile("`([^`\n]+)`");
    private static final Pattern MEMBER = Pattern.compile("\\b([A-Z]\\w+)\\.([a-zA-Z]\\w*)");
    private static final Pattern OPTION = Pattern.compile("(?<![\\w.])\\.?((?:with|for|of|append)[A-Z]\\w*)");
    /** The name of a file that looks like a type with a member. */
    private static final Set<String> FILES = Set.of("Llama3.java");

    /** The members of each type by the simple name of the type, and the names of all members. */
    private record Api(Map<String, Set<String>> members, Set<String> all) {
        static Api of(List<String> signatures) {
            Map<String, Set<String>> members = new HashMap<>();
            Set<String> all = new HashSet<>();
            for (String signature : signatures) {
                String name = signature.split("[(:]", 2)[0].substring(ROOT.length());
                List<String> parts = Stream.of(name.split("\\."))
                        .dropWhile(part -> Character.isLowerCase(part.charAt(0)))
                        .toList();
                for (int i = 1; i < parts.size(); i++) {
                    members.computeIfAbsent(parts.get(i - 1), type -> new HashSet<>())
                            .add(parts.get(i));
                }
                all.add(parts.getLast());
            }
            return new Api(members, all);
        }

        List<String> unknown(String page) {
            List<String> unknown = new ArrayList<>();
            for (var code :
                    CODE.matcher(FENCED.matcher(page).replaceAll("")).results().toList()) {
                MEMBER.matcher(code.group(1)).results().forEach(member -> {
                    Set<String> known = members.get(member.group(1));
                    if (known != null && !known.contains(member.group(2)) && !FILES.contains(member.group())) {
                        unknown.add(member.group());
                    }
                });
                OPTION.matcher(code.group(1))
                        .results()
                        .map(option -> option.group(1))
                        .filter(option -> !all.contains(option))
                        .forEach(unknown::add);
            }
            return unknown;
        }
    }

    @Test
    void everyNamedMemberExists() throws IOException {
        Api api = Api.of(Files.readAllLines(Path.of("docs/api.txt")));
        List<String> problems = new ArrayList<>();
        int pages = 0;
        try (Stream<Path> files = Files.walk(Path.of("docs"))) {
            List<Path> all = Stream.concat(files, Stream.of(Path.of("README.md"), Path.of("SECURITY.md")))
                    .filter(file -> file.toString().endsWith(".md"))
                    .filter(file -> INSIDE.stream().noneMatch(file::startsWith))
                    .toList();
            for (Path page : all) {
                api.unknown(Files.readString(page)).forEach(name -> problems.add(page + " names " + name));
                pages++;
            }
        }
        assertEquals(List.of(), problems);
        assertTrue(pages > 40, "found only " + pages + " pages");
    }

    @Test
    void namesOfNothingAreSeen() {
        Api api = Api.of(List.of(
                "io.multihead.a.b.Model.load(Path): public static",
                "io.multihead.a.Model.Options.withTokens(int): public"));
        assertEquals(
                List.of("Model.loads", "withToken"),
                api.unknown(
                        "`Model.load(path)` `Model.loads` `Other.name`\n```java\nModel.no\n```\n`.withTokens(1).withToken(2)`"
                                + " `x.withTokens(1)`, withNothing"));
    }
}
