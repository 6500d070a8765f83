package io.multihead.internal.encoder.family;

import io.multihead.internal.base.Checks;

/** Conditions on the sizes of all encoders, with the names that their families use. */
public final class EncoderLimits {
    /** The largest size that a file may state. */
    static final int MOST = 1 << 24;
    /** The smallest number of positions: {@code [CLS]}, one token and {@code [SEP]}. */
    static final int LEAST_POSITIONS = 3;

    /** The number of elements that padding may add to a row. */
    private static final long PADDING = 31;

    private EncoderLimits() {}

    /** A size and its name. */
    public record Named(String name, int size) {
        @Override
        public String toString() {
            return name + " " + size;
        }
    }

    /** Fails unless the elements of a state are a multiple of the number of heads. */
    static void requireHeads(Named dim, int heads) {
        if (dim.size % heads != 0) {
            throw Checks.fail(dim.name, String.valueOf(dim.size), "expected a multiple of " + heads + " heads");
        }
    }

    /** Fails unless the elements of a head can be rotated in pairs. */
    static void requirePairs(Named dim, int heads) {
        requireHeads(dim, heads);
        if (dim.size / heads % 2 != 0 || dim.size / heads > 1 << 16) {
            throw Checks.fail(
                    dim.name,
                    String.valueOf(dim.size),
                    "expected an even number of elements of each of " + heads + " heads, at most 65536");
        }
    }

    /**
     * Fails unless the rows of a batch fit in one array: {@code copies} times the inner elements, or query, key, value and output. All of these
     * are padded.
     */
    static void requireBatch(Named positions, Named dim, Named inner, int copies) {
        long wide = Math.max(4 * (dim.size + PADDING), copies * (inner.size + PADDING));
        int tokens = Math.max(positions.size, EncoderConfig.BATCH_TOKENS);
        if (wide * tokens > Checks.MAX_ARRAY_LENGTH) {
            throw Checks.fail(
                    positions.name,
                    positions.size + ", with " + dim + " and " + inner,
                    "expected batches of " + tokens + " tokens to fit arrays");
        }
    }
}
