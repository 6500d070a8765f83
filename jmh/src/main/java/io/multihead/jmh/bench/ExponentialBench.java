package io.multihead.jmh.bench;

import io.multihead.internal.kernel.Exp;
import io.multihead.jmh.data.Data;
import java.nio.FloatBuffer;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;
import org.openjdk.jmh.annotations.Param;

/**
 * The exponential in the softmax: the exponentials of a million scores and their sum, in rows of 256, which remain in
 * L1.
 */
public class ExponentialBench extends Comparison {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    private static final int COLUMNS = 256;
    private static final int ROWS = 4096;

    @Param({"multihead", "scalar", "vectorops"})
    public String impl;

    private final float[] scores = new float[COLUMNS];
    private final float[] row = new float[COLUMNS];
    private final float[] sums = new float[COLUMNS];

    @Override
    void open() {
        FloatBuffer gaussian = Data.gaussian(COLUMNS, 1);
        for (int i = 0; i < COLUMNS; i++) {
            scores[i] = -4 * Math.abs(gaussian.get(i));
        }
        FloatBuffer expected = Data.zeros(COLUMNS);
        for (int i = 0; i < COLUMNS; i++) {
            expected.put(i, (float) Math.exp(scores[i]));
        }
        load(impl, this::make);
        // one ulp of each implementation, and the rounding of the expected value
        Data.requireClose(impl, expected, FloatBuffer.wrap(row), 4e-7);
    }

    private Runnable make() {
        return switch (impl) {
            case "multihead" -> () -> repeat(() -> Exp.shifted(row, 0, COLUMNS, 1f, 0f, sums, 0, 0f));
            case "vectorops" -> () -> repeat(this::vectors);
            case "scalar" -> () -> repeat(this::scalar);
            default -> throw unknown(impl);
        };
    }

    /** Each row starts with a copy of the scores, which takes the same time for all impls. */
    private void repeat(Runnable exponential) {
        for (int i = 0; i < ROWS; i++) {
            System.arraycopy(scores, 0, row, 0, COLUMNS);
            exponential.run();
        }
    }

    private void vectors() {
        FloatVector sum = FloatVector.zero(SPECIES);
        for (int i = 0; i < COLUMNS; i += SPECIES.length()) {
            FloatVector power = FloatVector.fromArray(SPECIES, row, i).lanewise(VectorOperators.EXP);
            power.intoArray(row, i);
            sum = sum.add(power);
        }
        sum.intoArray(sums, 0);
    }

    private void scalar() {
        float sum = 0;
        for (int i = 0; i < COLUMNS; i++) {
            row[i] = (float) Math.exp(row[i]);
            sum += row[i];
        }
        sums[0] = sum;
    }
}
