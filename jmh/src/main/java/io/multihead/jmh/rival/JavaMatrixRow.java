package io.multihead.jmh.rival;

import java.util.Arrays;

/** Products of rows and a matrix in plain Java loops over {@code float[]}. */
public final class JavaMatrixRow {
    private JavaMatrixRow() {}

    /** Multiplies by a matrix {@code [k, n]}: multiples of its rows are added. */
    public static void byRows(float[] a, float[] b, float[] c, int m, int k, int n) {
        Arrays.fill(c, 0f);
        for (int row = 0; row < m; row++) {
            for (int p = 0; p < k; p++) {
                float x = a[row * k + p];
                for (int j = 0; j < n; j++) {
                    c[row * n + j] += x * b[p * n + j];
                }
            }
        }
    }

    /** Multiplies by the transpose of a matrix {@code [n, k]}, with a dot product for each element. */
    public static void byColumns(float[] a, float[] b, float[] c, int m, int k, int n) {
        for (int row = 0; row < m; row++) {
            for (int j = 0; j < n; j++) {
                float sum = 0f;
                for (int p = 0; p < k; p++) {
                    sum += a[row * k + p] * b[j * k + p];
                }
                c[row * n + j] = sum;
            }
        }
    }
}
