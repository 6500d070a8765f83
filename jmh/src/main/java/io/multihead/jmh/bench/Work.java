package io.multihead.jmh.bench;

/**
 * The minimum work of one call of a benchmark: multiply-adds or reads of memory, depending on the limit of the call.
 *
 * @param amount floating-point operations or bytes, or NaN if no limit is known
 * @param unit the unit of the amount
 */
public record Work(double amount, Unit unit) {
    /** The work of a benchmark with an unknown limit. */
    public static final Work UNKNOWN = new Work(Double.NaN, Unit.OPERATIONS);

    /** The unit of a limit. */
    public enum Unit {
        OPERATIONS("GFLOP/s", "FMA peak"),
        BYTES("GB/s", "read bandwidth");

        public final String speed;

        /** The name of the limit of this speed. */
        public final String limit;

        Unit(String speed, String limit) {
            this.speed = speed;
            this.limit = limit;
        }
    }

    /** Returns the work of floating-point operations. A multiply-add has two operations. */
    static Work operations(double amount) {
        return new Work(amount, Unit.OPERATIONS);
    }

    static Work bytes(double amount) {
        return new Work(amount, Unit.BYTES);
    }

    /** Returns the operations of scores and weighted values, or half of this number with a causal mask. */
    static double attention(double batchAndHeads, double tokens, double dim, boolean causal) {
        return (causal ? 0.5 : 1) * 4 * batchAndHeads * tokens * tokens * dim;
    }

    /**
     * Returns the work of forward and backward of encoder layers: three times the forward work of weights, and 3.5
     * times the forward work of attention.
     */
    static Work training(int layers, double tokens, int context, double dim, double inner) {
        double weights = 4 * dim * dim + 2 * dim * inner;
        return operations(layers * 2 * tokens * (3 * weights + 3.5 * 2 * context * dim));
    }

    /** Returns billions of operations or bytes per second. */
    public double speed(double milliseconds) {
        return amount / milliseconds * 1e-6;
    }

    public boolean known() {
        return !Double.isNaN(amount);
    }
}
