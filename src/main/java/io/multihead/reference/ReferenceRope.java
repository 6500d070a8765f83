package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Rotary position embedding (Su et al. 2021) as plain loops in {@code double}. Immutable and thread-safe.
 *
 * <p>A scaling replaces the previous one: each starts from the frequencies {@code theta^(-2 i / rotaryDims)}. Sections of positions do not
 * change.
 */
public final class ReferenceRope {
    private final int rotaryDims;
    private final double theta;
    private final boolean interleaved;
    private final double[] frequencies;
    private final double factor;
    private final @Nullable Tables tables;
    /** The stream of positions that each pair follows. */
    private final int[] streams;

    private final int streamCount;

    private ReferenceRope(ReferenceRope of, double[] frequencies, double factor, int[] streams, int streamCount) {
        this.rotaryDims = of.rotaryDims;
        this.theta = of.theta;
        this.interleaved = of.interleaved;
        this.tables = of.tables;
        this.frequencies = frequencies;
        this.factor = factor;
        this.streams = streams;
        this.streamCount = streamCount;
    }

    private ReferenceRope(int rotaryDims, double theta, boolean interleaved, @Nullable Tables tables) {
        this.rotaryDims = rotaryDims;
        this.theta = theta;
        this.interleaved = interleaved;
        this.tables = tables;
        frequencies = tables == null ? powers(rotaryDims, theta) : new double[0];
        factor = 1;
        streams = new int[rotaryDims / 2];
        streamCount = 1;
    }

    /** Cosines and sines of {@code rows} positions, row-major. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Tables(double[] cos, double[] sin, long rows) {}

    /**
     * The rotated elements and their error bounds.
     *
     * @param output rotated elements, row-major
     * @param bound the largest error of each, from {@link Tolerance#rope}
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Result(double[] output, double[] bound) {
        /** Checks that no component is null. */
        public Result {
            Checks.notNull(output, "output");
            Checks.notNull(bound, "bound");
        }
    }

    /**
     * {@return an embedding without scaling}
     *
     * @param rotaryDims the number of leading elements of a row that are rotated; even
     * @param theta the base
     * @param interleaved pairs {@code (2 i, 2 i + 1)} rather than {@code (i, i + rotaryDims / 2)}
     * @throws IllegalArgumentException if {@code rotaryDims} is odd or not in 2 to 65536, or theta is not above 1
     */
    public static ReferenceRope of(int rotaryDims, double theta, boolean interleaved) {
        if (rotaryDims < 2 || rotaryDims > 1 << 16 || rotaryDims % 2 != 0) {
            throw Checks.fail("rotaryDims", String.valueOf(rotaryDims), "expected an even number from 2 to 65536");
        }
        if (!(theta > 1 && theta < Double.POSITIVE_INFINITY)) {
            throw Checks.fail("theta", String.valueOf(theta), "expected a finite number above 1");
        }
        return new ReferenceRope(rotaryDims, theta, interleaved, null);
    }

    /**
     * {@return an embedding whose angles come from tables, as in the ONNX operator RotaryEmbedding (opset 23)}
     *
     * @param cos cosines {@code [positions, rotaryDims / 2]}
     * @param sin sines, the same shape
     * @param interleaved pairs {@code (2 i, 2 i + 1)} rather than {@code (i, i + rotaryDims / 2)}
     * @throws IllegalArgumentException if the shapes differ or do not fit
     */
    public static ReferenceRope tables(Tensor cos, Tensor sin, boolean interleaved) {
        Values.requireShape(cos, "cos", -1, -1);
        Values.requireShape(sin, "sin", cos.dim(0), cos.dim(1));
        if (cos.dim(1) < 1 || cos.dim(1) > 1 << 15) {
            throw Checks.fail("cos", "shape " + cos.shape(), "expected 1 to 32768 columns");
        }
        Tables tables = new Tables(Values.of(cos, "cos"), Values.of(sin, "sin"), cos.dim(0));
        return new ReferenceRope((int) (2 * cos.dim(1)), 2, interleaved, tables);
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
     * {@return an embedding scaled with YaRN (Peng et al. 2023, section 3.2), with the ramp linear in the pair's index as in the authors'
     * models, between the pairs that turn {@code fast} and {@code slow} times within the context}
     *
     * @param by the factor
     * @param context tokens that the model was trained with
     * @param fast turns from which on a pair keeps its frequency
     * @param slow turns below which a pair's frequency is divided by the factor
     * @param scale the factor of cosine and sine
     * @param whole whether the ends of the ramp are rounded outwards to whole pairs
     */
    public ReferenceRope yarn(double by, double context, double fast, double slow, double scale, boolean whole) {
        Checks.finiteAtLeast(by, 1, "by");
        Checks.finiteAtLeast(context, 1, "context");
        requirePositive(slow, "slow");
        requirePositive(fast, "fast");
        requirePositive(scale, "scale");
        double[] scaled = powers(rotaryDims, theta);
        double first = pairThatTurns(fast, context);
        double last = pairThatTurns(slow, context);
        double low = Math.min(Math.max(whole ? Math.floor(first) : first, 0), rotaryDims - 1);
        double high = Math.min(Math.max(whole ? Math.ceil(last) : last, 0), rotaryDims - 1);
        double width = low == high ? 0.001 : high - low;
        for (int i = 0; i < scaled.length; i++) {
            double interpolated = Math.min(Math.max((i - low) / width, 0), 1);
            scaled[i] = scaled[i] / by * interpolated + scaled[i] * (1 - interpolated);
        }
        return with(scaled, scale);
    }

    /**
     * {@return an embedding scaled as in Llama 3.1: short wavelengths are kept, long wavelengths are stretched by the factor, and
     * wavelengths in between are blended}
     *
     * @param by the factor
     * @param low wavelengths above {@code context / low} are stretched
     * @param high wavelengths below {@code context / high} are kept
     * @param context tokens that the model was trained with
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
     * Returns LongRoPE (Ding et al. 2024, equation 3, without the initial tokens): each frequency is divided by its own factor.
     *
     * @param by one factor per pair
     * @param scale the factor of cosine and sine
     * @return the scaled embedding
     */
    public ReferenceRope perPair(double[] by, double scale) {
        Checks.length(Checks.notNull(by, "by").length, rotaryDims / 2, "by", "one per pair");
        requirePositive(scale, "scale");
        double[] scaled = powers(rotaryDims, theta);
        for (int i = 0; i < scaled.length; i++) {
            requirePositive(by[i], "by");
            scaled[i] /= by[i];
        }
        return with(scaled, scale);
    }

    /**
     * {@return an embedding with given frequencies}
     *
     * @param given radians per position of every pair
     * @param scale the factor of cosine and sine
     */
    public ReferenceRope frequencies(double[] given, double scale) {
        Checks.length(Checks.notNull(given, "given").length, rotaryDims / 2, "given", "one per pair");
        requirePositive(scale, "scale");
        return with(given.clone(), scale);
    }

    /**
     * Returns the proportional embedding: the first {@code pairs} pairs rotate, and the others have
     * frequency 0.
     *
     * @param pairs number of pairs that rotate
     * @param by the divisor of the frequencies
     * @return the scaled embedding
     */
    public ReferenceRope proportional(int pairs, double by) {
        Checks.finiteAtLeast(by, 1, "by");
        Checks.index(pairs, rotaryDims / 2 + 1, "pairs");
        double[] scaled = powers(rotaryDims, theta);
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] = i < pairs ? scaled[i] / by : 0;
        }
        return with(scaled, 1);
    }

    /**
     * {@return this embedding with several streams of positions (M-RoPE; Wang et al. 2024, Qwen2-VL, section 2.1)}
     *
     * @param count the number of streams
     * @param of the stream of positions, from 0, that each pair follows
     */
    public ReferenceRope streams(int count, int... of) {
        Checks.length(Checks.notNull(of, "of").length, rotaryDims / 2, "of", "one per pair");
        Arrays.stream(of).forEach(stream -> Checks.index(stream, count, "of"));
        return new ReferenceRope(this, frequencies, factor, of.clone(), count);
    }

    /** {@return the angle per position of every pair, as a new array} */
    public double[] frequencies() {
        return frequencies.clone();
    }

    /**
     * Rotates every row by its position.
     *
     * @param x {@code [batch, heads, tokens, headDim]}
     * @param positions {@code [tokens]}, {@code [batch, tokens]} or {@code [streams, batch, tokens]}, row-major
     * @param inverse whether to rotate by the negative angle
     * @return rotated elements and their bounds
     * @throws IllegalArgumentException if rows are shorter than the rotated dims, there is not a position per token, or a
     *     table has no such position
     */
    public Result apply(Tensor x, long[] positions, boolean inverse) {
        Values.requireShape(x, "x", -1, -1, -1, -1);
        if (x.dim(3) < rotaryDims) {
            throw Checks.fail("x", "shape " + x.shape(), "expected a headDim of at least rotaryDims " + rotaryDims);
        }
        requirePositions(x, positions);
        double[] from = Values.of(x, "x");
        double[] output = from.clone();
        double[] bound = new double[from.length];
        int headDim = (int) x.dim(3);
        int tokens = (int) x.dim(2);
        int all = (int) x.dim(0) * tokens;
        for (int row = 0; row < from.length / Math.max(1, headDim); row++) {
            int batch = row / ((int) x.dim(1) * tokens);
            int token = row % tokens + (positions.length == tokens ? 0 : batch * tokens);
            for (int i = 0; i < rotaryDims / 2; i++) {
                int first = row * headDim + (interleaved ? 2 * i : i);
                int second = first + (interleaved ? 1 : rotaryDims / 2);
                long position = positions[token + (positions.length > all ? streams[i] * all : 0)];
                double cos = cos(position, i);
                double sin = inverse ? -sin(position, i) : sin(position, i);
                double a = from[first];
                double b = from[second];
                output[first] = a * cos - b * sin;
                output[second] = b * cos + a * sin;
                double angle = tables == null ? position * frequencies[i] : 0;
                double rotated = angle * factor * (Math.abs(a) + Math.abs(b));
                bound[first] = Tolerance.rope(Math.abs(a * cos) + Math.abs(b * sin), rotated);
                bound[second] = Tolerance.rope(Math.abs(b * cos) + Math.abs(a * sin), rotated);
            }
        }
        return new Result(output, bound);
    }

    private void requirePositions(Tensor x, long[] positions) {
        int length = Checks.notNull(positions, "positions").length;
        long all = x.dim(0) * x.dim(2);
        if (length != x.dim(2) && length != all && length != streamCount * all) {
            throw Checks.fail("positions", "length " + length, "expected one per token of x " + x.shape());
        }
        for (long position : positions) {
            if (tables != null) {
                Checks.index(position, tables.rows, "positions");
            }
        }
    }

    private double cos(long position, int pair) {
        return tables == null
                ? factor * Math.cos(position * frequencies[pair])
                : tables.cos[(int) position * rotaryDims / 2 + pair];
    }

    private double sin(long position, int pair) {
        return tables == null
                ? factor * Math.sin(position * frequencies[pair])
                : tables.sin[(int) position * rotaryDims / 2 + pair];
    }

    private static void requirePositive(double value, String argument) {
        if (!(value > 0 && value < Double.POSITIVE_INFINITY)) {
            throw Checks.fail(argument, String.valueOf(value), "expected a finite number above 0");
        }
    }

    /**
     * Returns the index, not rounded, of the pair that turns {@code turns} times within the context: {@code context f / (2 pi) = turns}.
     */
    private double pairThatTurns(double turns, double context) {
        return -Math.log(2 * Math.PI * turns / context) / Math.log(theta) * rotaryDims / 2;
    }

    private ReferenceRope with(double[] scaled, double scale) {
        if (tables != null) {
            throw new IllegalStateException("rope: made of tables; expected a rope that computes its angles");
        }
        return new ReferenceRope(this, scaled, scale, streams, streamCount);
    }

    private static double[] powers(int rotaryDims, double base) {
        double[] powers = new double[rotaryDims / 2];
        for (int i = 0; i < powers.length; i++) {
            powers[i] = 1 / Math.pow(base, 2.0 * i / rotaryDims);
        }
        return powers;
    }
}
