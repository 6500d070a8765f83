package io.multihead.demo;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import javax.imageio.ImageIO;

/**
 * A picture of a matrix with colors from 0 to a number, which is usually its largest element. Rows and columns have
 * labels, and the color scale is below. Two pictures fit next to each other with legible labels.
 */
final class WeightMap {
    private static final int WIDTH = 480;
    private static final int LEFT = 84;
    private static final int TOP = 46;
    private static final int TOKENS_BELOW = 84;
    private static final int HEADS_BELOW = 50;
    private static final int SCALE = 30;
    private static final int RESOLUTION = 2;
    private static final double TALLEST_CELL = 26;

    private final String name;
    private final String measured;
    private final List<String> rows;
    private final List<String> columns;
    private final double[][] values;
    private final double most;
    private final double width;
    private final double height;
    private final String decimals;

    private WeightMap(
            String name,
            String measured,
            List<String> rows,
            List<String> columns,
            double[][] values,
            double most,
            String decimals) {
        this.name = name;
        this.measured = measured;
        this.rows = rows;
        this.columns = columns;
        this.values = values;
        this.decimals = decimals;
        this.most = most;
        width = (WIDTH - LEFT - 6.0) / columns.size();
        height = Math.min(width, TALLEST_CELL);
    }

    /** Draws the attention of a head, with a row for each query token and a column for each key token. */
    static Exhibit.Picture attention(
            String file, String name, String measured, List<String> tokens, double[][] weights) {
        return attention(file, name, measured, tokens, weights, most(weights));
    }

    /** Draws the attention of a head with colors from 0 to {@code most}, so that adjacent maps have the same scale. */
    static Exhibit.Picture attention(
            String file, String name, String measured, List<String> tokens, double[][] weights, double most) {
        return new WeightMap(name, measured, tokens, tokens, weights, most, "").draw(file);
    }

    /** Returns the largest of some numbers. */
    static double most(double[][] values) {
        return Arrays.stream(values).flatMapToDouble(Arrays::stream).max().orElse(1);
    }

    /** Draws a number for each head of each layer and writes it into its cell. */
    static Exhibit.Picture heads(String file, String name, String measured, double[][] values, String decimals) {
        List<String> layers = Charts.labels(values.length, layer -> "layer " + (layer + 1));
        return new WeightMap(name, measured, layers, names(values[0].length), values, most(values), decimals)
                .draw(file);
    }

    /** Draws a number for each pair of heads and writes it into its cell. */
    static Exhibit.Picture pairs(String file, String name, String measured, double[][] values, String decimals) {
        List<String> heads = names(values.length);
        return new WeightMap(name, measured, heads, heads, values, most(values), decimals).draw(file);
    }

    private static List<String> names(int heads) {
        return Charts.labels(heads, head -> "head " + (head + 1));
    }

    private Exhibit.Picture draw(String file) {
        try (ByteArrayOutputStream png = new ByteArrayOutputStream()) {
            BufferedImage image =
                    new BufferedImage(RESOLUTION * WIDTH, (int) (RESOLUTION * height()), BufferedImage.TYPE_INT_RGB);
            Graphics2D pixels = image.createGraphics();
            pixels.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
            pixels.scale(RESOLUTION, RESOLUTION);
            paint(pixels);
            pixels.dispose();
            ImageIO.write(image, "png", png);
            return new Exhibit.Picture(file, Svg.draw(file, WIDTH, height(), this::paint), png.toByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private double bottom() {
        return TOP + height * rows.size();
    }

    private double height() {
        return bottom() + below() + SCALE;
    }

    private int below() {
        return decimals.isEmpty() ? TOKENS_BELOW : HEADS_BELOW;
    }

    private void paint(Graphics2D to) {
        to.setColor(Color.WHITE);
        to.fill(new Rectangle2D.Double(0, 0, WIDTH, height()));
        to.setColor(Color.BLACK);
        to.setFont(new Font(Font.SANS_SERIF, Font.BOLD, 14));
        to.drawString(name, 4, 16);
        font(to, 12);
        to.drawString(measured, 4, 34);
        font(to, (int) Math.min(11, height));
        for (int i = 0; i < rows.size(); i++) {
            String label = fitting(to, rows.get(i), LEFT - 6);
            to.setColor(Color.BLACK);
            to.drawString(label, (float) (LEFT - 5 - width(to, label)), (float) (TOP + (i + 0.5) * height + 4));
            for (int j = 0; j < columns.size(); j++) {
                cell(to, i, j);
            }
        }
        to.setColor(Color.BLACK);
        for (int j = 0; j < columns.size(); j++) {
            String label = fitting(to, columns.get(j), below());
            AffineTransform upright = to.getTransform();
            to.translate(LEFT + (j + 0.5) * width + 4, bottom() + 5 + width(to, label));
            to.rotate(-Math.PI / 2);
            to.drawString(label, 0, 0);
            to.setTransform(upright);
        }
        scale(to);
    }

    private void cell(Graphics2D to, int i, int j) {
        double part = most == 0 ? 0 : values[i][j] / most;
        double x = LEFT + j * width;
        double y = TOP + i * height;
        to.setColor(Charts.color(part));
        to.fill(new Rectangle2D.Double(x, y, width + 0.2, height + 0.2));
        if (!decimals.isEmpty()) {
            String text = HeadExhibits.format(decimals, values[i][j]);
            to.setColor(part < 0.55 ? Color.WHITE : Color.BLACK);
            to.drawString(text, (float) (x + (width - width(to, text)) / 2), (float) (y + height / 2 + 4));
        }
    }

    private void scale(Graphics2D to) {
        int steps = 100;
        double top = height() - 18;
        font(to, 11);
        for (int i = 0; i < steps; i++) {
            to.setColor(Charts.color(i / (steps - 1.0)));
            to.fill(new Rectangle2D.Double(LEFT + 90 + 1.8 * i, top, 2.1, 9));
        }
        to.setColor(Color.BLACK);
        to.drawString("0.00", LEFT + 58, (int) top + 9);
        to.drawString(HeadExhibits.format("%.2f", most), LEFT + 276, (int) top + 9);
    }

    private static void font(Graphics2D to, int size) {
        to.setFont(new Font(Font.SANS_SERIF, Font.PLAIN, size));
    }

    /** Returns a text, or the longest beginning that fits. */
    private static String fitting(Graphics2D to, String text, double room) {
        String fitting = text;
        for (int end = text.length(); end > 0 && width(to, fitting) > room; ) {
            end = text.offsetByCodePoints(end, -1);
            fitting = text.substring(0, end) + "…";
        }
        return fitting;
    }

    private static double width(Graphics2D to, String text) {
        return to.getFontMetrics().getStringBounds(text, to).getWidth();
    }
}
