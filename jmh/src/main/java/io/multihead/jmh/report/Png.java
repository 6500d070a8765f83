package io.multihead.jmh.report;

import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.imageio.IIOImage;
import javax.imageio.ImageIO;
import javax.imageio.ImageWriteParam;
import javax.imageio.ImageWriter;
import javax.imageio.stream.ImageOutputStream;

/** Charts as small files: flat colours need a palette, and what edges of letters have beyond it is not seen. */
final class Png {
    private static final int COLOURS = 256;

    private Png() {}

    static byte[] of(BufferedImage image) throws IOException {
        ImageWriter writer = ImageIO.getImageWritersByFormatName("png").next();
        ImageWriteParam parameters = writer.getDefaultWriteParam();
        parameters.setCompressionMode(ImageWriteParam.MODE_EXPLICIT);
        parameters.setCompressionQuality(0); // smallest: PNG loses nothing
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ImageOutputStream output = ImageIO.createImageOutputStream(bytes)) {
            writer.setOutput(output);
            writer.write(null, new IIOImage(indexed(image), null, null), parameters);
        } finally {
            writer.dispose();
        }
        return bytes.toByteArray();
    }

    /** The commonest colours, and for every other the nearest of them. */
    private static BufferedImage indexed(BufferedImage image) {
        int width = image.getWidth();
        int[] pixels = image.getRGB(0, 0, width, image.getHeight(), null, 0, width);
        Map<Integer, Integer> counts = new HashMap<>();
        for (int pixel : pixels) {
            counts.merge(pixel, 1, Integer::sum);
        }
        List<Integer> commonest = counts.entrySet().stream()
                .sorted(Map.Entry.<Integer, Integer>comparingByValue()
                        .reversed()
                        .thenComparing(Map.Entry.comparingByKey()))
                .map(Map.Entry::getKey)
                .limit(COLOURS)
                .toList();
        int[] palette = commonest.stream().mapToInt(Integer::intValue).toArray();
        IndexColorModel colours = new IndexColorModel(8, palette.length, palette, 0, false, -1, 0);
        BufferedImage result = new BufferedImage(width, image.getHeight(), BufferedImage.TYPE_BYTE_INDEXED, colours);
        Map<Integer, Integer> nearest = new HashMap<>();
        for (int i = 0; i < pixels.length; i++) {
            int index = nearest.computeIfAbsent(pixels[i], colour -> nearest(commonest, colour));
            result.getRaster().setSample(i % width, i / width, 0, index);
        }
        return result;
    }

    private static int nearest(List<Integer> palette, int colour) {
        Integer nearest = palette.stream()
                .min(Comparator.comparingInt(other -> distance(other, colour)))
                .orElseThrow();
        return palette.indexOf(nearest);
    }

    private static int distance(int a, int b) {
        int sum = 0;
        for (int shift = 0; shift < 24; shift += 8) {
            int difference = (a >> shift & 0xff) - (b >> shift & 0xff);
            sum += difference * difference;
        }
        return sum;
    }
}
