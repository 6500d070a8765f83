package io.multihead.position;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
import io.multihead.internal.base.VectorApiCheck;
import io.multihead.internal.call.Operation;
import io.multihead.internal.position.AngleTable;
import io.multihead.internal.position.PositionAngles;
import io.multihead.internal.position.RopeCall;
import io.multihead.internal.position.RopeChecks;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Rotary position embedding (Su et al. 2021, section 3): pairs of elements of a query or key are rotated by angles proportional to the
 * token's position, so that scores depend only on the difference of positions. Angles come from the frequencies of a {@link Config}, or
 * cosines and sines from tables ({@link #ofTables}); {@link #withSections} lets the pairs of a token follow several streams of positions.
 *
 * <p><b>Positions</b> are an array, row-major: {@code [tokens]}, shared by all sequences; {@code [batch, tokens]}, separate for each
 * sequence; or {@code [streams, batch, tokens]} with sections. The length of the array determines the form.
 *
 * <p>Tensors are {@code [batch, heads, tokens, headDim]} of any strides and floating-point element types. Angles are computed in f64 from
 * the integer position, cosine and sine are rounded to f32 once, and the rotation is done in f32; the error is within {@code
 * io.multihead.reference.Tolerance.rope}. A token at position 0 is copied bit by bit, unless there are tables, the scaling has an
 * attention factor or the element types differ. Elements beyond the rotated dims are always copied bit by bit between equal types.
 *
 * <p>The output may be the input itself, or another view of exactly the same elements. Otherwise, it must not overlap the input.
 *
 * <p>Immutable and thread-safe; same bits for any number of threads, layout and vector width. The cosines and sines of used positions are
 * kept, up to 64 MiB (131,072 positions of 128 rotated dims, half as many with interleaved pairs); further positions are computed at every
 * call. Tables are copied. A call whose positions were used before allocates nothing; for further positions, sines of large angles
 * allocate some objects (1 KB per row at position 600,000 with 32 dims).
 */
public final class Rope {
    /** The elements of a row that form a pair. */
    public enum Pairing {
        /** {@code (i, i + rotaryDims / 2)}: GPT-NeoX, and Llama as stored for Hugging Face. */
        HALF_SPLIT,
        /** {@code (2 i, 2 i + 1)}: the paper's, GPT-J's, and Llama as Meta stores it. */
        INTERLEAVED
    }

    /**
     * The rotated dims and their frequencies. Immutable and thread-safe.
     *
     * @param rotaryDims the number of leading elements of a row that are rotated, even, 2 to 65536; the rest is copied
     * @param theta the base of the frequencies, greater than 1
     * @param pairing which elements form a pair
     * @param scaling the method that stretches the embedding to longer contexts
     */
    public record Config(int rotaryDims, double theta, Pairing pairing, RopeScaling scaling) {
        /**
         * Checks the parts.
         *
         * @throws IllegalArgumentException if {@code rotaryDims} is odd or out of range, or theta is
         *     out of range
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
         * Returns a configuration with base 10000, half-split pairs and no scaling.
         *
         * @param rotaryDims the number of leading elements of a row that are rotated; headDim for the whole row
         * @return the configuration
         * @throws IllegalArgumentException if {@code rotaryDims} is odd or out of range
         */
        public static Config of(int rotaryDims) {
            return new Config(rotaryDims, 10_000, Pairing.HALF_SPLIT, RopeScaling.NONE);
        }

        /**
         * Returns this configuration with another number of rotated elements.
         *
         * @param newRotaryDims the number of leading elements of a row that are rotated
         * @return the changed configuration
         */
        public Config withRotaryDims(int newRotaryDims) {
            return new Config(newRotaryDims, theta, pairing, scaling);
        }

        /**
         * Returns this configuration with another base.
         *
         * @param newTheta the base of the frequencies
         * @return the changed configuration
         */
        public Config withTheta(double newTheta) {
            return new Config(rotaryDims, newTheta, pairing, scaling);
        }

        /**
         * Returns this configuration with other pairs.
         *
         * @param newPairing which elements form a pair
         * @return the changed configuration
         */
        public Config withPairing(Pairing newPairing) {
            return new Config(rotaryDims, theta, newPairing, scaling);
        }

        /**
         * Returns this configuration with another scaling.
         *
         * @param newScaling the method that stretches the embedding
         * @return the changed configuration
         */
        public Config withScaling(RopeScaling newScaling) {
            return new Config(rotaryDims, theta, pairing, newScaling);
        }
    }

    private final @Nullable Config config;
    private final PositionAngles angles;
    /** The contents without sections. */
    private final String description;

    private final @Nullable RopeSections sections;

    private Rope(@Nullable Config config, PositionAngles angles, String description, @Nullable RopeSections sections) {
        VectorApiCheck.requireVectorModule();
        this.config = config;
        this.angles = angles;
        this.description = description;
        this.sections = sections;
    }

    /**
     * {@return the embedding of a configuration}. Make one object and share it: its table of angles serves all layers and
     * threads.
     *
     * @param config the configuration of the embedding
     * @throws IllegalArgumentException if the scaling has frequencies or factors for another number of pairs
     */
    public static Rope of(Config config) {
        double[] frequencies = new double[Checks.notNull(config, "config").rotaryDims() / 2];
        for (int pair = 0; pair < frequencies.length; pair++) {
            frequencies[pair] = config.scaling().frequency(pair, config.rotaryDims(), config.theta());
        }
        boolean interleaved = config.pairing() == Pairing.INTERLEAVED;
        AngleTable angles = new AngleTable(frequencies, config.scaling().attentionFactor(), interleaved);
        return new Rope(config, PositionAngles.of(angles), config.toString(), null);
    }

    /**
     * Returns the embedding whose cosines and sines are rows of tables, as the ONNX operator RotaryEmbedding (opset 23) takes
     * them with {@code position_ids}: {@code cos_cache} and {@code sin_cache}. Without position ids, see {@link TokenAngles}.
     *
     * <p>Both tables are copied, rounded to f32, in {@code 4 * rotaryDims} bytes per position, twice as many for interleaved
     * pairs; the tensors remain owned by the caller and are not used after the call.
     *
     * @param cos cosines {@code [positions, rotaryDims / 2]}, floating-point, any strides
     * @param sin sines, the same shape
     * @param pairing which elements form a pair; ONNX's {@code interleaved = 0} is {@link Pairing#HALF_SPLIT}
     * @return the embedding, for positions below the number of rows
     * @throws IllegalArgumentException if shapes differ or do not fit, or a type is not floating-point
     */
    public static Rope ofTables(Tensor cos, Tensor sin, Pairing pairing) {
        RopeChecks.requireTables(cos, sin, 2, 2, "[positions, rotaryDims / 2]");
        boolean interleaved = Checks.notNull(pairing, "pairing") == Pairing.INTERLEAVED;
        VectorApiCheck.requireVectorModule();
        String description = "the tables cos and sin " + cos.shape() + ", " + pairing;
        return new Rope(null, PositionAngles.of(new AngleTable(cos, sin, interleaved)), description, null);
    }

    /**
     * {@return this embedding with pairs that follow several streams of positions}. It shares the angles.
     *
     * @param newSections the stream of each pair
     * @throws IllegalArgumentException unless the number of pairs equals the number of rotated pairs
     */
    public Rope withSections(RopeSections newSections) {
        if (Checks.notNull(newSections, "sections").count() != rotaryDims() / 2) {
            throw Checks.fail(
                    "sections",
                    newSections.toString(),
                    "expected " + rotaryDims() / 2 + " pairs in all, of rotaryDims " + rotaryDims());
        }
        return new Rope(config, angles.withStreams(newSections.pairs()), description, newSections);
    }

    /** {@return whether the embedding was made from frequencies; false for an embedding made from tables} */
    public boolean hasConfig() {
        return config != null;
    }

    /**
     * {@return the configuration}
     *
     * @throws IllegalStateException if the embedding was made from tables
     */
    public Config config() {
        if (config == null) {
            throw new IllegalStateException("config: none in an embedding of tables; expected one made of frequencies");
        }
        return config;
    }

    /**
     * Returns the stream of positions of each pair.
     *
     * @return the sections; null if all pairs follow the same positions
     */
    public @Nullable RopeSections sections() {
        return sections;
    }

    /** {@return the number of leading elements of a row that are rotated; an even number, at least 2} */
    public int rotaryDims() {
        return angles.rotaryDims();
    }

    /**
     * Returns the number of positions: the rows of the tables, or 2^53.
     *
     * @return the number; positions are below it
     */
    public long positions() {
        return angles.positions();
    }

    /** {@return the number of position streams of a token; 1 without sections} */
    public int streams() {
        return angles.streams();
    }

    @Override
    public String toString() {
        return sections == null ? description : description + ", " + sections;
    }

    /**
     * Rotates tokens that follow one another, at the same positions in all sequences and streams.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point
     * @param y the same shape, floating-point, written; may be {@code x} itself
     * @param firstPosition position of the first token, from 0
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     {@link #positions}; nothing is written
     */
    public void apply(Compute cpu, Tensor x, Tensor y, long firstPosition) {
        RopeChecks.requireTensors(cpu, x, y, rotaryDims());
        RopeChecks.requirePositions(angles, x, firstPosition, this);
        run(cpu, x, y, null, firstPosition, 1f);
    }

    /**
     * Rotates tokens at any positions.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point
     * @param y the same shape, floating-point, written; may be {@code x} itself
     * @param positions {@code [tokens]}, {@code [batch, tokens]} or {@code [streams, batch, tokens]}, from 0, in any order;
     *     read during the call only
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     {@link #positions}; nothing is written
     */
    public void apply(Compute cpu, Tensor x, Tensor y, long[] positions) {
        RopeChecks.requireTensors(cpu, x, y, rotaryDims());
        RopeChecks.requirePositions(angles, x, positions, this);
        run(cpu, x, y, positions, 0, 1f);
    }

    /**
     * Rotates one row in place, on the caller's thread. This method is for engines whose tokens are {@code float[]}, and for caches that
     * rotate keys when they append them. The result has the same bits as the other methods. A call allocates nothing at a position that
     * was used before.
     *
     * @param row holds at least {@code rotaryDims} floats from {@code at} on
     * @param at the index at which the row of one head starts
     * @param position from 0, in all streams
     * @throws IllegalArgumentException if the row is too short, or the position is negative or beyond {@link #positions};
     *     nothing is written
     */
    public void apply(float[] row, int at, long position) {
        RopeChecks.requireRow(row, at, rotaryDims());
        if (position < 0 || position >= positions()) {
            throw TokenPositions.outside(position, "position", positions(), this);
        }
        angles.rotate(position, row, at);
    }

    /**
     * Rotates one row in place, on the caller's thread, as {@link #apply(float[], int, long)} does.
     *
     * @param row holds at least {@code rotaryDims} floats from {@code at} on
     * @param at the index at which the row of one head starts
     * @param positions one per stream, or a single one for all, from 0
     * @throws IllegalArgumentException if the row is too short, or a position is missing, negative or beyond
     *     {@link #positions}; nothing is written
     */
    public void apply(float[] row, int at, long[] positions) {
        RopeChecks.requireRow(row, at, rotaryDims());
        TokenPositions.requireLength(positions, streams(), 1, 1, "a row");
        TokenPositions.requireRange(positions, positions(), this);
        angles.rotate(positions, row, at);
    }

    /**
     * Rotates by the negative angle: the gradient of {@link #apply(Compute, Tensor, Tensor, long)}, and its inverse. With an attention
     * factor the result is still the gradient, and the inverse up to the square of the factor.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point: the gradient of the rotated tensor, or that tensor
     * @param y the same shape, floating-point, written; may be {@code x} itself
     * @param firstPosition position of the first token, from 0
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     {@link #positions}; nothing is written
     */
    public void applyInverse(Compute cpu, Tensor x, Tensor y, long firstPosition) {
        RopeChecks.requireTensors(cpu, x, y, rotaryDims());
        RopeChecks.requirePositions(angles, x, firstPosition, this);
        run(cpu, x, y, null, firstPosition, -1f);
    }

    /**
     * Rotates by the negative angle: the gradient of {@link #apply(Compute, Tensor, Tensor, long[])}, and its inverse. With an attention
     * factor the result is still the gradient, and the inverse up to the square of the factor.
     *
     * @param cpu threads and scratch
     * @param x {@code [batch, heads, tokens, headDim]}, floating-point: the gradient of the rotated tensor, or that tensor
     * @param y the same shape, floating-point, written; may be {@code x} itself
     * @param positions {@code [tokens]}, {@code [batch, tokens]} or {@code [streams, batch, tokens]}, from 0, in any order;
     *     read during the call only
     * @throws IllegalArgumentException if shapes do not fit, memory overlaps otherwise, or a position is negative or beyond
     *     {@link #positions}; nothing is written
     */
    public void applyInverse(Compute cpu, Tensor x, Tensor y, long[] positions) {
        RopeChecks.requireTensors(cpu, x, y, rotaryDims());
        RopeChecks.requirePositions(angles, x, positions, this);
        run(cpu, x, y, positions, 0, -1f);
    }

    private void run(Compute cpu, Tensor x, Tensor y, long @Nullable [] positions, long first, float direction) {
        try (RopeCall call = Operation.open(cpu, RopeCall.CALL)) {
            call.run(x, y, angles, positions, first, direction);
        }
    }
}
