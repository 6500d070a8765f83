package io.multihead.demo;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.Shape;
import java.awt.geom.AffineTransform;
import java.awt.geom.Point2D;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.imageio.ImageIO;
import org.jspecify.annotations.Nullable;

/**
 * Writes drawings as small SVG. Text is stored as text, many cells as one image with a pixel for each cell, and many
 * points as one path.
 */
final class Svg {
    /** The characters that occur in charts. */
    private static final String CHARACTERS =
            java.util.stream.IntStream.range('!', 0x7f)
                            .mapToObj(Character::toString)
                            .collect(Collectors.joining()) + "²³µ×–—√ᵀ·⁻−°…";

    private static final List<Font> FONTS = List.of(
            new Font(Font.SANS_SERIF, Font.PLAIN, 10),
            new Font(Font.SANS_SERIF, Font.PLAIN, 11),
            new Font(Font.SANS_SERIF, Font.PLAIN, 12),
            new Font(Font.SANS_SERIF, Font.BOLD, 14));

    /** The minimum number of cells or points that are replaced. */
    private static final int MANY = 60;

    private static final Pattern CELL =
            Pattern.compile("<rect height=\"([^\"]+)\" style=\"fill:rgb\\((\\d+),(\\d+),(\\d+)\\);"
                    + "stroke:none;\" width=\"([^\"]+)\" x=\"([^\"]+)\" y=\"([^\"]+)\"/>\\s*");
    private static final Pattern PATH = Pattern.compile(" d=\"[^\"]*\"");
    private static final Pattern NUMBERS = Pattern.compile("-?[\\d.]+,-?[\\d.]+");
    private static final Pattern NUMBER = Pattern.compile("-?\\d+\\.\\d+(?:[eE]-?\\d+)?");
    /** Closed curves without a stroke, like the dashes of a dashed line. */
    private static final Pattern DASHES =
            Pattern.compile("<path d=\"((?:M[^MZ\"]*Z){3,})\" style=\"fill:(rgb\\([^)]*\\));stroke:none;\"/>");

    /** The largest difference of equal sizes and distances, since coordinates are rounded to a tenth. */
    private static final double CLOSE = 0.15;

    private static final Pattern POINT =
            Pattern.compile("<ellipse cx=\"([^\"]+)\" cy=\"([^\"]+)\" rx=\"([^\"]+)\" ry=\"([^\"]+)\" "
                    + "style=\"fill:(rgb\\([^)]*\\));stroke:none;\"/>\\s*");

    private Svg() {}

    /** Returns the painted content as an svg element, with ids that begin with the name. */
    static String draw(String name, double width, double height, Consumer<Graphics2D> paint) {
        TextGraphics graphics = new TextGraphics(new OutlinedText(CHARACTERS, FONTS));
        paint.accept(graphics);
        try (ByteArrayOutputStream svg = new ByteArrayOutputStream()) {
            new SVGProcessor()
                    .getDocument(graphics.getCommands(), new PageSize(width, height))
                    .writeTo(svg);
            return points(cells(dashes(rounded(Charts.inline(svg.toString(StandardCharsets.UTF_8), name)))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes outlines of text as text. */
    private static final class TextGraphics extends VectorGraphics2D {
        private final OutlinedText outlines;

        TextGraphics(OutlinedText outlines) {
            this.outlines = outlines;
        }

        @Override
        public void fill(Shape shape) {
            OutlinedText.Found found = outlines.find(shape);
            if (found == null) {
                super.fill(shape);
                return;
            }
            AffineTransform before = getTransform();
            Font font = getFont();
            setFont(found.font());
            if (found.upright()) {
                rotate(-Math.PI / 2);
            }
            drawString(found.text(), (float) found.x(), (float) found.y());
            setTransform(before);
            setFont(font);
        }
    }

    /** Rounds the coordinates of paths, which are pixels of a page at its original size, to a tenth. */
    static String rounded(String svg) {
        return PATH.matcher(svg).replaceAll(path -> {
            String rounded = NUMBER.matcher(path.group())
                    .replaceAll(number -> BigDecimal.valueOf(Math.round(10 * Double.parseDouble(number.group())), 1)
                            .stripTrailingZeros()
                            .toPlainString());
            return rounded.replaceAll("M(\\S+) L\\1 ", "M$1 ").replaceAll(" ([LQCZM])", "$1");
        });
    }

    /** Replaces consecutive rectangles, which are the dashes of a dashed line, by one line. */
    static String dashes(String svg) {
        return DASHES.matcher(svg).replaceAll(path -> {
            List<Rectangle2D> dashes =
                    Arrays.stream(path.group(1).split("Z")).map(Svg::rectangle).toList();
            if (dashes.contains(null)) {
                return path.group();
            }
            String line = line(dashes, path.group(2), true);
            line = line == null ? line(dashes, path.group(2), false) : line;
            return line == null ? path.group() : line;
        });
    }

    /** Returns the rectangle that a closed curve encloses, or null if it is not an upright rectangle. */
    private static @Nullable Rectangle2D rectangle(String curve) {
        List<Point2D> points = new ArrayList<>();
        for (String corner : curve.substring(1).split("L")) {
            if (!NUMBERS.matcher(corner).matches()) {
                return null;
            }
            String[] numbers = corner.split(",");
            points.add(new Point2D.Double(Double.parseDouble(numbers[0]), Double.parseDouble(numbers[1])));
        }
        if (points.size() != 4) {
            return null;
        }
        Rectangle2D all = new Rectangle2D.Double();
        all.setFrameFromDiagonal(points.getFirst(), points.getFirst());
        points.forEach(all::add);
        boolean isUpright = points.stream()
                .allMatch(point -> isOneOf(point.getX(), all.getMinX(), all.getMaxX())
                        && isOneOf(point.getY(), all.getMinY(), all.getMaxY()));
        return isUpright ? all : null;
    }

    private static boolean isOneOf(double value, double one, double other) {
        return value == one || value == other;
    }

    /** Returns a dashed line, or null if the dashes have different lengths or distances, or are not on one line. */
    private static @Nullable String line(List<Rectangle2D> dashes, String color, boolean horizontal) {
        List<double[]> along = new ArrayList<>(); // begin, length, position across the line, width
        for (Rectangle2D dash : dashes) {
            along.add(
                    horizontal
                            ? new double[] {dash.getX(), dash.getWidth(), dash.getY(), dash.getHeight()}
                            : new double[] {dash.getY(), dash.getHeight(), dash.getX(), dash.getWidth()});
        }
        along.sort(Comparator.comparingDouble(dash -> dash[0]));
        double[] first = along.getFirst();
        double[] last = along.getLast();
        double step = (last[0] - first[0]) / (along.size() - 1);
        for (int i = 0; i < along.size(); i++) {
            double[] expected = {first[0] + i * step, first[1], first[2], first[3]};
            boolean isCut = i == along.size() - 1 && along.get(i)[1] < first[1];
            for (int j = 0; j < expected.length; j++) {
                if (Math.abs(along.get(i)[j] - expected[j]) > CLOSE && !(isCut && j == 1)) {
                    return null;
                }
            }
        }
        double end = last[0] + last[1];
        double middle = first[2] + first[3] / 2;
        String path = horizontal
                ? String.format(Locale.ROOT, "M%.1f %.2fH%.1f", first[0], middle, end)
                : String.format(Locale.ROOT, "M%.2f %.1fV%.1f", middle, first[0], end);
        return String.format(
                Locale.ROOT,
                "<path d=\"%s\" style=\"fill:none;stroke:%s;stroke-width:%.1f;stroke-dasharray:%.1f %.2f\"/>",
                path,
                color,
                first[3],
                first[1],
                step - first[1]);
    }

    /** Replaces rectangles of one size that fill a grid by an image, at the position of the first rectangle. */
    static String cells(String svg) {
        List<MatchResult> all = CELL.matcher(svg).results().toList();
        Map<String, List<MatchResult>> bySize =
                all.stream().collect(Collectors.groupingBy(Svg::size, LinkedHashMap::new, Collectors.toList()));
        Map<String, String> images = new HashMap<>();
        bySize.forEach((size, cells) -> {
            String image = cells.size() < MANY ? null : image(cells);
            if (image != null) {
                images.put(size, image);
            }
        });
        // one pass, since a chart has 100,000 cells, and a search for each cell would read the whole text again
        StringBuilder smaller = new StringBuilder();
        int copied = 0;
        for (MatchResult cell : all) {
            String image = images.get(size(cell));
            if (image != null) {
                smaller.append(svg, copied, cell.start());
                smaller.append(cell == bySize.get(size(cell)).getFirst() ? image : "");
                copied = cell.end();
            }
        }
        return smaller.append(svg, copied, svg.length()).toString();
    }

    private static String size(MatchResult cell) {
        return cell.group(1) + " " + cell.group(5);
    }

    private static @Nullable String image(List<MatchResult> cells) {
        double[] xs = positions(cells, 6);
        double[] ys = positions(cells, 7);
        if (xs.length * ys.length != cells.size()) {
            return null;
        }
        BufferedImage pixels = new BufferedImage(xs.length, ys.length, BufferedImage.TYPE_INT_RGB);
        for (MatchResult cell : cells) {
            int x = java.util.Arrays.binarySearch(xs, Double.parseDouble(cell.group(6)));
            int y = java.util.Arrays.binarySearch(ys, Double.parseDouble(cell.group(7)));
            pixels.setRGB(x, y, number(cell, 2) << 16 | number(cell, 3) << 8 | number(cell, 4));
        }
        try (ByteArrayOutputStream png = new ByteArrayOutputStream()) {
            ImageIO.write(pixels, "png", png);
            return String.format(
                    Locale.ROOT,
                    "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" preserveAspectRatio=\"none\" "
                            + "style=\"image-rendering:pixelated\" xlink:href=\"data:image/png;base64,%s\"/>%n",
                    xs[0],
                    ys[0],
                    size(xs, cells.getFirst().group(5)),
                    size(ys, cells.getFirst().group(1)),
                    Base64.getEncoder().encodeToString(png.toByteArray()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the size of adjacent cells, which overlap slightly. */
    private static double size(double[] from, String one) {
        int count = from.length;
        double step = count == 1 ? Double.parseDouble(one) : (from[count - 1] - from[0]) / (count - 1);
        return step * count;
    }

    private static int number(MatchResult cell, int group) {
        return Integer.parseInt(cell.group(group));
    }

    private static double[] positions(List<MatchResult> cells, int group) {
        return cells.stream()
                .map(cell -> Double.valueOf(cell.group(group)))
                .collect(Collectors.toCollection(TreeSet::new))
                .stream()
                .mapToDouble(Double::doubleValue)
                .toArray();
    }

    /** Replaces many circles of one size and color, one after another, by a path of dots. */
    static String points(String svg) {
        StringBuilder smaller = new StringBuilder();
        List<MatchResult> run = new ArrayList<>();
        int copied = 0;
        for (MatchResult point : POINT.matcher(svg).results().toList()) {
            boolean follows = !run.isEmpty()
                    && run.getLast().end() == point.start()
                    && kind(run.getLast()).equals(kind(point));
            if (!follows) {
                copied = appendRun(smaller, svg, run, copied);
                run.clear();
            }
            run.add(point);
        }
        copied = appendRun(smaller, svg, run, copied);
        return smaller.append(svg, copied, svg.length()).toString();
    }

    /**
     * Appends the text before consecutive circles and the path of these circles. Returns the end of the last circle.
     */
    private static int appendRun(StringBuilder to, String svg, List<MatchResult> run, int from) {
        if (run.size() < MANY || !isCircle(run.getFirst())) {
            return from;
        }
        to.append(svg, from, run.getFirst().start()).append("<path d=\"");
        for (MatchResult point : run) {
            double x = Double.parseDouble(point.group(1));
            double y = Double.parseDouble(point.group(2));
            to.append(String.format(Locale.ROOT, "M%.1f %.1fh.01", x, y));
        }
        to.append(String.format(
                Locale.ROOT,
                "\" style=\"fill:none;stroke:%s;stroke-width:%.2f;stroke-linecap:round\"/>%n",
                run.getFirst().group(5),
                2 * Double.parseDouble(run.getFirst().group(3))));
        return run.getLast().end();
    }

    private static boolean isCircle(MatchResult point) {
        return point.group(3).equals(point.group(4));
    }

    private static String kind(MatchResult point) {
        return point.group(3) + " " + point.group(5);
    }
}
