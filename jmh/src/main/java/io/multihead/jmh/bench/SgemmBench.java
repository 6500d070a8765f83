package io.multihead.jmh.bench;

import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.jmh.data.Data;
import io.multihead.jmh.peer.Jlama;
import io.multihead.jmh.peer.OneDnn;
import io.multihead.jmh.peer.Onnx;
import io.multihead.jmh.peer.OpenBlas;
import io.multihead.jmh.peer.Torch;
import io.multihead.jmh.rival.JavaMatrixRow;
import io.multihead.tensor.Tensor;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Param;

/** Products {@code C = A B} of square matrices. All operands are row-major in native memory. */
public class SgemmBench extends ThreadedComparison {
    @Param({"multihead", "scalar", "onnxruntime", "openblas", "onednn", "pytorch", "jlama"})
    public String impl;

    @Param({"256", "512", "1024", "2048"})
    public int size;

    @Override
    public Work work() {
        return Work.operations(2 * Math.pow(size, 3));
    }

    @Override
    void open() throws Exception {
        FloatBuffer a = Data.gaussian(size * size, 1);
        FloatBuffer b = Data.gaussian(size * size, 2);
        // n roundings of 2^-24 each; with random signs, their sum is about the square root of n
        compare(impl, size * size, c -> ours(a, b, c), c -> make(a, b, c), 1e-5);
    }

    private Runnable make(FloatBuffer a, FloatBuffer b, FloatBuffer c) throws Exception {
        return switch (impl) {
            case "multihead" -> ours(a, b, c);
            case "onnxruntime" ->
                new Onnx("MatMul", "")
                        .input("a", a, size, size)
                        .input("b", b, size, size)
                        .output(c, size, size)
                        .open(threads);
            case "openblas" -> OpenBlas.multiply(new int[] {size, size, size}, threads, a, b, 0f, c);
            case "onednn" -> OneDnn.multiply(new int[] {size, size, size}, threads, a, b, c);
            case "pytorch" -> Torch.multiply(new int[] {size, size, size}, threads, a, b, c);
            case "jlama" -> Jlama.multiply(new int[] {size, size, size}, threads, a, b, c);
            case "scalar" -> scalar(a, b, c);
            default -> throw unknown(impl);
        };
    }

    private Runnable ours(FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        Tensor left = matrix(a);
        Tensor right = matrix(b);
        Tensor result = matrix(c);
        return () -> Gemm.multiply(cpu, left, right, result, GemmOptions.DEFAULT);
    }

    /** Returns the code of a service without a library, which has three loops over arrays. */
    private Runnable scalar(FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        float[] left = Data.array(a);
        float[] right = Data.array(b);
        float[] result = new float[size * size];
        return () -> {
            JavaMatrixRow.byRows(left, right, result, size, size, size);
            c.duplicate().put(result);
        };
    }

    private Tensor matrix(FloatBuffer buffer) {
        return Data.tensor(buffer, size, size);
    }
}
