package io.multihead.jmh.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChartTest {
    private final BufferedImage image = new BufferedImage(Chart.WIDTH, Chart.HEIGHT, BufferedImage.TYPE_INT_RGB);

    @Test
    void textsOfAllChartsOfTheDocsStandApart() throws IOException {
        int charts = 0;
        for (Map.Entry<String, Study> study :
                StudyFile.readAll(Path.of("../docs/performance")).entrySet()) {
            for (Charts.Picture picture : Sections.pictures(study.getValue())) {
                requireApart(study.getKey() + "/" + picture.name(), draw(picture.chart()));
                charts++;
            }
        }
        assertTrue(charts > 20, "charts: " + charts);
    }

    @Test
    void numbersOfNarrowAndOfLowBarsStandApart() {
        List<String> groups = List.of("false, 32x12x128x32", "true, 32x12x128x32", "c", "d", "e", "f");
        Chart chart = new Chart(new Chart.Labels("title", "x", "y", groups, Tables::speed), 100);
        for (int i = 0; i < 8; i++) {
            chart.bars("impl" + i, i < 2, List.of(0.04, 99.99, 100.0, 117.0, 50.0 + i, 3.0));
        }
        List<Rectangle2D> texts = draw(chart);
        requireApart("narrow", texts);
        // title, names of axes, ticks from 0 to 120, names of groups, of which two have two lines, numbers, legend
        assertEquals(3 + 7 + 8 + 48 + 8, texts.size());
    }

    private List<Rectangle2D> draw(Chart chart) {
        Graphics2D graphics = image.createGraphics();
        try {
            return chart.draw(graphics);
        } finally {
            graphics.dispose();
        }
    }

    private static void requireApart(String chart, List<Rectangle2D> texts) {
        Rectangle2D whole = new Rectangle2D.Double(0, 0, Chart.WIDTH, Chart.HEIGHT);
        for (int i = 0; i < texts.size(); i++) {
            assertTrue(whole.contains(texts.get(i)), chart + ": " + texts.get(i));
            for (int j = 0; j < i; j++) {
                assertFalse(texts.get(i).intersects(texts.get(j)), chart + ": " + texts.get(i) + " " + texts.get(j));
            }
        }
    }
}
