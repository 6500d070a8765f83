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
        assertEquals(0, Study.run("--max-length", "256", "--threads", "1", "--out", folder.toString()));
        String page = Files.readString(folder.resolve("index.html"));
        assertFalse(page.replaceAll("xmlns(:xlink)?=\"[^\"]*\"", "").contains("http"), "no reference outside");
        List<String> findings = findings(page);
        assertEquals(7, findings.size());
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
                "--threads",
                "1",
                "--out",
                folder.resolve("a").toString());
        Study.run(
                "--max-length",
                "256",
                "--threads",
                "2",
                "--out",
                folder.resolve("b").toString());
        Study.run(
                "--max-length",
                "256",
                "--seed",
                "7",
                "--out",
                folder.resolve("c").toString());
        List<String> a = findings(Files.readString(folder.resolve("a/index.html")));
        List<String> b = findings(Files.readString(folder.resolve("b/index.html")));
        List<String> c = findings(Files.readString(folder.resolve("c/index.html")));
        for (int exhibit : new int[] {0, 1, 2, 3, 6}) {
            assertEquals(a.get(exhibit), b.get(exhibit));
        }
        assertFalse(a.get(0).equals(c.get(0)), "findings come from the data");
    }

    @Test
    void wrongOptionsWriteNothing() throws Exception {
        assertEquals(2, Study.run("--max-length", "7", "--out", folder.toString()));
        assertEquals(2, Study.run("--threads", "-1", "--out", folder.toString()));
        assertEquals(2, Study.run("--nonsense"));
        Path file = Files.writeString(folder.resolve("file"), "in the way");
        assertEquals(1, Study.run("--max-length", "256", "--out", file.toString()));
        assertEquals("in the way", Files.readString(file));
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(1, files.count());
        }
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
