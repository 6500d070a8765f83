package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The study, run short: what the page must hold, and what may never be left behind. */
class StudyTest {
    @TempDir
    private Path folder;

    @Test
    void thePageIsWholeAndSelfContained() throws Exception {
        assertEquals(0, Study.run("--max-length", "256", "--steps", "2", "--threads", "1", "--out", folder.toString()));
        String page = Files.readString(folder.resolve("index.html"));
        assertFalse(page.replaceAll("xmlns(:xlink)?=\"[^\"]*\"", "").contains("http"), "no reference outside");
        List<String> findings = findings(page);
        assertEquals(13, findings.size());
        for (String finding : findings) {
            assertTrue(finding.matches("(?s).*\\d.*\\.") && !finding.contains("NaN"), finding);
        }
        Set<String> ids = new HashSet<>();
        Pattern.compile("\\bid=\"([^\"]+)\"")
                .matcher(page)
                .results()
                .forEach(id -> assertTrue(ids.add(id.group(1)), id.group(1)));
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                assertTrue(file.toString().matches(".*\\.(png|html)"), "left behind: " + file);
                if (file.toString().endsWith(".png")) {
                    assertTrue(colours(ImageIO.read(file.toFile())) > 3, "empty picture: " + file);
                }
            }
        }
    }

    @Test
    void theSameSeedGivesTheSameFindings() throws Exception {
        Study.run(
                "--max-length",
                "256",
                "--steps",
                "2",
                "--threads",
                "1",
                "--out",
                folder.resolve("a").toString());
        Study.run(
                "--max-length",
                "256",
                "--steps",
                "2",
                "--threads",
                "2",
                "--out",
                folder.resolve("b").toString());
        Study.run(
                "--max-length",
                "256",
                "--steps",
                "2",
                "--seed",
                "7",
                "--out",
                folder.resolve("c").toString());
        List<String> a = findings(Files.readString(folder.resolve("a/index.html")));
        List<String> b = findings(Files.readString(folder.resolve("b/index.html")));
        List<String> c = findings(Files.readString(folder.resolve("c/index.html")));
        for (int exhibit : new int[] {0, 1, 2, 3, 6, 7, 9, 10, 11}) {
            assertEquals(a.get(exhibit), b.get(exhibit));
        }
        assertFalse(a.get(0).equals(c.get(0)), "findings come from the data");
    }

    @Test
    void wrongOptionsWriteNothing() throws Exception {
        assertEquals(2, Study.run("--max-length", "7", "--out", folder.toString()));
        assertEquals(2, Study.run("--steps", "-1", "--out", folder.toString()));
        assertEquals(2, Study.run("--threads", "-1", "--out", folder.toString()));
        assertEquals(2, Study.run("--nonsense"));
        Path file = Files.writeString(folder.resolve("file"), "in the way");
        assertEquals(1, Study.run("--max-length", "256", "--steps", "1", "--out", file.toString()));
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
        assertEquals(List.of("It", "isn't", "so", ",", "is", "it", "?"), Subject.tokenise("It isn't so, is it?"));
    }

    private static List<String> findings(String page) {
        return Pattern.compile("class=\"finding\">([^<]*)<")
                .matcher(page)
                .results()
                .map((MatchResult match) -> match.group(1))
                .toList();
    }

    private static int colours(BufferedImage image) {
        Set<Integer> colours = new HashSet<>();
        for (int y = 0; y < image.getHeight(); y += 3) {
            for (int x = 0; x < image.getWidth(); x += 3) {
                colours.add(image.getRGB(x, y));
            }
        }
        return colours.size();
    }
}
