package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.decoder.GeneratedText;
import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.demo.train.Task;
import io.multihead.encoder.SentenceEncoder;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A short run of the study. Tests check the contents of the page, and that no temporary files remain. */
class StudyTest {
    private static final long SEED = 42;
    private static final int STEPS = 2;
    private static final int SENTENCES = 4;
    private static final String[] SHORT = {"--max-length", "256", "--steps", "" + STEPS, "--sentences", "" + SENTENCES};

    /** The output of a run with one thread, which several tests read. */
    @TempDir
    private static Path serial;

    @TempDir
    private Path folder;

    @BeforeAll
    static void runTheStudy() {
        assertEquals(0, Study.run(with(SHORT, "--threads", "1", "--out", serial.toString())));
    }

    @Test
    void thePageIsCompleteAndSelfContained() throws Exception {
        String page = Files.readString(serial.resolve("index.html"));
        assertFalse(
                page.replaceAll("xmlns(:xlink)?=\"[^\"]*\"|data:image/png;base64,[^\"]*", "")
                        .contains("http"),
                "no reference outside");
        assertTrue(page.length() < 2 << 20, page.length() + " bytes; expected text, and images of a pixel a cell");
        List<String> findings = findings(page);
        assertEquals(18, findings.size());
        for (String finding : findings) {
            assertTrue(finding.matches("(?s).*\\d.*\\.") && !finding.contains("NaN"), finding);
        }
        Set<String> ids = new HashSet<>();
        Pattern.compile("\\bid=\"([^\"]+)\"")
                .matcher(page)
                .results()
                .forEach(id -> assertTrue(ids.add(id.group(1)), id.group(1)));
        try (Stream<Path> files = Files.list(serial)) {
            for (Path file : files.toList()) {
                assertTrue(file.toString().matches(".*\\.(png|html)|.*/fables\\.gguf"), "left behind: " + file);
                if (file.toString().endsWith(".png")) {
                    assertTrue(colors(ImageIO.read(file.toFile())) > 3, "empty picture: " + file);
                }
            }
        }
    }

    @Test
    void twoThreadsGiveTheSameFindings() throws Exception {
        List<String> findings = findings(Files.readString(serial.resolve("index.html")));
        try (Compute two = Compute.threads(2);
                Parallel parallel = new Parallel(2);
                SentenceEncoder encoder = TrainedModel.encoder(two)) {
            Subject paragraph = Subject.of(StudyText.builtIn(), SEED, two);
            HeadExhibits heads = new HeadExhibits(paragraph);
            TrainedHeadExhibits trained = new TrainedHeadExhibits(encoder, StudyText.builtIn());
            Trainings trainings = new Trainings(parallel, SEED, STEPS, step -> {});
            FableModel llama = FableModel.start(parallel, Fables.read(), SEED, STEPS, step -> {})
                    .join();
            Exhibit fables = FableExhibit.draw(llama, folder);
            assertEquals(findings.get(17), Page.escape(fables.finding()));
            assertTrue(
                    fables.finding().contains("The files in f32 and in bf16 give the same text of"), fables.finding());
            assertTrue(fables.finding().contains(", as in the layers"), fables.finding());
            Map<Integer, Exhibit> again = Map.of(
                    2, trained.byLayer(),
                    4, SearchExhibit.draw(two, encoder, Fables.read().first(SENTENCES)),
                    6, heads.againstSingleHead(),
                    7, heads.diversity(),
                    8, heads.causal(),
                    11, EqualityExhibit.draw(paragraph),
                    14, new TrainingExhibits(trainings).exhibit(Task.COPY));
            again.forEach((number, exhibit) -> assertEquals(findings.get(number - 1), Page.escape(exhibit.finding())));
            Exhibit memory = CostExhibits.memory(256, parallel, step -> {});
            assertEquals(findings.get(8), Page.escape(memory.finding()));
        }
    }

    @Test
    void anotherSeedGivesOtherFindings() throws Exception {
        try (Compute cpu = Compute.serial()) {
            String finding = new HeadExhibits(Subject.of(StudyText.builtIn(), 7, cpu))
                    .heatMaps()
                    .finding();
            assertFalse(
                    findings(Files.readString(serial.resolve("index.html"))).contains(finding),
                    "findings come from the data");
        }
    }

    /** The remaining file in the folder is a usual model, which can be loaded. */
    @Test
    void theTrainedLlamaGoesOnWithATitle() throws Exception {
        Path file = serial.resolve(FableModel.FILE);
        try (Compute cpu = Compute.serial();
                LanguageModel model = LanguageModel.load(cpu, file);
                Sessions sessions = model.sessions(SessionOptions.DEFAULT)) {
            assertEquals("fables (llama, 2 layers of 96, 4 heads on 2)", model.toString());
            GeneratedText text = sessions.open()
                    .append("The Fox and the Crow\n")
                    .generate(GenerationOptions.DEFAULT.withMaxTokens(5));
            assertEquals(5, text.tokens().size());
        }
    }

    @Test
    void sharesOfCausalHeadsAreMeansOverTokensWithATarget() {
        boolean[] words = {true, false, false, true};
        CausalPattern.Text tokens = new CausalPattern.Text(new int[] {5, 6, 5, 6}, words);
        double[][] weights = {{1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0.25, 0.5, 0.25, 0}, {0, 0.125, 0.625, 0.25}};
        assertEquals((0.5 + 0.5 + 0.625) / 3, CausalPattern.PREVIOUS.share(tokens, weights), 1e-12);
        assertEquals((0.5 + 0.25 + 0.25) / 3, CausalPattern.ITSELF.share(tokens, weights), 1e-12);
        assertEquals((0.5 + 0.25 + 0) / 3, CausalPattern.FIRST.share(tokens, weights), 1e-12);
        assertEquals((0.25 + 0.125) / 2, CausalPattern.SAME_BEFORE.share(tokens, weights), 1e-12);
        assertEquals((0.5 + 0.625) / 2, CausalPattern.AFTER_SAME.share(tokens, weights), 1e-12);
        assertEquals((1 / 3.0 + 1 / 4.0) / 2, CausalPattern.AFTER_SAME.chance(tokens), 1e-12);
        assertEquals((0.5 + 0.25) / 2, CausalPattern.WORD.share(tokens, weights), 1e-12);
        CausalPattern.Text unlike = new CausalPattern.Text(new int[] {1, 2}, words);
        assertEquals(0, CausalPattern.SAME_BEFORE.share(unlike, weights), 1e-12);
    }

    @Test
    void wrongOptionsWriteNothing() throws Exception {
        assertEquals(2, Study.run("--max-length", "7", "--out", folder.toString()));
        assertEquals(2, Study.run("--steps", "-1", "--out", folder.toString()));
        assertEquals(2, Study.run("--sentences", "3", "--out", folder.toString()));
        assertEquals(2, Study.run("--threads", "-1", "--out", folder.toString()));
        assertEquals(
                2, Study.run("--threads", "1025", "--out", folder.resolve("new").toString()));
        assertEquals(2, Study.run("--nonsense"));
        // programs have no version
        assertEquals(2, Study.run("--version"));
        assertEquals(2, Train.run("--version"));
        Path file = Files.writeString(folder.resolve("file"), "in the way");
        // fails before the study runs
        assertEquals(2, Study.run("--max-length", "256", "--steps", "1", "--out", file.toString()));
        assertEquals("in the way", Files.readString(file));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count());
        }
    }

    @Test
    void trainingGoesOnFromItsCheckpoint() throws Exception {
        String file = folder.resolve("model.safetensors").toString();
        String[] small = {"--task", "COPY", "--embed-dim", "16", "--heads", "2", "--layers", "1", "--checkpoint", file};
        assertEquals(0, Train.run(with(small, "--steps", "3")));
        assertTrue(Files.size(Path.of(file)) > 0);
        assertEquals(0, Train.run(with(small, "--steps", "4")));
        assertEquals(1, Train.run(with(small, "--steps", "5", "--layers", "2")), "another architecture");
        assertEquals(2, Train.run(with(small, "--heads", "3")));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count());
        }
    }

    @Test
    void aFolderThatTakesNoFileIsNamedBeforeTheWork() {
        // no user can create files in /proc; other systems have no /proc, and this folder cannot be created
        String out = System.getProperty("os.name").startsWith("Linux") ? "/proc" : "/dev/null/none";
        assertEquals(
                "--out: " + out + "; expected a writable folder",
                firstError(() -> Study.run(with(SHORT, "--out", out))));
        String file = folder.resolve("none").resolve("model.safetensors").toString();
        assertEquals(
                "--checkpoint: " + file + "; expected a file in a writable folder",
                firstError(() -> Train.run("--steps", "1", "--embed-dim", "8", "--checkpoint", file)));
        assertEquals(
                "--checkpoint: " + folder + "; expected a file, not a folder",
                firstError(() -> Train.run("--steps", "1", "--embed-dim", "8", "--checkpoint", folder.toString())));
    }

    /** Returns the first line of the errors of a command with wrong options. */
    private static String firstError(IntSupplier command) {
        return errors(() -> assertEquals(2, command.getAsInt()))
                .lines()
                .findFirst()
                .orElse("");
    }

    private static String errors(Runnable command) {
        PrintStream before = System.err;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
        try {
            command.run();
        } finally {
            System.setErr(before);
        }
        return written.toString(StandardCharsets.UTF_8);
    }

    private static String[] with(String[] arguments, String... more) {
        List<String> all = new java.util.ArrayList<>(List.of(arguments));
        for (int i = 0; i < more.length; i += 2) {
            int at = all.indexOf(more[i]);
            if (at >= 0) {
                all.set(at + 1, more[i + 1]);
            } else {
                all.addAll(List.of(more[i], more[i + 1]));
            }
        }
        return all.toArray(String[]::new);
    }

    @Test
    void tokensAreWordsAndPunctuation() {
        assertEquals(List.of("It", "isn't", "so", ",", "is", "it", "?"), StudyText.tokens("It isn't so, is it?"));
    }

    private static List<String> findings(String page) {
        return Pattern.compile("class=\"finding\">([^<]*)<")
                .matcher(page)
                .results()
                .map((MatchResult match) -> match.group(1))
                .toList();
    }

    private static int colors(BufferedImage image) {
        Set<Integer> colors = new HashSet<>();
        for (int y = 0; y < image.getHeight(); y += 3) {
            for (int x = 0; x < image.getWidth(); x += 3) {
                colors.add(image.getRGB(x, y));
            }
        }
        return colors.size();
    }
}
