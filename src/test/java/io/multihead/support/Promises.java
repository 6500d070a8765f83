package io.multihead.support;

import io.multihead.reference.Tolerance;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/**
 * The promised figures, the most important first, and the limits that tests assert. A test run records one line for
 * each measurement in {@code target/promises.txt}. The figures of docs/accuracy.md come from this file.
 */
public enum Promises {
    FORWARD(
            "Attention, inputs of mean 0 and scores up to 10: error of an output, in units",
            Tolerance.FORWARD_ORDINARY),
    FORWARD_ANY("Attention, means and scores of any size: the same", Tolerance.FORWARD),
    BACKWARD(
            "Gradients of attention, inputs of mean 0 and scores up to 10: error, in units",
            Tolerance.BACKWARD_ORDINARY),
    BACKWARD_ANY("Gradients of attention, means and scores of any size: the same", Tolerance.BACKWARD),
    PYTORCH("26 results of PyTorch in float64: error, as a part of the largest value", 1e-6),
    BF16("bf16 outputs that are the exact result rounded once, %", 99.5),
    F16("f16 outputs that are the exact result rounded once, %", 99.5),
    NARROW_CACHE(
            "Attention over a cache in bf16, f16 or i8, compared with exact attention over its widened content: error,"
                    + " in units",
            Tolerance.FORWARD_ORDINARY),
    EQUAL_VALUES("Up to 2^20 keys with the same value: difference between output and value, in ulp", 6),
    DIFFERENCES("Specification of the gradients, compared with central differences in float64: relative error", 1e-7),
    EXPONENTIAL("Exponential, over every f32 in its range: error, in ulp", 1),
    GELU("GELU, exact and by tanh, over all magnitudes: error, in ulp", 7.5),
    EMBEDDINGS(
            "Embeddings of all-MiniLM-L6-v2, vectors of length 1, compared with ONNX Runtime: error of an element",
            1e-6),
    RERANKING(
            "Scores of all-MiniLM-L6-v2 with a head, compared with ONNX Runtime: error, relative if a score exceeds 1",
            1e-5),
    RERANKING_EXACT(
            "Scores of the same model, compared with float64: error, as a part of the magnitudes of the last sum's terms",
            1e-6);

    private static final Path FILE = Path.of("target", "promises.txt");

    private final String text;
    private final double limit;

    Promises(String text, double limit) {
        this.text = text;
        this.limit = limit;
    }

    /** Returns the limit of measured values: a minimum for percentages, and a maximum for other values. */
    public double limit() {
        return limit;
    }

    /** Records a measured value, the limit, and the lane width of this JVM. */
    public void record(double value) {
        String lanes = System.getProperty("io.multihead.lanes", "preferred");
        String bound = (text.endsWith("%") ? ">= " : "<= ") + (limit < 1 ? "%.0e" : "%.4g").formatted(limit);
        String shown = bound.contains(".") ? bound.replaceAll("\\.?0+$", "") : bound.replace("e-0", "e-");
        String line = String.format(Locale.ROOT, "%d | %s | %s | %.4g | %s%n", ordinal(), text, lanes, value, shown);
        synchronized (FILE) {
            append(line);
        }
    }

    private static void append(String line) {
        try {
            Files.createDirectories(FILE.getParent());
            Files.writeString(FILE, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
