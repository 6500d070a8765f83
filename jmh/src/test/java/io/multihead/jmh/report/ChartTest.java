package io.multihead.jmh.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class ChartTest {
    private static final double LETTER = 7.2;

    @Test
    void barsAreInProportionAndHaveTheirNumbers() throws Exception {
        Chart chart = new Chart(
                "<title>",
                List.of(new Chart.Group("a", Map.of("ours", 4.0)), new Chart.Group("b", Map.of("peer", 2.0))),
                8,
                Tables::speed,
                "ours"::equals);
        List<Element> bars = elements(chart, "rect");
        bars.removeFirst(); // the background
        double first = Double.parseDouble(bars.get(0).getAttribute("width"));
        assertEquals(first / 2, Double.parseDouble(bars.get(1).getAttribute("width")), 0.1);
        double left = Double.parseDouble(bars.get(0).getAttribute("x"));
        String line = elements(chart, "path").getFirst().getAttribute("d");
        assertEquals(left + 2 * first, Double.parseDouble(line.substring(1, line.indexOf(' '))), 0.2, "limit of 8");
        assertEquals(
                List.of("<title>", "a", "ours", "4.0", "b", "peer", "2.0"),
                elements(chart, "text").stream().map(Element::getTextContent).toList());
    }

    @Test
    void textsOfAllChartsOfTheDocsStandApart() throws Exception {
        int charts = 0;
        for (Map.Entry<String, Study> study :
                StudyFile.readAll(Path.of("../docs/performance")).entrySet()) {
            for (Charts.Picture picture : Sections.pictures(study.getValue())) {
                requireApart(study.getKey() + "/" + picture.name(), picture.chart());
                charts++;
            }
        }
        assertTrue(charts > 10, "charts: " + charts);
    }

    /** Requires that each line has a name, its bar and its number, from left to right and within the image. */
    private static void requireApart(String name, Chart chart) throws Exception {
        List<Element> texts = elements(chart, "text");
        HashSet<String> places = new HashSet<>();
        for (Element text : texts) {
            double x = Double.parseDouble(text.getAttribute("x"));
            double width = LETTER * text.getTextContent().length();
            boolean end = text.getAttribute("text-anchor").equals("end");
            assertTrue(end ? x >= width : x + width <= 900, name + ": " + text.getTextContent());
            assertTrue(
                    places.add((end ? "name " : "line ") + text.getAttribute("y")),
                    name + ": " + text.getTextContent());
        }
    }

    private static List<Element> elements(Chart chart, String tag) throws Exception {
        NodeList nodes = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(chart.svg().getBytes(StandardCharsets.UTF_8)))
                .getElementsByTagName(tag);
        List<Element> elements = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            elements.add((Element) nodes.item(i));
        }
        return elements;
    }
}
