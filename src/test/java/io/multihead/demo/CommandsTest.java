package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/**
 * Checks the commands of the docs. Programs of the demo get the arguments of a page, and bash parses the scripts. The
 * page docs/testing.md lists commands that are not run.
 */
class CommandsTest {
    private static final Pattern PROGRAM = Pattern.compile("exec:exec(?!@).*");
    private static final Pattern MAIN = Pattern.compile("-Dstudy\\.main=(\\S+)");
    private static final Pattern ARGUMENTS = Pattern.compile("-Dstudy\\.args=\"([^\"]*)\"");
    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");
    private static final Pattern COMMAND =
            Pattern.compile("(?m)(?<=^ {4})(?:mvn|git|java|hf|npm|bash|\\.ci/\\w+|jmh/run)\\b[^#\n]*");
    private static final Pattern HOW = Pattern.compile(".* [|] (clone|install|run|project|\\.ci/run|by hand: .+)");
    private static final Pattern SCRIPT = Pattern.compile("(?m)^(?: {4}|    bash )?(\\.ci/\\w+|jmh/run)\\b([^#\n]*)");

    private static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>(List.of(Path.of("README.md"), Path.of("CONTRIBUTING.md")));
        files.add(Path.of("jmh", "README.md"));
        try (Stream<Path> docs = Files.walk(Path.of("docs"))) {
            docs.filter(file -> file.toString().endsWith(".md")).sorted().forEach(files::add);
        }
        return files;
    }

    /** Returns the text of a page with continued lines joined. */
    private static String text(Path page) throws IOException {
        return Files.readString(page).replaceAll(" *\\\\\n *", " ");
    }

    private static List<String> found(Pattern pattern) throws IOException {
        List<String> pages = new ArrayList<>();
        for (Path file : files()) {
            pages.add(text(file));
        }
        return found(pattern, pages);
    }

    private static List<String> found(Pattern pattern, List<String> pages) {
        return pages.stream()
                .flatMap(page -> pattern.matcher(page).results())
                .map(match -> match.group().strip())
                .toList();
    }

    /**
     * The list for .ci/commands has every command of the pages and no others, with a reason for each command that no
     * script runs.
     */
    @Test
    void everyCommandIsRunOrSaysWhyNot() throws IOException {
        List<String> unlisted = new ArrayList<>();
        List<String> rows = Files.readAllLines(Path.of(".ci", "commands.txt")).stream()
                .filter(line -> !line.startsWith("#"))
                .toList();
        Set<String> used = new HashSet<>();
        for (Path page : files()) {
            String text = text(page);
            for (String command : found(COMMAND, List.of(text))) {
                List<String> mine = rows.stream()
                        .filter(row -> (page + " | " + command).startsWith(words(row)))
                        .toList();
                used.addAll(mine);
                if (mine.isEmpty()) {
                    unlisted.add(page + ": " + command);
                }
            }
            rows.stream()
                    .filter(row -> row.startsWith(page + " | ")
                            && text.contains("`" + words(row).split(" [|] ")[1] + "`"))
                    .forEach(used::add);
        }
        assertEquals(List.of(), unlisted);
        assertEquals(List.of(), rows.stream().filter(row -> !used.contains(row)).toList(), "of no page");
        assertEquals(
                List.of(),
                rows.stream().filter(row -> !HOW.matcher(row).matches()).toList(),
                "neither run nor a reason");
    }

    private static String words(String row) {
        return row.substring(0, row.lastIndexOf(" | "));
    }

    /** Programs accept every option that a page passes to them, with its value. */
    @Test
    void programsHaveTheOptionsThatPagesGiveThem() throws Exception {
        List<String> commands = found(PROGRAM);
        assertTrue(commands.size() >= 4, commands.toString());
        for (String command : commands) {
            Matcher main = MAIN.matcher(command);
            Class<?> program = Class.forName(main.find() ? main.group(1) : Study.class.getName());
            Matcher given = ARGUMENTS.matcher(command);
            List<String> arguments = new ArrayList<>();
            if (given.find()) {
                WORD.matcher(given.group(1))
                        .results()
                        .forEach(word -> arguments.add(word.group(1) == null ? word.group(2) : word.group(1)));
            }
            assertEquals(given.hasMatch(), command.contains("study.args"), command);
            new CommandLine(program).parseArgs(arguments.toArray(String[]::new));
        }
    }

    /** Programs print their help without a model. The help names the options of the class. */
    @Test
    void programsPrintTheirHelp() {
        for (Class<?> program : List.of(Study.class, Train.class, Generate.class)) {
            StringWriter text = new StringWriter();
            CommandLine line = new CommandLine(program).setOut(new PrintWriter(text));
            assertEquals(0, line.execute("--help"));
            line.getCommandSpec()
                    .options()
                    .forEach(
                            option -> assertTrue(text.toString().contains(option.longestName()), option.longestName()));
        }
    }

    /** Scripts exist, and bash can parse them. The help of jmh/run names every mode of a page. */
    @Test
    void scriptsCanBeRead() throws Exception {
        String help = output("bash", "jmh/run", "--help");
        List<String> commands = found(SCRIPT);
        assertTrue(commands.stream().anyMatch(command -> command.startsWith("jmh/run compare")), commands.toString());
        for (String command : commands) {
            String[] words = command.split("\\s+");
            assertEquals("", output("bash", "-n", words[0]), command);
            if (words[0].equals("jmh/run") && words.length > 1 && words[1].matches("[a-z]+")) {
                assertTrue(help.contains("jmh/run " + words[1]), command);
            } else if (words[0].equals("jmh/run") && words.length > 1 && words[1].matches("[A-Z]\\w+")) {
                Path benchmark = Path.of("jmh/src/main/java/io/multihead/jmh/bench", words[1] + "Bench.java");
                assertTrue(Files.exists(benchmark), command);
            }
        }
    }

    /** A script without the line that handles --help would run, for an hour perhaps; so the line is checked first. */
    @Test
    void scriptsOfContinuousIntegrationAreProgramsThatPrintTheirComment() throws Exception {
        int scripts = 0;
        try (Stream<Path> files = Files.list(Path.of(".ci"))) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                List<String> lines = Files.readAllLines(file);
                if (!lines.getFirst().equals("#!/usr/bin/env bash")) {
                    continue;
                }
                scripts++;
                assertTrue(Files.isExecutable(file), file + " is not executable");
                List<String> comment = lines.stream()
                        .skip(1)
                        .takeWhile(line -> line.startsWith("#"))
                        .map(line -> line.replaceFirst("^# ?", ""))
                        .toList();
                assertEquals(". \"$(dirname \"$0\")/begin\"", lines.get(comment.size() + 1), file.toString());
                assertEquals(
                        comment,
                        output("bash", file.toString(), "--help").lines().toList());
            }
        }
        assertTrue(scripts >= 18, scripts + " scripts");
    }

    private static String output(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), text);
        assertFalse(text.contains("syntax error"), text);
        return text;
    }
}
