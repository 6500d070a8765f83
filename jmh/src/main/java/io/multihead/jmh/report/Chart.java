package io.multihead.jmh.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.AnnotationLine;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.CategoryStyler;
import org.knowm.xchart.style.Styler;

/** One chart of bars in groups: ours strong, peers muted, the limit as a line across. */
final class Chart {
    private static final int WIDTH = 900;
    /** Of all names below the bars, where they still stand side by side. */
    private static final int MOST_LETTERS = 80;

    private static final int HEIGHT = 380;
    /** Sharp on dense screens. */
    private static final int SCALE = 2;

    /** Where a label stands in its bar: not at its end, which may be at the limit's line. */
    private static final double LABELS = 0.85;
    /** Bars that leave room for three digits each. */
    private static final int UPRIGHT = 24;

    private static final Color LIMIT = new Color(0x333333);

    private static final Color OURS = new Color(0x0072b2);
    private static final Color OURS_PAGED = new Color(0x56b4e9);
    private static final Map<String, Integer> PEERS = Map.ofEntries(
            Map.entry("onnxruntime", 0x8c8c8c),
            Map.entry("onnxgqa", 0xa9b3bd),
            Map.entry("onednn", 0xe0cfa8),
            Map.entry("openblas", 0xb8b8b8),
            Map.entry("pytorch", 0xc9a48f),
            Map.entry("jlama", 0xc7d3bf),
            Map.entry("reducelanes", 0xbcaecb),
            Map.entry("scalar", 0xe2dcec),
            Map.entry("loops in Java", 0xe2dcec),
            Map.entry("llamacpp", 0xd6b656),
            Map.entry("loops", 0xe2dcec),
            Map.entry("onnxruntime-8bit", 0xa9b3bd));

    private final CategoryChart chart;
    private final List<String> groups;
    private double most;

    Chart(String title, String x, String y, List<String> groups) {
        this.groups = groups;
        chart = new CategoryChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(x)
                .yAxisTitle(y)
                .build();
        style(chart.getStyler());
    }

    /** Writes numbers with decimals, of which there are none otherwise. */
    Chart decimals(int digits) {
        chart.getStyler().setDecimalPattern("0." + "0".repeat(digits));
        return this;
    }

    /** Adds a bar to each group; null where there is none. */
    void bars(String impl, boolean ours, List<Double> values) {
        Color own = impl.equals("multihead") ? OURS : OURS_PAGED;
        chart.addSeries(impl, groups, values).setFillColor(ours ? own : new Color(PEERS.getOrDefault(impl, 0xd9d4c7)));
        values.stream().filter(value -> value != null).forEach(value -> most = Math.max(most, value));
    }

    /** Draws the limit; NaN draws nothing. */
    void limit(double limit) {
        if (!Double.isNaN(limit)) {
            chart.addAnnotation(new AnnotationLine(limit, false, false));
            most = Math.max(most, limit);
        }
    }

    byte[] png() throws IOException {
        chart.getStyler().setYAxisMin(0.0).setYAxisMax(1.1 * most);
        int letters = groups.stream().mapToInt(String::length).sum();
        chart.getStyler().setXAxisLabelRotation(letters > MOST_LETTERS ? 20 : 0);
        chart.getStyler().setLabelsRotation(groups.size() * chart.getSeriesMap().size() > UPRIGHT ? 90 : 0);
        BufferedImage image = new BufferedImage(SCALE * WIDTH, SCALE * HEIGHT, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.scale(SCALE, SCALE);
        chart.paint(graphics, WIDTH, HEIGHT);
        graphics.dispose();
        return Png.of(image);
    }

    private static void style(CategoryStyler styler) {
        Font plain = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
        styler.setBaseFont(plain);
        styler.setChartTitleFont(plain.deriveFont(Font.BOLD, 13f));
        styler.setLegendFont(plain).setLegendPosition(Styler.LegendPosition.OutsideE);
        styler.setChartBackgroundColor(Color.WHITE)
                .setPlotBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false);
        styler.setChartTitleBoxVisible(false).setLegendBorderColor(Color.WHITE).setChartPadding(8);
        styler.setAxisTitleFont(plain).setAxisTickLabelsFont(plain).setPlotGridLinesColor(new Color(0xdddddd));
        styler.setPlotGridVerticalLinesVisible(false);
        styler.setAvailableSpaceFill(0.85).setLabelsVisible(true).setLabelsFont(plain.deriveFont(10f));
        styler.setLabelsPosition(LABELS);
        styler.setDecimalPattern("0");
        styler.setAnnotationLineColor(LIMIT);
        styler.setAnnotationLineStroke(
                new BasicStroke(1.5f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1f, new float[] {6, 5}, 0));
    }
}
