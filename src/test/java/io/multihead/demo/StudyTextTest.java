package io.multihead.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.SAXException;

/** Texts of users: a text of any language and any length is drawn, or is refused with one error. */
class StudyTextTest {
    @TempDir
    private Path folder;

    private static Stream<String> texts() {
        return Stream.of(
                "A paragraph without a full stop,\n\n\tin lines",
                "-\u0000\u001b[0m",
                "هل تعمل هذه الجملة العربية؟ نعم، emoji 😀👩‍👩‍👧 and 🇩🇪 flags.",
                "一个没有空格的中文句子。第二句话。",
                "a".repeat(1 << 20),
                "word, and <script>&\"'</script> ".repeat(50_000));
    }

    /** Draws the exhibits that depend on the text. Their findings must be numbers, and their pictures must be XML. */
    @Test
    void everyTextIsDrawn() throws Exception {
        try (Compute cpu = Compute.threads(2);
                SentenceEncoder encoder = TrainedModel.encoder(cpu)) {
            texts().toList().parallelStream().forEach(text -> assertDrawn(text, cpu, encoder));
        }
    }

    private static void assertDrawn(String text, Compute cpu, SentenceEncoder encoder) {
        try {
            StudyText chosen = StudyText.of(text);
            Subject subject = Subject.of(chosen, 42, cpu);
            HeadExhibits heads = new HeadExhibits(subject);
            TrainedHeadExhibits trained = new TrainedHeadExhibits(encoder, chosen);
            List<Exhibit> exhibits = new ArrayList<>(
                    List.of(trained.heatMaps(), trained.byLayer(), heads.heatMaps(), heads.againstSingleHead()));
            exhibits.addAll(List.of(heads.diversity(), heads.causal(), EqualityExhibit.draw(subject)));
            for (Exhibit exhibit : exhibits) {
                String about = exhibit.title() + " of " + text.substring(0, Math.min(20, text.length()));
                assertFalse(exhibit.finding().contains("NaN"), about + ": " + exhibit.finding());
                assertTrue(exhibit.charts().size() >= 1, about);
                for (Exhibit.Picture picture : exhibit.charts()) {
                    String svg = picture.svg().substring(0, picture.svg().indexOf("</svg>") + 6);
                    DocumentBuilderFactory.newInstance()
                            .newDocumentBuilder()
                            .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
                }
            }
        } catch (IOException | ParserConfigurationException | SAXException e) {
            throw new AssertionError(text.substring(0, Math.min(20, text.length())), e);
        }
    }

    @Test
    void theFirstSentenceAndTheFirstTokensAreTaken() throws IOException {
        StudyText builtIn = StudyText.builtIn();
        String whole = Resources.text("/paragraph.txt");
        assertEquals(whole.strip(), builtIn.paragraph());
        assertEquals(whole.substring(0, whole.indexOf('.') + 1), builtIn.sentence());
        StudyText chinese = StudyText.of("第一句。第二句。");
        assertEquals("第一句。", chinese.sentence());
        StudyText endless = StudyText.of("\ufeff word, ".repeat(1000));
        assertEquals(
                StudyText.MOST_TOKENS, StudyText.tokens(endless.paragraph()).size());
        assertEquals(
                StudyText.MOST_IN_SENTENCE, StudyText.tokens(endless.sentence()).size());
        assertEquals("[SEP]", StudyText.label("[SEP]"));
        assertEquals("aaaaaaaaaaaaaaaa…", StudyText.label("a".repeat(17)));
        assertEquals("😀b", StudyText.label("😀\u0007b\u200d"));
    }

    @Test
    void textsWithoutAWordAreOneError() throws IOException {
        for (String text : List.of("", " \n\t", "\u0000\u200d\ufeff")) {
            assertThrows(IllegalArgumentException.class, () -> StudyText.of(text));
            Path file = Files.writeString(folder.resolve("text"), text);
            assertEquals(
                    "--file: " + text.length() + " characters without a word; expected at least one word",
                    error("--file", file.toString()));
        }
        assertEquals("--text: 0 characters without a word; expected at least one word", error("--text", ""));
        Path latin = Files.write(folder.resolve("latin"), new byte[] {'C', 'a', 'f', (byte) 0xe9, ' ', 'x'});
        assertEquals("--file: " + latin + ": not UTF-8; expected a text file", error("--file", latin.toString()));
        Path none = folder.resolve("none");
        assertEquals("--file: " + none + ": no such file; expected a text file", error("--file", none.toString()));
        assertEquals("--text and --file: both; expected one of them", error("--text", "a", "--file", "b"));
    }

    /** Labels of maximum length with the widest letters do not reach into the margin. */
    @Test
    void mapsCutLabelsThatHaveNoRoom() throws IOException {
        List<String> tokens = List.of("a", StudyText.label("W".repeat(20)), "b");
        Exhibit.Picture map = WeightMap.attention("map", "Name", "measured", tokens, new double[3][3]);
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(map.png()));
        for (int x = 0; x < 2; x++) {
            for (int y = 0; y < image.getHeight(); y++) {
                assertEquals(0xffffff, image.getRGB(x, y) & 0xffffff, x + ", " + y);
            }
        }
        assertTrue(map.svg().contains("WW…"), map.svg());
    }

    /** The circle of a legend is not in the clipped group with the circles of the chart. */
    @Test
    void circlesBecomeDotsWhereTheyStand() {
        String circle =
                "<ellipse cx=\"1.5\" cy=\"2.5\" rx=\"1.5\" ry=\"1.5\" style=\"fill:rgb(0,1,2);stroke:none;\"/>\n";
        String svg = "<svg><g>" + circle.repeat(100) + "</g>" + circle + "</svg>";
        assertEquals(
                "<svg><g><path d=\"" + "M1.5 2.5h.01".repeat(100)
                        + "\" style=\"fill:none;stroke:rgb(0,1,2);stroke-width:3.00;stroke-linecap:round\"/>\n</g>"
                        + circle + "</svg>",
                Svg.points(svg));
    }

    /** The last dash of a line may be shorter, and the first dash may be painted last. Other shapes are not changed. */
    @Test
    void rectanglesInARowBecomeADashedLine() {
        String style = " style=\"fill:rgb(1,2,3);stroke:none;\"/>";
        String across = "M18.0,4.5L21.0,4.5L21.0,5.5L18.0,5.5ZM26.0,4.5L28.0,4.5L28.0,5.5L26.0,5.5Z"
                + "M10.0,4.5L13.0,4.5L13.0,5.5L10.0,5.5Z";
        String upright = across.replaceAll("([\\d.]+),([\\d.]+)", "$2,$1");
        String dashed = " style=\"fill:none;stroke:rgb(1,2,3);stroke-width:1.0;stroke-dasharray:3.0 5.00\"/>";
        assertEquals("<path d=\"M10.0 5.00H28.0\"" + dashed, Svg.dashes("<path d=\"" + across + "\"" + style));
        assertEquals("<path d=\"M5.00 10.0V28.0\"" + dashed, Svg.dashes("<path d=\"" + upright + "\"" + style));
        for (String other : List.of(
                across.replace("18.0", "18.5"),
                across.replace("L13.0,5.5", "L14.0,5.5"),
                across.replace("5.5", "5.9").replaceFirst("5.9", "6.9"))) {
            String path = "<path d=\"" + other + "\"" + style;
            assertEquals(path, Svg.dashes(path));
        }
    }

    /** Returns the first line of the error message for a wrong option. */
    private String error(String... arguments) {
        StringWriter errors = new StringWriter();
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--out", folder.resolve("out").toString()));
        assertEquals(2, Study.run(new PrintWriter(errors), all.toArray(String[]::new)));
        assertFalse(Files.exists(folder.resolve("out")));
        return errors.toString().lines().findFirst().orElse("");
    }
}
