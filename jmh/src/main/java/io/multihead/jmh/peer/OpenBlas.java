package io.multihead.jmh.peer;

import java.nio.FloatBuffer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.openblas.global.openblas;

/** OpenBLAS's {@code sgemm} on row-major native memory. */
public final class OpenBlas {
    private OpenBlas() {}

    /** Returns the call {@code C = A B + beta C} with A {@code [rows, depth]} and B {@code [depth, columns]}. */
    public static Runnable multiply(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, float beta, FloatBuffer c) {
        FloatPointer left = new FloatPointer(a);
        FloatPointer right = new FloatPointer(b);
        FloatPointer result = new FloatPointer(c);
        openblas.blas_set_num_threads(threads);
        int[] strides = {sizes[2], sizes[1], sizes[1]};
        return () -> product(sizes, strides, false, left, right, beta, result);
    }

    /**
     * Computes {@code C = A B + beta C}, or with B transposed. {@code strides} has the distances of the rows of A, B
     * and C.
     */
    static void product(
            int[] sizes,
            int[] strides,
            boolean transposed,
            FloatPointer a,
            FloatPointer b,
            float beta,
            FloatPointer c) {
        openblas.cblas_sgemm(
                openblas.CblasRowMajor,
                openblas.CblasNoTrans,
                transposed ? openblas.CblasTrans : openblas.CblasNoTrans,
                sizes[0],
                sizes[1],
                sizes[2],
                1f,
                a,
                strides[0],
                b,
                strides[1],
                beta,
                c,
                strides[2]);
    }
}
