package io.multihead.jmh.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/**
 * The ratio of two speeds, computed from the ratios of the rounds in which both were measured.
 *
 * <p>The interval is the interval of the sign test. Its ends are order statistics of the ratios. It contains the median
 * of their distribution with a probability that depends only on the number of rounds, for any distribution. For
 * {@code n} rounds the interval from the {@code k}-th lowest to the {@code k}-th highest fails with {@code 2 P(B < k)},
 * {@code B} binomial of {@code n} and one half: the median is below all {@code n} ratios with probability {@code 2^-n}.
 * Five rounds give 94 % from the lowest to the highest ratio. Fewer rounds give no interval of 90 %. (H. A. David, H.
 * N. Nagaraja, Order Statistics, 3rd edition, section 7.1.) A bootstrap of five values would have less than its nominal
 * coverage.
 *
 * @param median median of the ratios
 * @param low lower end of the interval, or NaN for a single round
 * @param high upper end
 * @param coverage probability with which the interval contains the median
 */
record Ratio(double median, double low, double high, double coverage) {
    /** An interval with a lower coverage gives no verdict. */
    static final double CONFIDENCE = 0.9;

    static final Ratio NONE = new Ratio(Double.NaN, Double.NaN, Double.NaN, 0);

    /**
     * Returns the ratio with the narrowest interval that has the confidence, or with the widest interval if none has
     * it.
     */
    static Ratio of(Collection<Double> ratios) {
        if (ratios.isEmpty()) {
            return NONE;
        }
        List<Double> sorted = new ArrayList<>(ratios);
        sorted.sort(null);
        int n = sorted.size();
        if (n == 1) {
            return new Ratio(sorted.getFirst(), Double.NaN, Double.NaN, 0);
        }
        int k = 1;
        while (2 * (k + 1) <= n && coverage(n, k + 1) >= CONFIDENCE) {
            k++;
        }
        return new Ratio(Times.median(sorted), sorted.get(k - 1), sorted.get(n - k), coverage(n, k));
    }

    /** Returns the probability that the median is between the {@code k}-th lowest and the {@code k}-th highest of {@code n}. */
    static double coverage(int n, int k) {
        double outcomes = 1; // the binomial coefficient of n and i
        double below = 0;
        for (int i = 0; i < k; i++) {
            below += outcomes;
            outcomes = outcomes * (n - i) / (i + 1);
        }
        return 1 - 2 * below * Math.pow(0.5, n);
    }

    /**
     * Returns "ahead" or "behind" if the interval has the confidence and is on one side of 1, and "level" otherwise.
     */
    String verdict() {
        if (coverage < CONFIDENCE) {
            return "";
        }
        return low > 1 ? "ahead" : high < 1 ? "behind" : "level";
    }

    /** Returns the formatted ends of the interval, or an empty text if there is none. */
    String interval(String format) {
        return Double.isNaN(low) ? "" : String.format(Locale.ROOT, format + " to " + format, low, high);
    }
}
