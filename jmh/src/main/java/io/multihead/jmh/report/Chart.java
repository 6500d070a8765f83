package io.multihead.jmh.report;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleFunction;
import org.jfree.chart.ChartRenderingInfo;

/** One chart of bars in groups: ours in blue, peers muted, and the limit as a line across. */
final class Chart {
    static final int WIDTH = 900;
    static final int HEIGHT = 380;
    /** Sharp on dense screens. */
    private static final int SCALE = 2;

    /** This library as such, then put together otherwise. */
    private static final int[] OURS = {0x0072b2, 0x56b4e9, 0x9dd3f3, 0x004a75};

    /** By the letters of their names. */
    private static final Map<String, Integer> PEERS = Map.ofEntries(
            Map.entry("onnxruntime", 0x8c8c8c),
            Map.entry("onnxruntime8bit", 0xa9b3bd),
            Map.entry("onnxgqa", 0xa9b3bd),
            Map.entry("onednn", 0xe0cfa8),
            Map.entry("openblas", 0xb8b8b8),
            Map.entry("pytorch", 0xc9a48f),
            Map.entry("jlama", 0xc7d3bf),
            Map.entry("reducelanes", 0xbcaecb),
            Map.entry("scalar", 0xd6cde6),
            Map.entry("loopsinjava", 0xd6cde6),
            Map.entry("loops", 0xd6cde6),
            Map.entry("llamacpp", 0xd6b656));

    private static final int OTHER_PEER = 0xd9d4c7;

    /**
     * What stands around the bars.
     *
     * @param groups names of the groups; where one is too wide, each has a line for each of its parts between commas
     * @param numbers how the number of a bar is written
     */
    record Labels(String title, String x, String y, List<String> groups, DoubleFunction<String> numbers) {}

    /**
     * The bars of one impl.
     *
     * @param values one for each group; null where it has none
     */
    record Bars(String impl, Color colour, List<Double> values) {}

    private final Labels labels;
    private final double limit;
    private final List<Bars> bars = new ArrayList<>();
    private int ours;

    /** Begins a chart with a line at a limit; NaN draws none. */
    Chart(Labels labels, double limit) {
        this.labels = labels;
        this.limit = limit;
    }

    /** Adds a bar to each group; null where there is none. */
    void bars(String impl, boolean own, List<Double> values) {
        String letters = impl.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
        int colour = own ? OURS[ours++ % OURS.length] : PEERS.getOrDefault(letters, OTHER_PEER);
        bars.add(new Bars(impl, new Color(colour), values));
    }

    byte[] png() throws IOException {
        BufferedImage image = new BufferedImage(SCALE * WIDTH, SCALE * HEIGHT, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.scale(SCALE, SCALE);
        draw(graphics);
        graphics.dispose();
        return Png.of(image);
    }

    /** Draws the chart, and returns where its parts stand. */
    ChartRenderingInfo draw(Graphics2D graphics) {
        return new ChartDrawing(labels, bars, limit).draw(graphics);
    }
}
