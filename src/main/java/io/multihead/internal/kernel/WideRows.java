package io.multihead.internal.kernel;

import static io.multihead.internal.kernel.Lanes.PANEL;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Element-wise passes over rows of f32 in which every element is computed in double and rounded once. Every length is a multiple
 * of 32, so there are no tails.
 */
public final class WideRows {
    private static final VectorSpecies<Double> DOUBLES = Lanes.FLOATS.withLanes(double.class);
    /** As many floats as there are doubles in a vector: half of one. */
    private static final VectorSpecies<Float> FLOATS =
            VectorSpecies.of(float.class, VectorShape.forBitSize(Lanes.FLOATS.vectorBitSize() / 2));

    private static final int COUNT = DOUBLES.length();

    static {
        assert PANEL % COUNT == 0;
    }

    private WideRows() {}

    /** Computes {@code row = (float) (factor * row)}. */
    public static void scale(float[] row, int length, double factor) {
        for (int i = 0; i < length; i += COUNT) {
            DoubleVector wide =
                    (DoubleVector) FloatVector.fromArray(FLOATS, row, i).convertShape(VectorOperators.F2D, DOUBLES, 0);
            FloatVector product = (FloatVector) wide.mul(factor).convertShape(VectorOperators.D2F, FLOATS, 0);
            product.intoArray(row, i);
        }
    }

    /** Computes {@code row = (float) (factor * row + otherFactor * other)}; both products are rounded to double. */
    public static void mix(float[] row, double factor, float[] other, double otherFactor, int length) {
        for (int i = 0; i < length; i += COUNT) {
            DoubleVector a =
                    (DoubleVector) FloatVector.fromArray(FLOATS, row, i).convertShape(VectorOperators.F2D, DOUBLES, 0);
            DoubleVector b = (DoubleVector)
                    FloatVector.fromArray(FLOATS, other, i).convertShape(VectorOperators.F2D, DOUBLES, 0);
            FloatVector sum =
                    (FloatVector) a.mul(factor).add(b.mul(otherFactor)).convertShape(VectorOperators.D2F, FLOATS, 0);
            sum.intoArray(row, i);
        }
    }

    /** Computes {@code sums += row}. */
    public static void add(double[] sums, float[] row, int length) {
        for (int i = 0; i < length; i += COUNT) {
            DoubleVector wide =
                    (DoubleVector) FloatVector.fromArray(FLOATS, row, i).convertShape(VectorOperators.F2D, DOUBLES, 0);
            DoubleVector.fromArray(DOUBLES, sums, i).add(wide).intoArray(sums, i);
        }
    }

    /** Computes {@code row = (float) (sums / divisor)}. */
    public static void divide(double[] sums, double divisor, float[] row, int length) {
        for (int i = 0; i < length; i += COUNT) {
            FloatVector quotient = (FloatVector)
                    DoubleVector.fromArray(DOUBLES, sums, i).div(divisor).convertShape(VectorOperators.D2F, FLOATS, 0);
            quotient.intoArray(row, i);
        }
    }

    /** Returns a sum and the products of two rows, added one after the other: the order is part of the result. */
    public static double dotInOrder(double first, float[] a, float[] b, int length) {
        double sum = first;
        for (int i = 0; i < length; i++) {
            sum += (double) a[i] * b[i];
        }
        return sum;
    }
}
