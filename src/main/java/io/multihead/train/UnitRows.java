package io.multihead.train;

import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.Tensor;

/**
 * The first elements of each row of a matrix, divided by their length. The product of two such rows is a cosine. Cosines are computed
 * in {@code double} on the calling thread, so they have the same bits for any number of threads. This costs little, since a batch has
 * a few hundred rows.
 */
final class UnitRows {
    /** The smallest divisor, as in PyTorch's {@code normalize}: shorter rows are divided by this number. */
    private static final double SHORTEST = 1e-12;

    private final int rows;
    private final int dim;
    private final double[] units;
    private final double[] lengths;
    private final double[] gradients;

    private UnitRows(int rows, int dim) {
        this.rows = rows;
        this.dim = dim;
        units = new double[rows * dim];
        lengths = new double[rows];
        gradients = new double[rows * dim];
    }

    /** Returns the rows of a matrix of {@code columns}, of which the first {@code dim} elements are used. */
    static UnitRows of(float[] values, int columns, int dim) {
        UnitRows made = new UnitRows(values.length / columns, dim);
        for (int row = 0; row < made.rows; row++) {
            double squares = 0;
            for (int i = 0; i < dim; i++) {
                double value = values[row * columns + i];
                squares += value * value;
            }
            double length = Math.max(SHORTEST, Math.sqrt(squares));
            made.lengths[row] = length;
            for (int i = 0; i < dim; i++) {
                made.units[row * dim + i] = values[row * columns + i] / length;
            }
        }
        return made;
    }

    /** Fails unless this is a floating-point matrix with at least one row, and returns its elements. */
    static float[] values(Tensor matrix, String name) {
        TensorChecks.requireFloating(matrix, name);
        if (matrix.rank() != 2 || matrix.dim(0) < 1 || matrix.dim(1) < 1) {
            throw Checks.fail(name, "shape " + matrix.shape(), "expected [vectors, dim]");
        }
        return matrix.toArray();
    }

    /** Returns the cosine of a row of this matrix and a row of {@code others}. */
    double cosine(int row, UnitRows others, int other) {
        double sum = 0;
        for (int i = 0; i < dim; i++) {
            sum += units[row * dim + i] * others.units[other * dim + i];
        }
        return sum;
    }

    /** Adds the gradients of both rows from the gradient of their cosine. */
    void addGradient(int row, UnitRows others, int other, double ofCosine) {
        for (int i = 0; i < dim; i++) {
            gradients[row * dim + i] += ofCosine * others.units[other * dim + i];
            others.gradients[other * dim + i] += ofCosine * units[row * dim + i];
        }
    }

    /** Adds the gradient of the rows before division, times a factor: {@code (g - u (u g)) / length}. */
    void addTo(double[] sums, int columns, double factor) {
        for (int row = 0; row < rows; row++) {
            double along = 0;
            // the length of a row that is divided by the minimum length is a constant
            for (int i = 0; i < dim && lengths[row] > SHORTEST; i++) {
                along += units[row * dim + i] * gradients[row * dim + i];
            }
            for (int i = 0; i < dim; i++) {
                double own = gradients[row * dim + i] - units[row * dim + i] * along;
                sums[row * columns + i] += factor * own / lengths[row];
            }
        }
    }

    int rows() {
        return rows;
    }
}
