package io.multihead.jmh.rival;

import io.multihead.jmh.data.Data;
import java.nio.FloatBuffer;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Attention of one query as in current Java engines: rows in {@code float[]}, a dot product per key, as a scalar loop
 * or with vectors and {@code reduceLanes}, then a softmax, then a sum of multiples of the values.
 */
public final class JavaRow {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;

    private final boolean vectors;
    private final int dim;
    private final float[] query;
    private final float[] key;
    private final float[] value;
    private final float[] output;

    public JavaRow(String impl, int dim, FloatBuffer q, FloatBuffer k, FloatBuffer v) {
        vectors = impl.equals("reducelanes");
        this.dim = dim;
        query = Data.array(q);
        key = Data.array(k);
        value = Data.array(v);
        output = new float[query.length];
    }

    public float[] output() {
        return output;
    }

    /**
     * Computes the attention of the query at {@code at}, and writes the output there. Keys and values begin at
     * {@code base}, at distances of {@code stride}. {@code row} is memory for their scores.
     */
    public void attend(float[] row, int at, int base, int stride, int keys) {
        float max = Float.NEGATIVE_INFINITY;
        float scale = (float) (1 / Math.sqrt(dim));
        for (int j = 0; j < keys; j++) {
            int from = base + j * stride;
            row[j] = scale * (vectors ? vectorDot(at, from) : scalarDot(at, from));
            max = Math.max(max, row[j]);
        }
        float sum = 0;
        for (int j = 0; j < keys; j++) {
            row[j] = (float) Math.exp(row[j] - max);
            sum += row[j];
        }
        Arrays.fill(output, at, at + dim, 0f);
        for (int j = 0; j < keys; j++) {
            if (vectors) {
                vectorAdd(row[j] / sum, base + j * stride, at);
            } else {
                scalarAdd(row[j] / sum, base + j * stride, at);
            }
        }
    }

    private float scalarDot(int q, int k) {
        float sum = 0;
        for (int d = 0; d < dim; d++) {
            sum += query[q + d] * key[k + d];
        }
        return sum;
    }

    private float vectorDot(int q, int k) {
        FloatVector sum = FloatVector.zero(SPECIES);
        for (int d = 0; d < dim; d += SPECIES.length()) {
            sum = FloatVector.fromArray(SPECIES, query, q + d).fma(FloatVector.fromArray(SPECIES, key, k + d), sum);
        }
        return sum.reduceLanes(VectorOperators.ADD);
    }

    private void scalarAdd(float weight, int v, int to) {
        for (int d = 0; d < dim; d++) {
            output[to + d] += weight * value[v + d];
        }
    }

    private void vectorAdd(float weight, int v, int to) {
        for (int d = 0; d < dim; d += SPECIES.length()) {
            FloatVector.fromArray(SPECIES, value, v + d)
                    .fma(FloatVector.broadcast(SPECIES, weight), FloatVector.fromArray(SPECIES, output, to + d))
                    .intoArray(output, to + d);
        }
    }
}
