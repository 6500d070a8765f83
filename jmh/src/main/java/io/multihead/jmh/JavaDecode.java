package io.multihead.jmh;

import java.nio.FloatBuffer;
import java.util.stream.IntStream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Decode as Java engines have it today: keys and values row by row in {@code float[]}, a dot product per key, as a scalar loop
 * or with vectors and {@code reduceLanes}; each query head by itself, heads over threads.
 */
final class JavaDecode {
    private static final VectorSpecies<Float> SPECIES = FloatVector.SPECIES_PREFERRED;
    private static final int DIM = AttentionDecode.DIM;

    private final boolean vectors;
    private final int group;
    private final int keys;
    private final int threads;
    private final float[][] scores;
    private float[] query = new float[0];
    private float[] key = query;
    private float[] value = query;
    private final float[] output = new float[AttentionDecode.HEADS * DIM];

    JavaDecode(String impl, int keyHeads, int keys, int threads) {
        vectors = impl.equals("reducelanes");
        group = AttentionDecode.HEADS / keyHeads;
        this.keys = keys;
        this.threads = threads;
        scores = new float[AttentionDecode.HEADS][keys];
    }

    Runnable on(FloatBuffer q, FloatBuffer k, FloatBuffer v, FloatBuffer out) {
        query = array(q);
        key = array(k);
        value = array(v);
        return () -> {
            IntStream heads = IntStream.range(0, AttentionDecode.HEADS);
            (threads > 1 ? heads.parallel() : heads).forEach(this::head);
            out.put(0, output);
        };
    }

    private static float[] array(FloatBuffer buffer) {
        float[] array = new float[buffer.capacity()];
        buffer.get(0, array);
        return array;
    }

    private void head(int head) {
        float[] row = scores[head];
        int base = head / group * keys * DIM;
        float max = Float.NEGATIVE_INFINITY;
        float scale = (float) (1 / Math.sqrt(DIM));
        for (int j = 0; j < keys; j++) {
            int at = base + j * DIM;
            row[j] = scale * (vectors ? vectorDot(head * DIM, at) : scalarDot(head * DIM, at));
            max = Math.max(max, row[j]);
        }
        float sum = 0;
        for (int j = 0; j < keys; j++) {
            row[j] = (float) Math.exp(row[j] - max);
            sum += row[j];
        }
        int to = head * DIM;
        java.util.Arrays.fill(output, to, to + DIM, 0f);
        for (int j = 0; j < keys; j++) {
            if (vectors) {
                vectorAdd(row[j] / sum, base + j * DIM, to);
            } else {
                scalarAdd(row[j] / sum, base + j * DIM, to);
            }
        }
    }

    private float scalarDot(int q, int k) {
        float sum = 0;
        for (int d = 0; d < DIM; d++) {
            sum += query[q + d] * key[k + d];
        }
        return sum;
    }

    private float vectorDot(int q, int k) {
        FloatVector sum = FloatVector.zero(SPECIES);
        for (int d = 0; d < DIM; d += SPECIES.length()) {
            sum = FloatVector.fromArray(SPECIES, query, q + d).fma(FloatVector.fromArray(SPECIES, key, k + d), sum);
        }
        return sum.reduceLanes(VectorOperators.ADD);
    }

    private void scalarAdd(float weight, int v, int to) {
        for (int d = 0; d < DIM; d++) {
            output[to + d] += weight * value[v + d];
        }
    }

    private void vectorAdd(float weight, int v, int to) {
        for (int d = 0; d < DIM; d += SPECIES.length()) {
            FloatVector.fromArray(SPECIES, value, v + d)
                    .fma(FloatVector.broadcast(SPECIES, weight), FloatVector.fromArray(SPECIES, output, to + d))
                    .intoArray(output, to + d);
        }
    }
}
