package io.multihead.jmh.bench;

import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.rival.JavaMatrixRow;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/**
 * A few rows times a square matrix that is not packed, in both orders, are compared with packed weights and plain
 * loops.
 */
public class FewRowsBench extends Comparison {
    @Param({"multihead", "packed", "scalar"})
    public String impl;

    @Param({"1", "2", "4", "8"})
    public int rows;

    @Param({"64", "256", "1024", "4096"})
    public int features;

    /** Whether the matrix is {@code [outputs, inputs]}. */
    @Param({"false", "true"})
    public boolean transposed;

    @Param({"1"})
    public int threads;

    @Override
    int threads() {
        return threads;
    }

    @Override
    public Work work() {
        return Work.bytes(Float.BYTES * (double) features * features);
    }

    @Override
    void open() throws Exception {
        FloatBuffer x = Data.gaussian(rows * features, 1);
        FloatBuffer weight = Data.gaussian(features * features, 2);
        Tensor matrix = view(weight, features);
        PackedWeights packed = PackedWeights.ofInputRows(transposed ? matrix.permute(1, 0) : matrix);
        // n roundings of 2^-24 each; with random signs, their sum is about the square root of n
        compare(impl, rows * features, y -> packed(x, packed, y), y -> make(x, weight, y, packed), 1e-5);
    }

    private Runnable make(FloatBuffer x, FloatBuffer weight, FloatBuffer y, PackedWeights packed) {
        return switch (impl) {
            case "multihead" -> {
                GemmOptions options = GemmOptions.DEFAULT.withTransposeB(transposed);
                Tensor input = view(x, rows);
                Tensor matrix = view(weight, features);
                Tensor output = view(y, rows);
                yield () -> Gemm.multiply(cpu, input, matrix, output, options);
            }
            case "packed" -> packed(x, packed, y);
            case "scalar" -> loops(Data.array(x), Data.array(weight), y);
            default -> throw unknown(impl);
        };
    }

    private Runnable packed(FloatBuffer x, PackedWeights packed, FloatBuffer y) {
        Tensor input = view(x, rows);
        Tensor output = view(y, rows);
        return () -> Gemm.multiply(cpu, input, packed, output, GemmOptions.DEFAULT);
    }

    private Runnable loops(float[] a, float[] b, FloatBuffer y) {
        float[] c = new float[rows * features];
        return () -> {
            if (transposed) {
                JavaMatrixRow.byColumns(a, b, c, rows, features, features);
            } else {
                JavaMatrixRow.byRows(a, b, c, rows, features, features);
            }
            y.put(0, c);
        };
    }

    private Tensor view(FloatBuffer buffer, int height) {
        return Data.tensor(buffer, height, features);
    }
}
