package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.multihead.decoder.FamilyModel;
import io.multihead.demo.MiniLmFolder;
import io.multihead.encoder.TinyModels;
import io.multihead.encoder.TinyReranker;
import io.multihead.support.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The programs of the pages, which are classes with a main method, or statements, run unchanged in a folder with the
 * models that they load. The models are small and have random weights, except MiniLM from its jar, and stories260K if
 * it is present. Programs with these two models, and programs without a model, print the output that the page shows.
 * Types without a main method have separate tests.
 */
@Execution(ExecutionMode.CONCURRENT)
class PageProgramsTest {
    private static final Path STORIES = Path.of("../shared/models/stories260K/stories260K.f32.gguf");

    /** Long loops, of which two rounds are run. */
    private static final List<String> LOOPS = List.of("step < 500;", "step < 100;");

    /** Words that identify programs that are not run, each with the reason. */
    private static final Map<String, String> NOT_RUN = Map.of(
            "HttpServer.create", "a server runs until it is interrupted",
            "\"bert-base-uncased\"", "ids of the model's own vocabulary; BertMaskedModelTest trains a smaller one");

    /** Lines that programs print and that the page also shows, in a block of text or in a comment. */
    private static final Map<String, List<String>> PRINTED = Map.of(
            "README.md", List.of("0.4761 The market lost ground.", "0.3548 Stocks fell.", "[1, 32, 512, 128]"),
            "docs/start.md", List.of("2.0 4.0"),
            "docs/embeddings.md",
                    List.of("0.4761 The market lost ground.\n0.3548 Stocks fell.", "384 elements, 4 tokens"),
            "docs/cache.md", List.of("131072 bytes for a token"),
            "docs/from/langchain4j-onnx.md", List.of("384"),
            "docs/from/sentence-transformers.md", List.of("1"));

    /**
     * Pages on which a program of stories260K prints the first block of text, each with the characters after this text.
     * One page shows only the beginning of a story.
     */
    private static final Map<String, String> STORY_PAGES =
            Map.of("docs/language-models.md", " ", "docs/structured-output.md", "\n");

    @TempDir
    private static Path folder;

    /** The output of all programs of each page. */
    private static Map<String, String> printed;

    /** A program of a page: the folder of its classes. */
    private record Program(String page, Path classes) {}

    @BeforeAll
    static void runPrograms() throws Exception {
        Path models = Files.createDirectory(folder.resolve("models"));
        writeModels(models);
        List<Program> programs = compile();
        assertTrue(programs.size() > 25, "found only " + programs.size() + " programs");
        printed = run(models, programs);
    }

    @Test
    void programsPrintTheirOutput() {
        PRINTED.forEach((page, lines) -> lines.forEach(line -> requirePrinted(page, line, "\n")));
    }

    @Test
    void programsOfStoriesPrintTheirOutput() {
        assumeTrue(Files.exists(STORIES), () -> STORIES.toAbsolutePath().normalize() + " is not there");
        STORY_PAGES.forEach((page, end) -> requirePrinted(page, textBlock(page), end));
    }

    private static void requirePrinted(String page, String lines, String end) {
        List<String> text = Sources.read(Path.of(page)).lines().toList();
        lines.lines()
                .forEach(line -> assertTrue(
                        text.stream().anyMatch(each -> each.equals(line) || each.endsWith("// " + line)),
                        page + " has no " + line));
        String all = printed.get(page);
        assertTrue(("\n" + all).contains("\n" + lines + end), page + " prints " + all + "; expected " + lines);
    }

    /** Returns the first block of text of a page. */
    private static String textBlock(String page) {
        String text = Sources.read(Path.of(page));
        String block = text.substring(text.indexOf("```text\n") + 8);
        return block.substring(0, block.indexOf("\n```"));
    }

    private static List<Program> compile() throws Exception {
        List<Program> programs = new ArrayList<>();
        Set<String> notRun = new TreeSet<>(NOT_RUN.keySet());
        for (Path page : pages()) {
            for (String snippet : Snippets.of(Files.readString(page))) {
                String name = Snippets.name(snippet);
                if (!name.equals(Snippets.STATEMENTS) && !snippet.contains("static void main(")) {
                    continue;
                }
                List<String> reasons =
                        NOT_RUN.keySet().stream().filter(snippet::contains).toList();
                if (!reasons.isEmpty()) {
                    notRun.removeAll(reasons);
                    continue;
                }
                String program = snippet;
                for (String loop : LOOPS) {
                    program = program.replace(loop, "step < 2;");
                }
                Path classes = Files.createDirectory(folder.resolve("classes" + programs.size()));
                assertEquals(List.of(), Snippets.errors(classes, program), page + ":\n" + program);
                PagePrograms.name(classes, name);
                programs.add(new Program(page.toString(), classes));
            }
        }
        assertEquals(Set.of(), notRun, "without a program");
        return programs;
    }

    /** Returns the output of all programs of each page. */
    private static Map<String, String> run(Path models, List<Program> programs) throws Exception {
        Map<String, String> pages = new LinkedHashMap<>();
        programs.forEach(program -> pages.put(program.classes.toString(), program.page));
        Map<String, String> printed = new LinkedHashMap<>();
        List<String> failed = new ArrayList<>();
        String page = "";
        String[] folders = pages.keySet().toArray(String[]::new);
        for (String line : ChildJvm.runIn(models, PagePrograms.class, folders)) {
            if (line.startsWith(PagePrograms.BEGIN)) {
                page = pages.remove(line.substring(PagePrograms.BEGIN.length()));
            } else {
                printed.merge(page, line + "\n", String::concat);
                if (line.startsWith(PagePrograms.FAILED)) {
                    failed.add(page + ": " + line + "\n" + printed.get(page));
                }
            }
        }
        assertEquals(List.of(), failed);
        assertEquals(Set.of(), pages.keySet(), "not run");
        return printed;
    }

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>(List.of(Path.of("README.md")));
        for (String place : List.of("docs", "docs/from", "docs/reference")) {
            try (Stream<Path> files = Files.list(Path.of(place))) {
                files.filter(file -> file.toString().endsWith(".md")).sorted().forEach(pages::add);
            }
        }
        return pages;
    }

    /**
     * Writes the models under the names that the pages use. Where a program reads a file or a folder, a GGUF file
     * without a suffix replaces the folder.
     */
    private static void writeModels(Path models) throws IOException {
        MiniLmFolder.write(models.resolve("all-MiniLM-L6-v2"));
        String chat = FamilyModel.TOOL_TEMPLATE + "{%- if enable_thinking is defined %}{% endif %}";
        for (String name : List.of("Qwen3-0.6B-Q8_0.gguf", "Llama-3.2-1B-Instruct", "model-f16.gguf")) {
            FamilyModel.writeChat(models.resolve(name), chat, 400);
        }
        FamilyModel.writeChat(models.resolve("Llama-3.2-1B-Instruct-Q4_0.gguf"), chat, 4096);
        Files.createDirectory(models.resolve("tinyllamas"));
        Path story = models.resolve("tinyllamas", "stories260K.gguf");
        if (Files.exists(STORIES)) {
            Files.copy(STORIES, story);
        } else {
            FamilyModel.writeChat(story, chat, 512);
        }
        FamilyModel.writeAnswers(models.resolve("Qwen3-Reranker-0.6B"), 8192);
        FamilyModel.writePrompts(Files.createDirectory(models.resolve("Qwen3-Embedding-0.6B")), "{}");
        TinyModels.writeGguf(models.resolve("bge-small-en-v1.5-q8_0.gguf"));
        MiniLmFolder.write(models.resolve("nomic-embed-text-v1.5"));
        TinyModels.writeSparse(models.resolve("splade-cocondenser-ensembledistil"));
        TinyModels.writeTokens(models.resolve("colbertv2.0"));
        new TinyReranker(1, 1).write(models.resolve("ms-marco-MiniLM-L6-v2"));
        Files.copy(Path.of("src/demo/resources/fables.txt"), models.resolve("book.txt"));
    }
}
