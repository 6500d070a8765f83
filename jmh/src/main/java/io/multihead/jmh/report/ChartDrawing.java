package io.multihead.jmh.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;

/** Draws one chart. A group has the bars that it has numbers for, side by side, and each number above its bar. */
final class ChartDrawing {
    private static final int MARGIN = 12;
    /** Between neighbours, such as a bar and its number. */
    private static final int GAP = 3;
    /** From one line of text to the next. */
    private static final int LINE = 16;
    /** From one line of the legend to the next, and the side of its squares. */
    private static final int ENTRY = 28;

    private static final int SQUARE = 18;
    /** The part of a group's width that bars take at most. */
    private static final double FILL = 0.92;

    private static final int WIDEST_BAR = 90;
    /** The top of the axis over the longest bar: room for an upright number. */
    private static final double HEADROOM = 1.12;

    private static final int MOST_TICKS = 7;

    private static final Font PLAIN = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
    private static final Font TITLE = PLAIN.deriveFont(Font.BOLD, 13f);
    private static final Font NUMBER = PLAIN.deriveFont(10f);

    private static final Color TEXT = new Color(0x222222);
    private static final Color GRID = new Color(0xe0e0e0);
    private static final BasicStroke LIMIT =
            new BasicStroke(1.5f, BasicStroke.CAP_BUTT, BasicStroke.JOIN_ROUND, 1f, new float[] {6, 5}, 0);

    private final Graphics2D graphics;
    private final Chart.Labels labels;
    private final List<Chart.Bars> bars;
    private final double limit;
    private final List<Rectangle2D> texts = new ArrayList<>();

    /** The number at the top of the axis. */
    private final double top;

    private final Rectangle2D plot;
    private final double groupWidth;
    private final double barWidth;
    private final List<List<String>> names;

    ChartDrawing(Graphics2D graphics, Chart.Labels labels, List<Chart.Bars> bars, double limit) {
        this.graphics = graphics;
        this.labels = labels;
        this.bars = bars;
        this.limit = limit;
        graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        graphics.setRenderingHint(RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
        top = HEADROOM
                * Stream.concat(Stream.of(limit), bars.stream().flatMap(of -> of.values().stream()))
                        .filter(value -> value != null && !Double.isNaN(value))
                        .mapToDouble(value -> value)
                        .max()
                        .orElse(1);
        double left = MARGIN + LINE + widest(PLAIN, List.of(tick(top))) + 5 * GAP;
        double legend = SQUARE
                + 2 * GAP
                + widest(PLAIN, bars.stream().map(Chart.Bars::impl).toList());
        double right = Chart.WIDTH - 3 * MARGIN - legend;
        int groups = labels.groups().size();
        groupWidth = (right - left) / groups;
        boolean wide = widest(PLAIN, labels.groups()) > groupWidth - 2 * GAP;
        names = labels.groups().stream()
                .map(name -> wide ? List.of(name.split("(?<=,) ")) : List.of(name))
                .toList();
        int lines = names.stream().mapToInt(List::size).max().orElse(0)
                + (labels.x().isEmpty() ? 0 : 1);
        double above = 2 * MARGIN + LINE;
        plot = new Rectangle2D.Double(left, above, right - left, Chart.HEIGHT - above - MARGIN - LINE * lines);
        long most = 1;
        for (int i = 0; i < groups; i++) {
            most = Math.max(most, of(i).size());
        }
        barWidth = Math.min(WIDEST_BAR, FILL * groupWidth / most);
    }

    /** Draws all of it, and returns where texts stand. */
    List<Rectangle2D> draw() {
        graphics.setColor(Color.WHITE);
        graphics.fill(new Rectangle2D.Double(0, 0, Chart.WIDTH, Chart.HEIGHT));
        text(labels.title(), TITLE, plot.getCenterX(), MARGIN + LINE, 0.5);
        axis();
        for (int i = 0; i < names.size(); i++) {
            group(i);
        }
        graphics.setColor(TEXT);
        graphics.draw(new Line2D.Double(plot.getX(), plot.getMaxY(), plot.getMaxX(), plot.getMaxY()));
        if (!Double.isNaN(limit)) {
            graphics.setStroke(LIMIT);
            graphics.draw(new Line2D.Double(plot.getX(), y(limit), plot.getMaxX(), y(limit)));
        }
        numbers();
        text(labels.x(), PLAIN, plot.getCenterX(), Chart.HEIGHT - MARGIN, 0.5);
        upright(labels.y(), PLAIN, MARGIN + LINE / 2.0, plot.getCenterY(), 0.5);
        legend();
        return texts;
    }

    private void axis() {
        double step = step();
        for (double at = 0; at < top; at += step) {
            graphics.setColor(GRID);
            graphics.draw(new Line2D.Double(plot.getX(), y(at), plot.getMaxX(), y(at)));
            text(tick(at), PLAIN, plot.getX() - 2 * GAP, y(at) + PLAIN.getSize2D() / 3, 1);
        }
    }

    /** Returns the number from one line of the grid to the next: a power of ten, twice or five times that. */
    private double step() {
        double power = Math.pow(10, Math.floor(Math.log10(top / MOST_TICKS)));
        return Stream.of(1, 2, 5, 10)
                .mapToDouble(times -> times * power)
                .filter(step -> top / step <= MOST_TICKS)
                .findFirst()
                .orElseThrow();
    }

    private String tick(double at) {
        int decimals = (int) Math.max(0, -Math.floor(Math.log10(step()) + 1e-9));
        return String.format(Locale.ROOT, "%." + decimals + "f", at);
    }

    /** Returns the impls that have a bar in a group. */
    private List<Chart.Bars> of(int group) {
        return bars.stream().filter(bar -> bar.values().get(group) != null).toList();
    }

    /** Returns where the first bar of a group begins. */
    private double begin(int group) {
        return plot.getX() + (group + 0.5) * groupWidth - barWidth * of(group).size() / 2;
    }

    private void group(int group) {
        double x = begin(group);
        for (Chart.Bars bar : of(group)) {
            double y = y(Objects.requireNonNull(bar.values().get(group)));
            graphics.setColor(bar.colour());
            graphics.fill(new Rectangle2D.Double(x, y, barWidth - 0.5, plot.getMaxY() - y));
            x += barWidth;
        }
        double y = plot.getMaxY() + LINE;
        for (String line : names.get(group)) {
            text(line, PLAIN, plot.getX() + (group + 0.5) * groupWidth, y, 0.5);
            y += LINE;
        }
    }

    /** Writes numbers above bars: upright where one of them is wider than its bar, and over the line of the limit. */
    private void numbers() {
        boolean narrow = widest(
                        NUMBER,
                        bars.stream()
                                .flatMap(bar -> bar.values().stream())
                                .filter(Objects::nonNull)
                                .map(labels.numbers()::apply)
                                .toList())
                > barWidth;
        for (int i = 0; i < names.size(); i++) {
            double x = begin(i) + barWidth / 2;
            for (Chart.Bars bar : of(i)) {
                double value = Objects.requireNonNull(bar.values().get(i));
                String number = labels.numbers().apply(value);
                if (narrow) {
                    upright(number, NUMBER, x, y(value) - GAP, 0);
                } else {
                    text(number, NUMBER, x, y(value) - GAP, 0.5);
                }
                x += barWidth;
            }
        }
    }

    private void legend() {
        double x = plot.getMaxX() + 2 * MARGIN;
        double y = plot.getCenterY() - ENTRY * bars.size() / 2.0;
        for (Chart.Bars bar : bars) {
            graphics.setColor(bar.colour());
            graphics.fill(new Rectangle2D.Double(x, y, SQUARE, SQUARE));
            text(bar.impl(), PLAIN, x + SQUARE + 2 * GAP, y + SQUARE - GAP - 1, 0);
            y += ENTRY;
        }
    }

    private double y(double value) {
        return plot.getMaxY() - value / top * plot.getHeight();
    }

    /** Writes a text whose part before {@code x} is a share of its width, on white; nothing where it is empty. */
    private void text(String text, Font font, double x, double baseline, double before) {
        if (!text.isEmpty()) {
            double width = width(font, text);
            double height = font.getSize2D();
            place(new Rectangle2D.Double(x - before * width, baseline - 0.8 * height, width, height));
            graphics.setFont(font);
            graphics.drawString(text, (float) (x - before * width), (float) baseline);
        }
    }

    /** Writes a text from below, its middle at {@code x}, whose part below {@code y} is a share of its width. */
    private void upright(String text, Font font, double x, double y, double below) {
        double width = width(font, text);
        double height = font.getSize2D();
        place(new Rectangle2D.Double(x - height / 2, y - (1 - below) * width, height, width));
        AffineTransform before = graphics.getTransform();
        graphics.translate(x + 0.35 * height, y + below * width);
        graphics.rotate(-Math.PI / 2);
        graphics.setFont(font);
        graphics.drawString(text, 0, 0);
        graphics.setTransform(before);
    }

    /** Makes room for a text. */
    private void place(Rectangle2D text) {
        texts.add(text);
        graphics.setColor(Color.WHITE);
        graphics.fill(text);
        graphics.setColor(TEXT);
    }

    private double widest(Font font, List<String> of) {
        return of.stream().mapToDouble(text -> width(font, text)).max().orElse(0);
    }

    private double width(Font font, String text) {
        return font.getStringBounds(text, graphics.getFontRenderContext()).getWidth();
    }
}
