package io.multihead.demo;

import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/** Numbers of exhibits. */
final class Values {
    private Values() {}

    /** Returns the elements of a tensor of two axes. */
    static double[][] matrix(Tensor tensor) {
        double[][] matrix = new double[(int) tensor.dim(0)][(int) tensor.dim(1)];
        for (int i = 0; i < matrix.length; i++) {
            for (int j = 0; j < matrix[i].length; j++) {
                matrix[i][j] = tensor.get(i, j);
            }
        }
        return matrix;
    }

    /** Returns the mean of numbers, or 0 without numbers. */
    static double mean(List<Double> values) {
        return values.stream().mapToDouble(value -> value).average().orElse(0);
    }

    /** Returns the argmax of {@code count} values, which is the first of equal values. */
    static int largest(int count, IntToDoubleFunction value) {
        int largest = 0;
        for (int i = 1; i < count; i++) {
            largest = value.applyAsDouble(i) > value.applyAsDouble(largest) ? i : largest;
        }
        return largest;
    }
}
