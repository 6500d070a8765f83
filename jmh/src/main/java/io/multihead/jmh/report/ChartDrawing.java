package io.multihead.jmh.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.font.FontRenderContext;
import java.awt.geom.Rectangle2D;
import java.text.NumberFormat;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jfree.chart.ChartRenderingInfo;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.annotations.XYTextAnnotation;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.axis.SymbolAxis;
import org.jfree.chart.plot.ValueMarker;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.xy.StandardXYBarPainter;
import org.jfree.chart.renderer.xy.XYBarRenderer;
import org.jfree.chart.title.LegendTitle;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.xy.XYIntervalSeries;
import org.jfree.data.xy.XYIntervalSeriesCollection;

/** A chart for JFreeChart: group i is at x = i, and has the bars that it has numbers for, side by side. */
final class ChartDrawing {
    /** The part of a group's width that bars take at most, and the part of the chart's width that one takes. */
    private static final double FILL = 0.92;

    private static final double WIDEST_BAR = 0.13;
    /** The top of the axis over the longest bar: room for an upright number. */
    private static final double HEADROOM = 1.12;
    /** From a bar to its number, as a part of the axis. */
    private static final double GAP = 0.006;
    /** Between neighbouring bars, as a part of one. */
    private static final double SLIT = 0.015;

    private static final int MOST_TICKS = 7;
    private static final Color GRID = new Color(0xe0e0e0);
    private static final Font PLAIN = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
    private static final Font TITLE = PLAIN.deriveFont(Font.BOLD, 13f);
    private static final Font NUMBER = PLAIN.deriveFont(10f);
    private static final BasicStroke LINE = new BasicStroke(1);
    private static final BasicStroke LIMIT =
            new BasicStroke(1.5f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1f, new float[] {6, 5}, 0);

    private final Chart.Labels labels;
    private final List<Double> values;
    /** The number at the top of the axis. */
    private final double top;

    private final double barWidth;
    private final XYIntervalSeriesCollection data = new XYIntervalSeriesCollection();
    private final XYBarRenderer renderer = new XYBarRenderer(SLIT);
    private final XYPlot plot = new XYPlot(data, null, null, renderer);

    ChartDrawing(Chart.Labels labels, List<Chart.Bars> bars, double limit) {
        this.labels = labels;
        values = bars.stream()
                .flatMap(bar -> bar.values().stream())
                .filter(Objects::nonNull)
                .toList();
        double longest = values.stream().mapToDouble(value -> value).max().orElse(1);
        top = HEADROOM * (limit > longest ? limit : longest);
        int groups = labels.groups().size();
        int[] sizes = new int[groups];
        bars.forEach(bar ->
                Arrays.setAll(sizes, group -> sizes[group] + (bar.values().get(group) == null ? 0 : 1)));
        barWidth =
                Math.min(WIDEST_BAR * groups, FILL / Arrays.stream(sizes).max().orElse(1));
        double[] x = IntStream.range(0, groups)
                .mapToDouble(group -> group - barWidth * sizes[group] / 2)
                .toArray();
        for (Chart.Bars bar : bars) {
            XYIntervalSeries series = new XYIntervalSeries(bar.impl());
            for (int group = 0; group < groups; group++) {
                Double value = bar.values().get(group);
                if (value != null) {
                    series.add(x[group] + barWidth / 2, x[group], x[group] + barWidth, value, value, value);
                    x[group] += barWidth;
                }
            }
            renderer.setSeriesPaint(data.getSeriesCount(), bar.colour());
            data.addSeries(series);
        }
        renderer.setBarPainter(new StandardXYBarPainter());
        renderer.setShadowVisible(false);
        renderer.setLegendBar(new Rectangle2D.Double(-9, -9, 18, 18));
        plot.setRangeAxis(axis());
        plot.setOutlineVisible(false);
        plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
        plot.setDomainGridlinesVisible(false);
        plot.setRangeGridlinePaint(GRID);
        plot.setRangeGridlineStroke(LINE);
        if (!Double.isNaN(limit)) {
            plot.addRangeMarker(new ValueMarker(limit, Color.BLACK, LIMIT));
        }
    }

    /** Draws all of it twice, since the width of the plot says how names and numbers are written. Returns where parts stand. */
    ChartRenderingInfo draw(Graphics2D graphics) {
        JFreeChart chart = new JFreeChart(labels.title(), TITLE, plot, false);
        chart.setBackgroundPaint(Color.WHITE);
        chart.setTextAntiAlias(true);
        chart.getRenderingHints().put(RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
        chart.setPadding(new RectangleInsets(12, 2, 4, 10));
        LegendTitle legend = new LegendTitle(plot);
        legend.setPosition(RectangleEdge.RIGHT);
        legend.setItemFont(PLAIN);
        legend.setLegendItemGraphicPadding(new RectangleInsets(5, 20, 5, 4));
        chart.addSubtitle(legend);
        Rectangle2D whole = new Rectangle2D.Double(0, 0, Chart.WIDTH, Chart.HEIGHT);
        ChartRenderingInfo info = new ChartRenderingInfo();
        chart.draw(graphics, whole, info);
        double groupWidth =
                info.getPlotInfo().getDataArea().getWidth() / labels.groups().size();
        names(widest(PLAIN, labels.groups().stream()) > groupWidth - 6);
        numbers(widest(NUMBER, values.stream().map(labels.numbers()::apply)) > barWidth * groupWidth);
        chart.draw(graphics, whole, info);
        return info;
    }

    private NumberAxis axis() {
        NumberAxis axis = styled(new NumberAxis(labels.y()));
        double step = NumberAxis.createStandardTickUnits()
                .getCeilingTickUnit(top / MOST_TICKS)
                .getSize();
        NumberFormat format = NumberFormat.getInstance(Locale.ROOT);
        format.setMinimumFractionDigits((int) Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
        axis.setTickUnit(new NumberTickUnit(step, format));
        axis.setRange(0, top);
        axis.setAxisLineVisible(false);
        return axis;
    }

    /** Writes names of groups; those that are too wide in lines, which are an axis each. */
    private void names(boolean wide) {
        List<String[]> names = labels.groups().stream()
                .map(name -> wide ? name.split("(?<=,) ") : new String[] {name})
                .toList();
        int lines = names.stream().mapToInt(name -> name.length).max().orElse(1);
        for (int i = 0; i < lines; i++) {
            int line = i;
            Stream<String> parts = names.stream().map(name -> line < name.length ? name[line] : "");
            String label = line < lines - 1 || labels.x().isEmpty() ? null : labels.x();
            SymbolAxis axis = styled(new SymbolAxis(label, parts.toArray(String[]::new)));
            axis.setGridBandsVisible(false);
            axis.setRange(-0.5, names.size() - 0.5);
            axis.setAxisLineVisible(line == 0);
            plot.setDomainAxis(line, axis);
            plot.setDomainAxisLocation(line, AxisLocation.BOTTOM_OR_LEFT);
        }
    }

    private static <A extends NumberAxis> A styled(A axis) {
        axis.setLabelFont(PLAIN);
        axis.setTickLabelFont(PLAIN);
        axis.setTickMarksVisible(false);
        axis.setAxisLinePaint(Color.BLACK);
        axis.setAxisLineStroke(LINE);
        return axis;
    }

    /** Writes numbers above bars, and over the line of the limit, which would cross labels of the bars. */
    private void numbers(boolean upright) {
        for (int series = 0; series < data.getSeriesCount(); series++) {
            for (int item = 0; item < data.getItemCount(series); item++) {
                double value = data.getYValue(series, item);
                String number = labels.numbers().apply(value);
                XYTextAnnotation text = new XYTextAnnotation(number, data.getXValue(series, item), value + GAP * top);
                text.setFont(NUMBER);
                text.setBackgroundPaint(Color.WHITE);
                text.setTextAnchor(upright ? TextAnchor.CENTER_LEFT : TextAnchor.BOTTOM_CENTER);
                text.setRotationAnchor(text.getTextAnchor());
                text.setRotationAngle(upright ? -Math.PI / 2 : 0);
                text.setToolTipText(number); // what has none is not among the parts that drawing returns
                plot.addAnnotation(text);
            }
        }
    }

    private static double widest(Font font, Stream<String> texts) {
        FontRenderContext context = new FontRenderContext(null, true, true);
        return texts.mapToDouble(text -> font.getStringBounds(text, context).getWidth())
                .max()
                .orElse(0);
    }
}
