package io.multihead.jmh.rival;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The softmax of rows in {@code float[]}, as loops or with the exponential of the Vector API. */
public final class JavaSoftmax {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;

    private JavaSoftmax() {}

    public static void scalar(float[] from, float[] to, int columns) {
        for (int row = 0; row < from.length; row += columns) {
            float max = Float.NEGATIVE_INFINITY;
            for (int i = row; i < row + columns; i++) {
                max = Math.max(max, from[i]);
            }
            float sum = 0;
            for (int i = row; i < row + columns; i++) {
                to[i] = (float) Math.exp(from[i] - max);
                sum += to[i];
            }
            for (int i = row; i < row + columns; i++) {
                to[i] /= sum;
            }
        }
    }

    /** Computes rows of whole vectors only. */
    public static void vectors(float[] from, float[] to, int columns) {
        for (int row = 0; row < from.length; row += columns) {
            FloatVector most = FloatVector.broadcast(SPECIES, Float.NEGATIVE_INFINITY);
            for (int i = row; i < row + columns; i += SPECIES.length()) {
                most = most.max(FloatVector.fromArray(SPECIES, from, i));
            }
            float max = most.reduceLanes(VectorOperators.MAX);
            FloatVector sums = FloatVector.zero(SPECIES);
            for (int i = row; i < row + columns; i += SPECIES.length()) {
                FloatVector power =
                        FloatVector.fromArray(SPECIES, from, i).sub(max).lanewise(VectorOperators.EXP);
                power.intoArray(to, i);
                sums = sums.add(power);
            }
            float factor = 1 / sums.reduceLanes(VectorOperators.ADD);
            for (int i = row; i < row + columns; i += SPECIES.length()) {
                FloatVector.fromArray(SPECIES, to, i).mul(factor).intoArray(to, i);
            }
        }
    }
}
