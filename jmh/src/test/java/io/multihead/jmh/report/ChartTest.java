package io.multihead.jmh.report;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jfree.chart.ChartRenderingInfo;
import org.jfree.chart.axis.AxisState;
import org.jfree.chart.axis.SymbolAxis;
import org.jfree.chart.axis.Tick;
import org.jfree.chart.entity.AxisEntity;
import org.jfree.chart.entity.ChartEntity;
import org.jfree.chart.entity.LegendItemEntity;
import org.jfree.chart.entity.TitleEntity;
import org.jfree.chart.entity.XYAnnotationEntity;
import org.jfree.chart.entity.XYItemEntity;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.RectangleEdge;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ChartTest {
    private final BufferedImage image = new BufferedImage(Chart.WIDTH, Chart.HEIGHT, BufferedImage.TYPE_INT_RGB);
    private final Graphics2D graphics = image.createGraphics();

    @AfterEach
    void dispose() {
        graphics.dispose();
    }

    @Test
    void textsOfAllChartsOfTheDocsStandApart() throws IOException {
        int charts = 0;
        for (Map.Entry<String, Study> study :
                StudyFile.readAll(Path.of("../docs/performance")).entrySet()) {
            for (Charts.Picture picture : Sections.pictures(study.getValue())) {
                ChartRenderingInfo info = picture.chart().draw(graphics);
                requireApart(study.getKey() + "/" + picture.name(), texts(info));
                requireNames(info);
                assertEquals(
                        areas(info, XYItemEntity.class).size(),
                        areas(info, XYAnnotationEntity.class).size());
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
        ChartRenderingInfo info = chart.draw(graphics);
        requireApart("narrow", texts(info));
        requireNames(info);
        // title, the axis of values and one for each line of names, numbers, legend
        assertEquals(1 + 3 + 48 + 8, texts(info).size());
    }

    @Test
    void barsOfAGroupAreSideBySideWithNumbersAboveThem() {
        Chart chart = new Chart(new Chart.Labels("title", "", "y", List.of("a", "b"), Tables::speed), Double.NaN);
        chart.bars("first", true, Arrays.asList(1.0, 2.0));
        chart.bars("absent", false, Arrays.asList(null, 3.0));
        chart.bars("last", false, Arrays.asList(4.0, 5.0));
        ChartRenderingInfo info = chart.draw(graphics);
        List<Rectangle2D> bars = areas(info, XYItemEntity.class);
        List<Rectangle2D> numbers = areas(info, XYAnnotationEntity.class);
        assertEquals(5, bars.size());
        assertEquals(5, numbers.size());
        for (int i = 0; i < 5; i++) {
            Rectangle2D bar = bars.get(i);
            assertEquals(bar.getCenterX(), numbers.get(i).getCenterX(), 1, "number of bar " + i);
            double above = bar.getY() - numbers.get(i).getMaxY();
            assertTrue(above >= 0 && above < 4, "number above bar " + i + ": " + above);
            if (i > 0) {
                double gap = bar.getX() - bars.get(i - 1).getMaxX();
                assertTrue(i == 2 ? gap > 50 : gap >= 0 && gap < 2, "gap before bar " + i + ": " + gap);
            }
        }
        Rectangle2D plot = info.getPlotInfo().getDataArea();
        assertEquals(plot.getX() + plot.getWidth() / 4, bars.get(0).getMaxX(), 1);
        assertEquals(plot.getX() + plot.getWidth() * 3 / 4, bars.get(3).getCenterX(), 1);
    }

    @Test
    void lineOfTheLimitCrossesNoNumber() {
        List<int[]> drawn = new ArrayList<>();
        for (double limit : new double[] {Double.NaN, 98}) {
            Chart chart = new Chart(new Chart.Labels("title", "x", "y", List.of("a", "b"), Tables::speed), limit);
            chart.bars("impl", true, List.of(95.0, 100.0));
            Rectangle2D number =
                    areas(chart.draw(graphics), XYAnnotationEntity.class).getFirst();
            drawn.add(pixels((int) number.getX() + 1, number));
            // beside the number, the line is there
            drawn.add(pixels((int) number.getMaxX() + 2, number));
        }
        assertArrayEquals(drawn.get(0), drawn.get(2));
        assertFalse(Arrays.equals(drawn.get(1), drawn.get(3)));
    }

    private int[] pixels(int x, Rectangle2D like) {
        int width = (int) like.getWidth() - 2;
        return image.getRGB(x, (int) like.getY() + 1, width, (int) like.getHeight() - 2, null, 0, width);
    }

    /** Returns where texts stand: those of an axis together, whose own do not meet. */
    private static List<Rectangle2D> texts(ChartRenderingInfo info) {
        List<Rectangle2D> texts = areas(info, XYAnnotationEntity.class);
        texts.addAll(areas(info, LegendItemEntity.class));
        texts.addAll(areas(info, AxisEntity.class));
        entities(info).stream()
                .filter(part -> part instanceof TitleEntity of && of.getTitle() instanceof TextTitle)
                .forEach(part -> texts.add(part.getArea().getBounds2D()));
        return texts;
    }

    /** Returns where parts of a kind stand, from left to right. */
    private static List<Rectangle2D> areas(ChartRenderingInfo info, Class<? extends ChartEntity> kind) {
        List<Rectangle2D> areas = new ArrayList<>();
        entities(info).stream()
                .filter(kind::isInstance)
                .forEach(part -> areas.add(part.getArea().getBounds2D()));
        areas.sort(Comparator.comparingDouble(Rectangle2D::getX));
        return areas;
    }

    private static List<ChartEntity> entities(ChartRenderingInfo info) {
        return Arrays.stream(info.getEntityCollection().getEntities().toArray())
                .map(ChartEntity.class::cast)
                .toList();
    }

    /** Requires every name of a group: the axis leaves out one that would meet another. */
    private void requireNames(ChartRenderingInfo info) {
        graphics.setFont(graphics.getFont().deriveFont(12f));
        for (ChartEntity part : entities(info)) {
            if (part instanceof AxisEntity of && of.getAxis() instanceof SymbolAxis axis) {
                List<?> ticks = axis.refreshTicks(
                        graphics, new AxisState(), info.getPlotInfo().getDataArea(), RectangleEdge.BOTTOM);
                assertEquals(
                        List.of(axis.getSymbols()),
                        ticks.stream().map(tick -> ((Tick) tick).getText()).toList());
            }
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
