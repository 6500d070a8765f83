package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;

/**
 * The largest error of a kernel's result: bounds that depend on the condition of each element and are derived from the
 * algorithm, with {@code u = 2^-24} the unit roundoff of f32.
 *
 * <p>Comparisons are written so that NaN fails.
 */
public final class Tolerance {
    private static final double U = 0x1p-24;
    /** Keys of one block, and depth of one chain of additions. */
    private static final long BLOCK = 256;
    /** Depth of the blocks of a product that are summed before they are added to C. */
    private static final long KC = 512;

    /**
     * The largest error of an attention output in units. A unit is the bound B of {@link ReferenceAttention.Result#errorScale()}, which
     * allows one rounding of the output. But {@code sum p v} is a chain of up to 64 roundings, and in a row with one dominant key each
     * of them is as large as a rounding of the output. The number was calibrated on the first kernel and then frozen: the worst of 2,700
     * random calls with sigma 1e-3 to 3 and means 0 to 10 was 13.1. The limit is twice that, since every run draws new calls.
     */
    public static final double FORWARD = 26;

    /**
     * The largest error of an attention output in units, for inputs of mean 0 and scores up to 10. The worst of 3,900 random calls was 8.0. The
     * limit is twice that.
     */
    public static final double FORWARD_ORDINARY = 16;

    /**
     * The largest error of a gradient in units, which are the bounds of {@link ReferenceAttentionGradient}, with log-sum-exp in f64.
     * The number was calibrated on the first kernel and then frozen: the worst of 9,000 random calls was 7.1. The limit is twice that,
     * since every run draws new calls.
     */
    public static final double BACKWARD = 14;

    /** The largest error of a gradient in units, for inputs of mean 0 and scores up to 10. The worst was 5.8. The limit is twice that. */
    public static final double BACKWARD_ORDINARY = 12;

    private Tolerance() {}

    /**
     * Returns the largest error that underflow causes in an attention output. Probabilities below {@code 2^-126} become 0, which loses at
     * most that fraction of a value. Each of {@code keys} products and the quotient may round to a multiple of {@code 2^-149}.
     *
     * @param keys number of keys
     * @param visible sum of the absolute values of the visible keys
     * @return an absolute error
     */
    public static double underflow(long keys, double visible) {
        return visible * 0x1p-126 + (keys + 2) * 0x1p-149;
    }

    /**
     * Returns the bound of one element of {@code alpha A B + beta C + bias}. The sum of K products is made of chains of at most 256 fused
     * multiply-adds and the addition of their results, each rounding once (Higham 2002, equation 3.4): at most
     * {@code min(K, 256) + ceil(K / 256)} roundings of partial sums no larger than {@code sum |a||b|}. The product with alpha is rounded once,
     * and so is each addition of beta C and of the bias, with an error of at most u times the sum of all terms.
     *
     * @param depth K
     * @param product {@code |alpha| * sum |a||b|}
     * @param rest {@code |beta c| + |bias|}
     * @return an absolute error
     */
    public static double gemm(long depth, double product, double rest) {
        double chain = Math.min(depth, BLOCK) + Math.ceilDiv(depth, BLOCK);
        return U * ((chain + 4) * product + 3 * rest) * (1 + 0x1p-10) + (depth + 4) * 0x1p-149;
    }

    /**
     * Returns the bound of one element of a product with quantized blocks. A chain has the L elements that share a scale. It begins with the
     * sum of elements of A times an offset, which has the error of L roundings, and adds L products. Each partial sum is at most
     * {@code sum |a|} times the larger of the offset and the largest q: 2 L roundings of {@code spread}. The sum of a block of 512 rows adds a
     * chain times its scale, then a minimum times its sum of A, with one rounding each, and the sum of blocks adds this sum. Partial sums are
     * no larger than {@code product}. The sum of A that a minimum multiplies has at most 32 elements: the elements that share the minimum.
     * Elements of A are divided by powers of two up to {@code 2^28}, so the error of each element is at most {@code 2^-122}, times a field of
     * at most 8 bits and the scale. For fields of 2 bits, the powers are at most {@code 2^30}.
     *
     * @param depth K
     * @param chain L
     * @param spread the sum of {@code |scale| sum |a|} times the largest field
     * @param product {@code sum |scale q a| + sum |minimum a|}
     * @param minima {@code sum |minimum a|}
     * @param scale the largest scale or minimum
     * @return an absolute error
     */
    public static double blocks(long depth, int chain, double spread, double product, double minima, double scale) {
        long deep = Math.min(depth, KC);
        double additions = 2 * (deep / (double) chain) + Math.ceilDiv(depth, KC) + 1;
        return U * (2 * chain * spread + additions * product + 32 * minima) * (1 + 0x1p-10)
                + depth * (scale * 0x1p-114 + 0x1p-149);
    }

    /**
     * Returns the bound of one element of the product of quantized blocks with elements of A that are multiples of scales. The sum of a block's
     * integers is exact, and so are the products of scales. The product with the scale of A rounds once, and the addition, after the product
     * with the scale of the block, rounds once more. The same holds for a minimum times the scale and the sum of A. The sum of a block of 512
     * rows adds these terms one after another, and the sum of blocks adds this sum.
     *
     * @param depth K
     * @param product {@code sum |scale q a| + sum |minimum a|}
     * @return an absolute error
     */
    public static double roundedBlocks(long depth, double product) {
        long deep = Math.min(depth, KC);
        double roundings = 1 + 2 * (deep / 32.0) + Math.ceilDiv(depth, KC) + 1;
        return U * roundings * product * (1 + 0x1p-10) + depth * 0x1p-149;
    }

    /**
     * Returns the bound of one rotated element {@code a cos - b sin}. Cosine and sine, both products, and their sum are rounded to f32: three
     * roundings of each product. A fourth rounding is counted for elements that are f64 in memory. The angle is computed in f64 from the
     * position and a power of the base: with bases up to {@code 10^8} and factors up to {@code 10^3}, the power's exponent times the logarithm
     * is at most 19 + 7. The scalings add less than 10 roundings, and the comparison of two computations doubles the sum. The error is
     * {@code 2^-47} relative to the angle. Cosines and sines from a table have no angle, so {@code rotated} is 0. Rounding a table of f64 to
     * f32 is the rounding of cosine and sine, which is already counted.
     *
     * @param products {@code |a cos| + |b sin|}
     * @param rotated the angle, times the attention factor, times {@code |a| + |b|}
     * @return an absolute error
     */
    public static double rope(double products, double rotated) {
        return 4 * U * products * (1 + 0x1p-20) + rotated * 0x1p-47 + 4 * 0x1p-149;
    }

    /**
     * Returns the rounding error of storing a value: half a unit in the last place.
     *
     * @param value the value
     * @param dtype the type in which the value is stored
     * @return an absolute error; 0 for f64
     */
    public static double storage(double value, DType dtype) {
        double size = Math.abs(value);
        return switch (Checks.notNull(dtype, "dtype")) {
            case F64 -> 0;
            case F32 -> Math.max(size * 0x1p-24, 0x1p-150);
            case BF16 -> Math.max(size * 0x1p-8, 0x1p-134);
            case F16 -> Math.max(size * 0x1p-11, 0x1p-25);
            case I8 -> 0.5;
        };
    }

    /**
     * Returns the largest error relative to its bound.
     *
     * @param actual computed values
     * @param expected exact values
     * @param bound the largest error of each element; if an expected value is not finite, the actual value must not be finite
     *     either
     * @param dtype the element type of the actual values, whose rounding is allowed in addition for types narrower than f32
     * @return the largest {@code |error| / bound}; infinity if exactly one of the expected and actual values is finite, or a
     *     finite expected value has no finite bound
     * @throws IllegalArgumentException if the lengths differ
     */
    public static double ratio(double[] actual, double[] expected, double[] bound, DType dtype) {
        Checks.notNull(dtype, "dtype");
        int length = Checks.notNull(expected, "expected").length;
        Checks.length(Checks.notNull(actual, "actual").length, length, "actual", "as many as expected");
        Checks.length(Checks.notNull(bound, "bound").length, length, "bound", "as many as expected");
        double worst = 0;
        for (int i = 0; i < expected.length; i++) {
            worst = Math.max(worst, ratio(actual[i], expected[i], bound[i], dtype));
        }
        return worst;
    }

    private static double ratio(double actual, double expected, double bound, DType dtype) {
        if (!Double.isFinite(expected)) {
            return Double.isFinite(actual) ? Double.POSITIVE_INFINITY : 0;
        }
        double error = Math.abs(actual - expected);
        if (dtype == DType.BF16 || dtype == DType.F16) {
            error = Math.max(0, error - storage(expected, dtype)); // Math.max keeps NaN
        }
        if (!(error <= Double.MAX_VALUE && bound <= Double.MAX_VALUE)) {
            return Double.POSITIVE_INFINITY; // with an infinite bound, every value would pass
        }
        return error == 0 ? 0 : error / bound;
    }
}
