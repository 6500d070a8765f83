package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;

/**
 * Rotary position embedding (Su et al. 2021) as plain loops in {@code double}. Immutable and thread-safe.
 *
 * <p>Scalings replace one another: each starts from the frequencies {@code theta^(-2 i / rotaryDims)}.
 */
public final class ReferenceRope {
    private final int rotaryDims;
    private final double theta;
    private final boolean interleaved;
    private final double[] frequencies;
    private final double factor;

    private ReferenceRope(int rotaryDims, double theta, boolean interleaved, double[] frequencies, double factor) {
        this.rotaryDims = rotaryDims;
        this.theta = theta;
        this.interleaved = interleaved;
        this.frequencies = frequencies;
        this.factor = factor;
    }

    /**
     * The rotated elements and their error bounds.
     *
     * @param output rotated elements, row-major
     * @param bound what each may be off, from {@link Tolerance#rope}
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Result(double[] output, double[] bound) {
        /** Checks that both are there. */
        public Result {
            Checks.notNull(output, "output");
            Checks.notNull(bound, "bound");
        }
    }

    /**
     * Returns an embedding without scaling.
     *
     * @param rotaryDims how many leading elements of a row are rotated; even
     * @param theta the base
     * @param interleaved pairs {@code (2 i, 2 i + 1)} rather than {@code (i, i + rotaryDims / 2)}
     * @return the embedding
     * @throws IllegalArgumentException if {@code rotaryDims} is odd or not in 2 to 65536, or theta is not above 1
     */
    public static ReferenceRope of(int rotaryDims, double theta, boolean interleaved) {
        if (rotaryDims < 2 || rotaryDims > 1 << 16 || rotaryDims % 2 != 0) {
            throw Checks.fail("rotaryDims", String.valueOf(rotaryDims), "expected an even number from 2 to 65536");
        }
        if (!(theta > 1 && theta < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("theta", String.valueOf(theta), "expected a finite number above 1");
        }
        return new ReferenceRope(rotaryDims, theta, interleaved, powers(rotaryDims, theta), 1);
    }

    /**
     * Returns an embedding with position interpolation (Chen et al. 2023): positions are divided by the factor.
     *
     * @param by the factor
     * @return the scaled embedding
     */
    public ReferenceRope linear(double by) {
        Checks.finiteAtLeast(by, 1, "by");
        return with(Arrays.stream(powers(rotaryDims, theta)).map(f -> f / by).toArray(), 1);
    }

    /**
     * Returns an NTK-aware embedding: the base becomes {@code theta * by^(d / (d - 2))} with {@code d = rotaryDims}.
     *
     * @param by the factor
     * @return the scaled embedding
     */
    public ReferenceRope ntk(double by) {
        Checks.finiteAtLeast(by, 1, "by");
        double d = rotaryDims;
        return with(d == 2 ? new double[] {1} : powers(rotaryDims, theta * Math.pow(by, d / (d - 2))), 1);
    }

    /**
     * Returns an embedding scaled as YaRN (Peng et al. 2023, section 3.2), with the ramp linear in the pair's index as in the authors' models: between the
     * pairs that turn {@code fast} and {@code slow} times within the context, rounded outwards to whole pairs.
     *
     * @param by the factor
     * @param context tokens that the model was trained with
     * @param fast turns from which on a pair keeps its frequency
     * @param slow turns below which a pair's frequency is divided by the factor
     * @param scale what cosine and sine are multiplied with
     * @return the scaled embedding
     */
    public ReferenceRope yarn(double by, double context, double fast, double slow, double scale) {
        Checks.finiteAtLeast(by, 1, "by");
        Checks.finiteAtLeast(context, 1, "context");
        requirePositive(slow, "slow");
        requirePositive(fast, "fast");
        requirePositive(scale, "scale");
        double[] scaled = powers(rotaryDims, theta);
        double low = Math.min(Math.max(Math.floor(pairThatTurns(fast, context)), 0), rotaryDims - 1);
        double high = Math.min(Math.max(Math.ceil(pairThatTurns(slow, context)), 0), rotaryDims - 1);
        double width = low == high ? 0.001 : high - low;
        for (int i = 0; i < scaled.length; i++) {
            double interpolated = Math.min(Math.max((i - low) / width, 0), 1);
            scaled[i] = scaled[i] / by * interpolated + scaled[i] * (1 - interpolated);
        }
        return with(scaled, scale);
    }

    /**
     * Returns an embedding scaled as Llama 3.1's: by wavelength, short ones are kept, long ones stretched by the factor, and those between blended.
     *
     * @param by the factor
     * @param low wavelengths above {@code context / low} are stretched
     * @param high wavelengths below {@code context / high} are kept
     * @param context tokens that the model was trained with
     * @return the scaled embedding
     */
    public ReferenceRope llama3(double by, double low, double high, double context) {
        Checks.finiteAtLeast(by, 1, "by");
        requirePositive(low, "low");
        requirePositive(high, "high");
        Checks.finiteAtLeast(context, 1, "context");
        double[] scaled = powers(rotaryDims, theta);
        for (int i = 0; i < scaled.length; i++) {
            double wavelength = 2 * Math.PI / scaled[i];
            if (wavelength > context / low) {
                scaled[i] /= by;
            } else if (wavelength >= context / high) {
                double kept = (context / wavelength - low) / (high - low);
                scaled[i] = (1 - kept) * scaled[i] / by + kept * scaled[i];
            }
        }
        return with(scaled, 1);
    }

    /**
     * Returns the angle per position of every pair.
     *
     * @return the frequencies as a new array
     */
    public double[] frequencies() {
        return frequencies.clone();
    }

    /**
     * Rotates every row by its position.
     *
     * @param x {@code [batch, heads, tokens, headDim]}
     * @param positions one per token
     * @param inverse rotate by the negative angle
     * @return rotated elements and their bounds
     * @throws IllegalArgumentException if rows are shorter than the rotated dims, or there is not a position per token
     */
    public Result apply(Tensor x, long[] positions, boolean inverse) {
        Values.requireShape(x, "x", -1, -1, -1, -1);
        if (x.dim(3) < rotaryDims) {
            throw Checks.fail("x", "shape " + x.shape(), "expected a headDim of at least rotaryDims " + rotaryDims);
        }
        Checks.length(Checks.notNull(positions, "positions").length, x.dim(2), "positions", "one per token of x");
        double[] from = Values.of(x, "x");
        double[] output = from.clone();
        double[] bound = new double[from.length];
        int headDim = (int) x.dim(3);
        for (int row = 0; row < from.length / Math.max(1, headDim); row++) {
            double position = positions[row % positions.length];
            for (int i = 0; i < rotaryDims / 2; i++) {
                int first = row * headDim + (interleaved ? 2 * i : i);
                int second = first + (interleaved ? 1 : rotaryDims / 2);
                double angle = position * frequencies[i];
                double cos = factor * Math.cos(angle);
                double sin = factor * (inverse ? -Math.sin(angle) : Math.sin(angle));
                double a = from[first];
                double b = from[second];
                output[first] = a * cos - b * sin;
                output[second] = b * cos + a * sin;
                double rotated = angle * factor * (Math.abs(a) + Math.abs(b));
                bound[first] = Tolerance.rope(Math.abs(a * cos) + Math.abs(b * sin), rotated);
                bound[second] = Tolerance.rope(Math.abs(b * cos) + Math.abs(a * sin), rotated);
            }
        }
        return new Result(output, bound);
    }

    private static void requirePositive(double value, String argument) {
        if (!(value > 0 && value < Double.POSITIVE_INFINITY)) {
            throw Checks.fail(argument, String.valueOf(value), "expected a finite number above 0");
        }
    }

    /** The index, not rounded, of the pair that turns so often within the context: {@code context f / (2 pi) = turns}. */
    private double pairThatTurns(double turns, double context) {
        return -Math.log(2 * Math.PI * turns / context) / Math.log(theta) * rotaryDims / 2;
    }

    private ReferenceRope with(double[] scaled, double scale) {
        return new ReferenceRope(rotaryDims, theta, interleaved, scaled, scale);
    }

    private static double[] powers(int rotaryDims, double base) {
        double[] powers = new double[rotaryDims / 2];
        for (int i = 0; i < powers.length; i++) {
            powers[i] = 1 / Math.pow(base, 2.0 * i / rotaryDims);
        }
        return powers;
    }
}
