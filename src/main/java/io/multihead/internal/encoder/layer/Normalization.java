package io.multihead.internal.encoder.layer;

/** Whether vectors have length 1, and whether they are normalized before or after truncation. */
public enum Normalization {
    /** Vectors do not change. */
    NONE,
    /**
     * Vectors are normalized before truncation, as in a folder with a Normalize module and a {@code truncate_dim}. The length of a truncated
     * vector is below 1.
     */
    WHOLE,
    /** Vectors are normalized after truncation. */
    CUT;

    /** The smallest divisor, as in PyTorch's {@code normalize}: shorter vectors keep their direction, and stay shorter than 1. */
    public static final double LEAST_NORM = 1e-12;

    /** Returns the first elements of a vector, normalized as this constant states. */
    public float[] apply(double[] vector, int elements) {
        int kept = Math.min(elements, vector.length);
        double divisor = this == NONE ? 1 : norm(vector, this == WHOLE ? vector.length : kept);
        float[] result = new float[kept];
        for (int i = 0; i < kept; i++) {
            result[i] = (float) (vector[i] / divisor);
        }
        return result;
    }

    private static double norm(double[] vector, int length) {
        double squares = 0;
        for (int i = 0; i < length; i++) {
            squares += vector[i] * vector[i];
        }
        return Math.max(Math.sqrt(squares), LEAST_NORM);
    }
}
