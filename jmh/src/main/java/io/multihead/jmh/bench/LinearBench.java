package io.multihead.jmh.bench;

import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.OneDnn;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.OpenBlas;
import io.multihead.jmh.peer.Torch;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/** A few rows times a constant square weight, which this library and ONNX Runtime pack once. */
public class LinearBench extends ThreadedComparison {
    @Param({"multihead", "onnxruntime", "openblas", "onednn", "pytorch"})
    public String impl;

    @Param({"1", "8", "64", "512"})
    public int rows;

    @Param({"768", "4096"})
    public int features;

    @Override
    public Work work() {
        double weights = (double) features * features;
        // a single row multiplies each weight once, so that the reads of weights limit its speed
        return rows == 1 ? Work.bytes(Float.BYTES * weights) : Work.operations(2 * rows * weights);
    }

    @Override
    void open() throws Exception {
        FloatBuffer x = Data.gaussian(rows * features, 1);
        FloatBuffer weight = Data.gaussian(features * features, 2);
        // n roundings of 2^-24 each; with random signs, their sum is about the square root of n
        compare(impl, rows * features, y -> unpacked(x, weight, y), y -> make(x, weight, y), 1e-5);
    }

    private Runnable make(FloatBuffer x, FloatBuffer weight, FloatBuffer y) throws Exception {
        return switch (impl) {
            case "multihead" -> {
                PackedWeights packed = PackedWeights.ofInputRows(view(weight, features));
                Tensor input = view(x, rows);
                Tensor output = view(y, rows);
                yield () -> Gemm.multiply(cpu, input, packed, output, GemmOptions.DEFAULT);
            }
            case "onnxruntime" ->
                new Onnx("MatMul", "")
                        .input("x", x, rows, features)
                        .constant("weight", weight, features, features)
                        .output(y, rows, features)
                        .open(threads);
            case "openblas" -> OpenBlas.multiply(new int[] {rows, features, features}, threads, x, weight, 0f, y);
            case "onednn" -> OneDnn.multiply(new int[] {rows, features, features}, threads, x, weight, y);
            case "pytorch" -> Torch.multiply(new int[] {rows, features, features}, threads, x, weight, y);
            default -> throw unknown(impl);
        };
    }

    private Runnable unpacked(FloatBuffer x, FloatBuffer weight, FloatBuffer y) {
        return () -> Gemm.multiply(cpu, view(x, rows), view(weight, features), view(y, rows), GemmOptions.DEFAULT);
    }

    private Tensor view(FloatBuffer buffer, int height) {
        return Data.tensor(buffer, height, features);
    }
}
