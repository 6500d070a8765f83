package io.multihead.demo;

import java.awt.Font;
import java.awt.Shape;
import java.awt.font.FontRenderContext;
import java.awt.font.GlyphVector;
import java.awt.geom.AffineTransform;
import java.awt.geom.PathIterator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Recognizes text in the outlines of glyphs. XChart fills outlines instead of text. In an SVG, outlines cannot be
 * selected or searched, and take a hundred times as many bytes as text.
 */
final class OutlinedText {
    /** The context with which XChart creates its outlines. */
    private static final FontRenderContext CONTEXT = new FontRenderContext(null, true, false);
    /** The tolerance of a position in pixels, since positions of glyphs are sums of rounded numbers. */
    private static final double TOLERANCE = 0.06;
    /** A gap of more than this fraction of the font size is a space. */
    private static final double SPACE = 0.12;

    /** A text at a point. Upright text is rotated and is read from bottom to top. */
    record Found(String text, Font font, double x, double y, boolean upright) {}

    /** A closed curve: the kinds of its segments, and their coordinates. */
    private record Curve(String kinds, double[] points) {}

    /** A character, its curves relative to its origin, and the distance to the next character. */
    private record Glyph(int character, List<Curve> curves, double advance) {}

    /** The shape of a glyph at a point. */
    private record Place(Glyph glyph, double x, double y) {}

    private final Map<Font, Map<String, List<Glyph>>> fonts = new HashMap<>();

    /** @param characters that may occur, in any order */
    OutlinedText(String characters, List<Font> possible) {
        for (Font font : possible) {
            Map<String, List<Glyph>> byKinds = new HashMap<>();
            characters.codePoints().distinct().forEach(c -> {
                GlyphVector vector = font.createGlyphVector(CONTEXT, Character.toString(c));
                List<Curve> curves = curves(vector.getOutline(), null);
                if (!curves.isEmpty()) {
                    double advance = vector.getGlyphMetrics(0).getAdvance();
                    byKinds.computeIfAbsent(curves.getFirst().kinds, kinds -> new ArrayList<>())
                            .add(new Glyph(c, curves, advance));
                }
            });
            fonts.put(font, byKinds);
        }
    }

    /** Returns the text, or null if the shape is unknown. */
    @Nullable
    Found find(Shape shape) {
        for (boolean upright : new boolean[] {false, true}) {
            List<Curve> curves = curves(shape, upright ? AffineTransform.getRotateInstance(Math.PI / 2) : null);
            for (Map.Entry<Font, Map<String, List<Glyph>>> font : fonts.entrySet()) {
                Found found = curves.isEmpty() ? null : read(curves, font.getKey(), font.getValue(), upright);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }

    private static @Nullable Found read(
            List<Curve> curves, Font font, Map<String, List<Glyph>> known, boolean upright) {
        StringBuilder text = new StringBuilder();
        Place first = null;
        Place last = null;
        for (int at = 0; at < curves.size(); ) {
            Place next = place(curves, at, known);
            if (next == null || first != null && Math.abs(next.y - first.y) > TOLERANCE) {
                return null;
            }
            first = first == null ? next : first;
            if (last != null && next.x - last.x - last.glyph.advance > SPACE * font.getSize2D()) {
                text.append(' ');
            }
            text.appendCodePoint(next.glyph.character);
            last = next;
            at += next.glyph.curves.size();
        }
        return first == null ? null : new Found(text.toString(), font, first.x, first.y, upright);
    }

    /** Returns the glyph with the most curves that matches the curves from an index on. */
    private static @Nullable Place place(List<Curve> curves, int at, Map<String, List<Glyph>> known) {
        Place best = null;
        for (Glyph glyph : known.getOrDefault(curves.get(at).kinds, List.of())) {
            int count = glyph.curves.size();
            if (at + count <= curves.size() && (best == null || count > best.glyph.curves.size())) {
                double x = curves.get(at).points[0] - glyph.curves.getFirst().points[0];
                double y = curves.get(at).points[1] - glyph.curves.getFirst().points[1];
                if (isAt(glyph, curves.subList(at, at + count), x, y)) {
                    best = new Place(glyph, x, y);
                }
            }
        }
        return best;
    }

    private static boolean isAt(Glyph glyph, List<Curve> curves, double x, double y) {
        for (int i = 0; i < curves.size(); i++) {
            Curve expected = glyph.curves.get(i);
            Curve actual = curves.get(i);
            if (!expected.kinds.equals(actual.kinds)) {
                return false;
            }
            for (int j = 0; j < actual.points.length; j++) {
                double moved = expected.points[j] + (j % 2 == 0 ? x : y);
                if (Math.abs(moved - actual.points[j]) > TOLERANCE) {
                    return false;
                }
            }
        }
        return true;
    }

    private static List<Curve> curves(Shape shape, @Nullable AffineTransform transform) {
        List<Curve> curves = new ArrayList<>();
        StringBuilder kinds = new StringBuilder();
        List<Double> points = new ArrayList<>();
        double[] segment = new double[6];
        for (PathIterator path = shape.getPathIterator(transform); !path.isDone(); path.next()) {
            int kind = path.currentSegment(segment);
            if (kind == PathIterator.SEG_MOVETO && !kinds.isEmpty()) {
                curves.add(curve(kinds, points));
            }
            kinds.append(kind);
            int numbers = new int[] {2, 2, 4, 6, 0}[kind];
            for (int i = 0; i < numbers; i++) {
                points.add(segment[i]);
            }
        }
        if (!points.isEmpty()) {
            curves.add(curve(kinds, points));
        }
        return curves;
    }

    private static Curve curve(StringBuilder kinds, List<Double> points) {
        Curve curve = new Curve(
                kinds.toString(),
                points.stream().mapToDouble(Double::doubleValue).toArray());
        kinds.setLength(0);
        points.clear();
        return curve;
    }
}
