package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Vectors of the tokens of texts, stored text by text, for {@code io.multihead.gemm.MaxSim}. Immutable, except for the contents of its memory.
 */
public final class TokenVectors {
    private final float[] values;
    private final int dimension;
    private final long[] offsets;

    /** Takes the vectors of all texts. The offsets are the index of each text's first vector, and the number of all vectors. */
    TokenVectors(float[] values, int dimension, long[] offsets) {
        this.values = values;
        this.dimension = dimension;
        this.offsets = offsets;
    }

    /** {@return the number of texts} */
    public int texts() {
        return offsets.length - 1;
    }

    /** {@return the number of elements of a vector} */
    public int dimension() {
        return dimension;
    }

    /** {@return all vectors, {@code [tokens, dimension]} of f32 on the heap, shared} */
    public Tensor tensor() {
        return Tensor.of(values, offsets[texts()], dimension);
    }

    /** {@return for each text the index of its first vector, and at the end the number of all vectors; a copy} */
    public long[] offsets() {
        return offsets.clone();
    }

    /**
     * Returns the vectors of one text, as needed by Lucene's {@code LateInteractionField}.
     *
     * @param text the index of the text, from 0
     * @return a new array with a new vector for each token
     * @throws IllegalArgumentException if there is no such text
     */
    public float[][] vectors(int text) {
        int at = (int) Checks.index(text, texts(), "text");
        int first = (int) offsets[at];
        float[][] vectors = new float[(int) offsets[at + 1] - first][];
        Arrays.setAll(vectors, i -> Arrays.copyOfRange(values, (first + i) * dimension, (first + i + 1) * dimension));
        return vectors;
    }

    long[] sharedOffsets() {
        return offsets;
    }
}
