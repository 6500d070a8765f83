package io.multihead.demo;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** The common style of all charts: fonts, colors and axes. Each chart is drawn as SVG and as PNG. */
final class Charts {
    /** Matplotlib's viridis at nine points. Equal steps look equal, also in gray and to most color-blind readers. */
    private static final Color[] VIRIDIS =
            colors("440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725");

    /** Wong's palette, in which colors can be distinguished without red and green. */
    static final Color[] LINES = colors("0072b2", "d55e00", "009e73", "cc79a7", "e69f00", "56b4e9", "555555");

    private static final String SANS = Font.SANS_SERIF;

    private Charts() {}

    /** Returns the color of a number from 0 to 1. */
    static Color color(double part) {
        double at = Math.clamp(part, 0, 1) * (VIRIDIS.length - 1);
        int low = Math.min((int) at, VIRIDIS.length - 2);
        float[] from = VIRIDIS[low].getRGBColorComponents(null);
        float[] to = VIRIDIS[low + 1].getRGBColorComponents(null);
        for (int i = 0; i < from.length; i++) {
            from[i] += (float) (at - low) * (to[i] - from[i]);
        }
        return new Color(from[0], from[1], from[2]);
    }

    /** Returns a line chart with a numeric axis. */
    static XYChart lines(String title, String x, String y, boolean logarithmic) {
        XYChart chart = axes(title, x, y, 860, 460);
        chart.getStyler().setXAxisLogarithmic(logarithmic).setYAxisLogarithmic(logarithmic);
        chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
        return chart;
    }

    /**
     * Adds labels between the powers of ten to logarithmic axes, for curves that span at most two powers. The labels
     * are small, so that 900 and 1,000 do not touch. (A function for labels would make XChart place ticks as on a
     * linear axis.)
     */
    static void labelWithinDecades(XYChart chart) {
        chart.getStyler().setXAxisLogarithmicDecadeOnly(false).setYAxisLogarithmicDecadeOnly(false);
        chart.getStyler()
                .setAxisTickLabelsFont(chart.getStyler().getAxisTickLabelsFont().deriveFont(10f));
    }

    /**
     * Returns a line chart with half the width of the page. The legend is below the chart, in one row or with a row for
     * each line.
     */
    static XYChart smallLines(String title, String x, String y, boolean rows) {
        XYChart chart = axes(title, x, y, 500, rows ? 520 : 380);
        chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideS);
        chart.getStyler().setLegendLayout(rows ? Styler.LegendLayout.Vertical : Styler.LegendLayout.Horizontal);
        chart.getStyler().setYAxisMin(0.0);
        return chart;
    }

    private static XYChart axes(String title, String x, String y, int width, int height) {
        XYChart chart = new XYChartBuilder()
                .width(width)
                .height(height)
                .title(title)
                .xAxisTitle(x)
                .yAxisTitle(y)
                .build();
        style(chart);
        chart.getStyler().setSeriesColors(LINES);
        chart.getStyler().setMarkerSize(6);
        return chart;
    }

    /** Returns a bar chart with one group of bars per name. */
    static CategoryChart bars(String title, String x, String y, List<String> names, Map<String, double[]> series) {
        CategoryChart chart = new CategoryChartBuilder()
                .width(860)
                .height(420)
                .title(title)
                .xAxisTitle(x)
                .yAxisTitle(y)
                .build();
        style(chart);
        chart.getStyler().setSeriesColors(LINES);
        chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
        chart.getStyler().setAvailableSpaceFill(0.8);
        chart.getStyler().setXAxisLabelRotation(names.size() > 12 ? 90 : 0);
        if (series.values().stream().flatMapToDouble(Arrays::stream).min().orElse(0) >= 0) {
            chart.getStyler().setYAxisMin(0.0);
        }
        series.forEach((name, values) ->
                chart.addSeries(name, names, Arrays.stream(values).boxed().toList()));
        return chart;
    }

    /** Adds a line. A dashed line shows a formula, other lines show measurements. */
    static XYSeries line(XYChart chart, String name, double[] x, double[] y, boolean dashed) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setLineStyle(
                dashed
                        ? new BasicStroke(1.6f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1f, new float[] {6, 5}, 0)
                        : new BasicStroke(2.2f));
        series.setMarker(dashed ? SeriesMarkers.NONE : SeriesMarkers.CIRCLE);
        return series;
    }

    /** Draws a chart as SVG and as PNG. */
    static Exhibit.Picture draw(String name, Chart<?, ?> chart) {
        try {
            byte[] png = BitmapEncoder.getBitmapBytes(chart, BitmapEncoder.BitmapFormat.PNG);
            int width = chart.getWidth();
            int height = chart.getHeight();
            return new Exhibit.Picture(name, Svg.draw(name, width, height, to -> chart.paint(to, width, height)), png);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<String> labels(int count, IntFunction<String> label) {
        return IntStream.range(0, count).mapToObj(label).toList();
    }

    /** Returns the svg element, with ids that are unique on the page and a size that scales with the page. */
    static String inline(String document, String name) {
        return document.substring(document.indexOf("<svg"))
                .replaceAll("\\bid=\"([^\"]+)\"", "id=\"" + name + "-$1\"")
                .replaceAll("url\\(#([^)]+)\\)", "url(#" + name + "-$1)")
                .replaceAll("xlink:href=\"#([^\"]+)\"", "xlink:href=\"#" + name + "-$1\"");
    }

    private static void style(Chart<?, ?> chart) {
        Styler styler = chart.getStyler();
        styler.setBaseFont(new Font(SANS, Font.PLAIN, 12));
        styler.setChartTitleFont(new Font(SANS, Font.BOLD, 14));
        styler.setLegendFont(new Font(SANS, Font.PLAIN, 12));
        styler.setChartBackgroundColor(Color.WHITE)
                .setPlotBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false);
        styler.setChartTitleBoxVisible(false).setLegendBorderColor(Color.WHITE).setChartPadding(8);
        if (styler instanceof AxesChartStyler axes) {
            axes.setDecimalPattern("#,##0.####");
            axes.setAxisTitleFont(new Font(SANS, Font.PLAIN, 12));
            axes.setAxisTickLabelsFont(new Font(SANS, Font.PLAIN, 12));
            axes.setPlotGridLinesColor(new Color(0xdd, 0xdd, 0xdd));
        }
    }

    private static Color[] colors(String... hex) {
        Color[] colors = new Color[hex.length];
        Arrays.setAll(colors, i -> new Color(Integer.parseInt(hex[i], 16)));
        return colors;
    }
}
