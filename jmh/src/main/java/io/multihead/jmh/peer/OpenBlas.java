package io.multihead.jmh.peer;

import java.nio.FloatBuffer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.openblas.global.openblas;

/** OpenBLAS's {@code sgemm} on row-major native memory. */
public final class OpenBlas {
    private OpenBlas() {}

    /** {@code C = A B} with A {@code [rows, depth]} and B {@code [depth, columns]}. */
    public static Runnable multiply(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        return call(sizes, threads, a, b, 0f, c);
    }

    /** {@code C = A B + C}. */
    public static Runnable add(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        return call(sizes, threads, a, b, 1f, c);
    }

    private static Runnable call(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, float beta, FloatBuffer c) {
        int rows = sizes[0];
        int columns = sizes[1];
        int depth = sizes[2];
        FloatPointer left = new FloatPointer(a);
        FloatPointer right = new FloatPointer(b);
        FloatPointer result = new FloatPointer(c);
        openblas.blas_set_num_threads(threads);
        return () -> openblas.cblas_sgemm(
                openblas.CblasRowMajor,
                openblas.CblasNoTrans,
                openblas.CblasNoTrans,
                rows,
                columns,
                depth,
                1f,
                left,
                depth,
                right,
                columns,
                beta,
                result,
                columns);
    }
}
