package io.multihead.jmh.peer;

import java.nio.FloatBuffer;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;

/** oneDNN's {@code sgemm} on row-major native memory. */
public final class OneDnn {
    private OneDnn() {}

    /** Returns the call {@code C = A B} with A {@code [rows, depth]} and B {@code [depth, columns]}. */
    public static Runnable multiply(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        int rows = sizes[0];
        int columns = sizes[1];
        int depth = sizes[2];
        Loader.load(dnnl.class);
        OpenMp.threads(threads); // oneDNN has no function for this
        FloatPointer left = new FloatPointer(a);
        FloatPointer right = new FloatPointer(b);
        FloatPointer result = new FloatPointer(c);
        return () -> {
            int status = dnnl.dnnl_sgemm(
                    (byte) 'N', (byte) 'N', rows, columns, depth, 1f, left, depth, right, columns, 0f, result, columns);
            if (status != 0) {
                throw new IllegalStateException("dnnl_sgemm ended with " + status);
            }
        };
    }
}
