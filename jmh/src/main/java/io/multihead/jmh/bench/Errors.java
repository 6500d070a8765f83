package io.multihead.jmh.bench;

import ai.onnxruntime.OrtEnvironment;
import io.multihead.compute.Compute;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.report.Machine;
import io.multihead.jmh.report.Tables;
import io.multihead.reference.ReferenceAttention;
import io.multihead.reference.ScoreRule;
import io.multihead.reference.Tolerance;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.global.torch;

/**
 * Prints tables of the errors of attention in this library and its peers, with the same inputs, on one thread. The
 * specification in {@code double} is the exact result. The unit of an error is the bound of {@link Tolerance}, which
 * depends on the condition of each output.
 */
public final class Errors {
    private static final Map<String, String> NAMES = new LinkedHashMap<>();

    static {
        NAMES.put("multihead", "Multihead");
        NAMES.put("onnxruntime", "ONNX Runtime");
        NAMES.put("pytorch", "PyTorch");
        NAMES.put("openblas", "two OpenBLAS products, softmax between");
    }

    private static final List<String> SHAPES = List.of("1x8x512x64", "1x2x2048x128");

    private Errors() {}

    /** The errors of all outputs of a call, in units of their bounds. */
    private record Deviation(double largest, double rootMeanSquare) {}

    /** The inputs of a call: the factor of standard normal queries, and the mean of values with variance 1. */
    private record Inputs(String shape, boolean causal, int queryFactor, int valueMean) {
        String describe() {
            return shape.replace("x", ", ")
                    + (causal ? ", causal" : "")
                    + (queryFactor == 1 ? "" : ", queries times " + queryFactor)
                    + (valueMean == 0 ? "" : ", values of mean " + valueMean);
        }
    }

    /** Prints all tables to standard output. Arguments are ignored. */
    public static void main(String[] arguments) throws Exception {
        System.out.println(Machine.description() + ", JDK " + Runtime.version());
        System.out.println(String.join(", ", List.of(jar(OrtEnvironment.class), jar(torch.class), jar(openblas.class)))
                + ", OPENBLAS_CORETYPE=" + System.getenv("OPENBLAS_CORETYPE"));
        System.out.println("\nLargest error of an output, and in brackets the root mean square of all, in units:\n");
        List<List<Deviation>> errors = new ArrayList<>();
        List<List<String>> rows = new ArrayList<>();
        for (Inputs inputs : cases()) {
            errors.add(errors(inputs));
            List<String> row = new ArrayList<>(List.of(inputs.describe()));
            errors.getLast()
                    .forEach(error ->
                            row.add(String.format(Locale.ROOT, "%.2f (%.2f)", error.largest, error.rootMeanSquare)));
            rows.add(row);
        }
        List<String> columns = new ArrayList<>(List.of("batch, heads, tokens, head dim"));
        columns.addAll(NAMES.values());
        System.out.println(Tables.markdown(columns, rows));
        System.out.println(
                "Ratio of Multihead's errors to a peer's errors, lowest to highest of " + rows.size() + " cases:\n");
        List<List<String>> ratios = new ArrayList<>();
        for (int impl = 1; impl < NAMES.size(); impl++) {
            ratios.add(ratios(columns.get(1 + impl), errors, impl));
        }
        System.out.println(Tables.markdown(
                List.of("peer", "largest error", "cases in which Multihead's is larger", "root mean square"), ratios));
    }

    /**
     * Returns the row of a peer. {@code errors} has the errors of all cases by impl, with this library as the first
     * one.
     */
    private static List<String> ratios(String name, List<List<Deviation>> errors, int peer) {
        double[] largest = errors.stream()
                .mapToDouble(row -> row.getFirst().largest / row.get(peer).largest)
                .toArray();
        double[] rootMeanSquares = errors.stream()
                .mapToDouble(row -> row.getFirst().rootMeanSquare / row.get(peer).rootMeanSquare)
                .toArray();
        long larger = Arrays.stream(largest).filter(ratio -> ratio > 1).count();
        return List.of(name, range(largest), String.valueOf(larger), range(rootMeanSquares));
    }

    private static String range(double[] ratios) {
        DoubleSummaryStatistics summary = Arrays.stream(ratios).summaryStatistics();
        return String.format(Locale.ROOT, "%.2f to %.2f", summary.getMin(), summary.getMax());
    }

    private static List<Inputs> cases() {
        List<Inputs> cases = new ArrayList<>();
        for (String shape : SHAPES) {
            for (boolean causal : new boolean[] {false, true}) {
                for (int factor : new int[] {1, 3}) {
                    cases.add(new Inputs(shape, causal, factor, 0));
                    cases.add(new Inputs(shape, causal, factor, 3));
                }
            }
        }
        return cases;
    }

    private static List<Deviation> errors(Inputs inputs) throws Exception {
        AttentionForwardBench bench = new AttentionForwardBench();
        bench.shape = inputs.shape;
        bench.causal = inputs.causal;
        bench.threads = 1;
        bench.cpu = Compute.serial();
        bench.prepare();
        int[] sizes = Data.sizes(inputs.shape);
        int length = sizes[0] * sizes[1] * sizes[2] * sizes[3];
        FloatBuffer query = Data.gaussian(length, 1, inputs.queryFactor, 0);
        FloatBuffer key = Data.gaussian(length, 2);
        FloatBuffer value = Data.gaussian(length, 3, 1, inputs.valueMean);
        ReferenceAttention.Result exact = ReferenceAttention.forward(
                bench.view(query),
                bench.view(key),
                bench.view(value),
                1 / Math.sqrt(sizes[3]),
                inputs.causal ? (b, h, i, j, score) -> j > i ? Double.NEGATIVE_INFINITY : score : ScoreRule.NONE);
        List<Deviation> errors = new ArrayList<>();
        for (String impl : NAMES.keySet()) {
            bench.impl = impl;
            FloatBuffer output = Data.zeros(length);
            try {
                bench.load(impl, () -> bench.make(query, key, value, output));
                errors.add(error(bench.view(output), exact));
            } catch (IllegalStateException absent) {
                System.err.println(absent.getMessage());
                errors.add(new Deviation(Double.NaN, Double.NaN));
            }
        }
        bench.close();
        return errors;
    }

    private static Deviation error(Tensor output, ReferenceAttention.Result exact) {
        double[] expected = exact.output();
        double[] actual = new double[expected.length];
        output.copyTo(Tensor.of(actual, output.shape().toArray()));
        double squares = 0;
        for (int i = 0; i < actual.length; i++) {
            double units = (actual[i] - expected[i]) / exact.errorScale()[i];
            squares += units * units;
        }
        return new Deviation(
                Tolerance.ratio(actual, expected, exact.errorScale(), DType.F32), Math.sqrt(squares / actual.length));
    }

    private static String jar(Class<?> of) {
        String path = of.getProtectionDomain().getCodeSource().getLocation().getPath();
        return path.substring(path.lastIndexOf('/') + 1).replace(".jar", "");
    }
}
