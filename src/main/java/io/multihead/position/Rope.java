package io.multihead.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Rotary position embedding (Su et al. 2021, section 3): pairs of elements of a query or key are rotated by angles
 * proportional to the token's position, so that scores depend on the difference of positions alone.
 *
 * <p>Tensors are {@code [batch, heads, tokens, headDim]} of any strides and floating element types. Angles are computed in
 * f64 from the integer position, cosine and sine are rounded to f32 once, and the rotation is done in f32; the error is
 * within {@code io.multihead.reference.Tolerance.rope}. A token at position 0 is copied bit by bit, unless the scaling has
 * an attention factor or the element types differ; elements beyond the rotated dims always are, between equal types.
 *
 * <p>The output may be the input itself, or another view of exactly the same elements; it may not overlap it otherwise.
 *
 * <p>Immutable and thread-safe; same bits for any number of threads, layout and vector width. Cosines and sines of the
 * positions that were used are kept, up to 64 MiB (131,072 positions of 128 rotated dims); those beyond are computed at every
 * call. A call whose positions were used before, or lie beyond, allocates nothing.
 */
public final class Rope {
    /** Positions stay below 2^53, where f64 has every integer. */
    static final long POSITIONS = 1L << 53;

    private static final ScratchKey<RopeCall> CALL = ScratchKey.of(RopeCall::new);

    /** Which elements of a row form a pair. */
    public enum Pairing {
        /** {@code (i, i + rotaryDims / 2)}: GPT-NeoX, and Llama as stored for Hugging Face. */
        HALF_SPLIT,
        /** {@code (2 i, 2 i + 1)}: the paper's, GPT-J's, and Llama as Meta stores it. */
        INTERLEAVED
    }

    /**
     * What is rotated and how fast. Immutable and thread-safe.
     *
     * @param rotaryDims how many leading elements of a row are rotated, even, 2 to 65536; the rest of it is copied
     * @param theta the base of the frequencies, greater than 1
     * @param pairing which elements form a pair
     * @param scaling how the embedding is stretched to longer contexts
     */
    public record Config(int rotaryDims, double theta, Pairing pairing, RopeScaling scaling) {
        /**
         * Checks the parts.
         *
         * @throws IllegalArgumentException if {@code rotaryDims} is odd or out of range, or theta is
         */
        public Config {
            if (rotaryDims < 2 || rotaryDims > 1 << 16 || rotaryDims % 2 != 0) {
                throw Checks.fail("rotaryDims", String.valueOf(rotaryDims), "expected an even number from 2 to 65536");
            }
            if (!(theta > 1 && theta < Double.POSITIVE_INFINITY)) {
                throw Checks.fail("theta", String.valueOf(theta), "expected a finite number above 1");
            }
            Checks.notNull(pairing, "pairing");
            Checks.notNull(scaling, "scaling");
        }

        /**
         * Base 10000, half-split pairs, no scaling.
         *
         * @param rotaryDims how many leading elements of a row are rotated; headDim for all of it
         * @return the configuration
         * @throws IllegalArgumentException if {@code rotaryDims} is odd or out of range
         */
        public static Config of(int rotaryDims) {
            return new Config(rotaryDims, 10_000, Pairing.HALF_SPLIT, RopeScaling.NONE);
        }

        /**
         * This configuration with another number of rotated elements.
         *
         * @param newRotaryDims how many leading elements of a row are rotated
         * @return the changed configuration
         */
        public Config withRotaryDims(int newRotaryDims) {
            return new Config(newRotaryDims, theta, pairing, scaling);
        }

        /**
         * This configuration with another base.
         *
         * @param newTheta the base of the frequencies
         * @return the changed configuration
         */
        public Config withTheta(double newTheta) {
            return new Config(rotaryDims, newTheta, pairing, scaling);
        }

        /**
         * This configuration with other pairs.
         *
         * @param newPairing which elements form a pair
         * @return the changed configuration
         */
        public Config withPairing(Pairing newPairing) {
            return new Config(rotaryDims, theta, newPairing, scaling);
        }

        /**
         * This configuration with another scaling.
         *
         * @param newScaling how the embedding is stretched
         * @return the changed configuration
         */
        public Config withScaling(RopeScaling newScaling) {
            return new Config(rotaryDims, theta, pairing, newScaling);
        }
    }

    private final Config config;
    private final AngleTable angles;

    private Rope(Config config) {
        VectorApiCheck.requireVectorModule();
        this.config = config;
        double[] frequencies = new double[config.rotaryDims() / 2];
        for (int pair = 0; pair < frequencies.length; pair++) {
            frequencies[pair] = config.scaling().frequency(pair, config.rotaryDims(), config.theta());
        }
        angles = new AngleTable(
                frequencies, config.scaling().attentionFactor(), config.pairing() == Pairing.INTERLEAVED);
    }

    /**
     * The embedding of a configuration. Make one and share it: its table of angles serves all layers and threads.
     *
     * @param config what is rotated and how fast
     * @return the embedding
     */
    public static Rope of(Config config) {
        return new Rope(Checks.notNull(config, "config"));
    }

    /**
     * What is rotated and how fast.
     *
     * @return the configuration
     */
    public Config config() {
        return config;
    }

    /**
     * Rotates tokens that follow one another.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating
     * @param y the same shape, floating, written; may be {@code x} itself
     * @param firstPosition position of the first token, from 0
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     2^53; nothing has been written then
     */
    public void apply(Compute cpu, Tensor x, Tensor y, long firstPosition) {
        RopeChecks.requireTensors(cpu, x, y, config.rotaryDims());
        RopeChecks.requirePositions(x, firstPosition);
        run(cpu, x, y, null, firstPosition, 1f);
    }

    /**
     * Rotates tokens that stand anywhere.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating
     * @param y the same shape, floating, written; may be {@code x} itself
     * @param positions one per token, from 0, in any order; read during the call only
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     2^53; nothing has been written then
     */
    public void apply(Compute cpu, Tensor x, Tensor y, long[] positions) {
        RopeChecks.requireTensors(cpu, x, y, config.rotaryDims());
        RopeChecks.requirePositions(x, positions);
        run(cpu, x, y, positions, 0, 1f);
    }

    /**
     * Rotates one row in place, on the caller's thread: for engines whose tokens are {@code float[]}, and for a cache that
     * rotates keys as it takes them in. Same bits as the other ways; allocates nothing at a position that was used before.
     *
     * @param row holds at least {@code rotaryDims} floats from {@code at} on
     * @param at where the row of one head starts
     * @param position from 0
     * @throws IllegalArgumentException if the row ends too early, or the position is negative or beyond 2^53; nothing has been
     *     written then
     */
    public void apply(float[] row, int at, long position) {
        int length = Checks.notNull(row, "row").length;
        if (at < 0 || at > length - config.rotaryDims()) {
            throw Checks.fail(
                    "at",
                    String.valueOf(at),
                    "expected " + config.rotaryDims() + " floats from there on, of " + length);
        }
        RopeChecks.requirePosition(position, "position");
        if (!rests(position)) {
            angles.turn(position, row, at);
        }
    }

    AngleTable angles() {
        return angles;
    }

    /** Whether a token is copied: multiplying by 1 and 0 would change the sign of zeros, and infinities. */
    boolean rests(long position) {
        return position == 0 && config.scaling().attentionFactor() == 1;
    }

    /**
     * Rotates by the negative angle: the gradient of {@link #apply(Compute, Tensor, Tensor, long)}, and its inverse. With an
     * attention factor it stays the gradient, and undoes the rotation up to the factor's square.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating: the gradient of the rotated tensor, or that tensor
     * @param y the same shape, floating, written; may be {@code x} itself
     * @param firstPosition position of the first token, from 0
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     2^53; nothing has been written then
     */
    public void applyInverse(Compute cpu, Tensor x, Tensor y, long firstPosition) {
        RopeChecks.requireTensors(cpu, x, y, config.rotaryDims());
        RopeChecks.requirePositions(x, firstPosition);
        run(cpu, x, y, null, firstPosition, -1f);
    }

    /**
     * Rotates by the negative angle: the gradient of {@link #apply(Compute, Tensor, Tensor, long[])}, and its inverse. With
     * an attention factor it stays the gradient, and undoes the rotation up to the factor's square.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating: the gradient of the rotated tensor, or that tensor
     * @param y the same shape, floating, written; may be {@code x} itself
     * @param positions one per token, from 0, in any order; read during the call only
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     2^53; nothing has been written then
     */
    public void applyInverse(Compute cpu, Tensor x, Tensor y, long[] positions) {
        RopeChecks.requireTensors(cpu, x, y, config.rotaryDims());
        RopeChecks.requirePositions(x, positions);
        run(cpu, x, y, positions, 0, -1f);
    }

    private void run(Compute cpu, Tensor x, Tensor y, long @Nullable [] positions, long first, float direction) {
        try (RopeCall call = Operation.open(cpu, CALL)) {
            call.bind(this, x, y, direction);
            call.place(positions, first);
            call.run();
        }
    }
}
