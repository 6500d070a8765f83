package io.multihead.decoder;

import io.multihead.internal.kernel.VocabularyOps;
import java.util.Arrays;

/**
 * The tokens of a vocabulary that have a probability, by rank: 0 is the most probable token, and tokens of equal probability are in the
 * order of their ids. A token is found when its rank is requested: it is the most probable token of the block with the largest maximum.
 * Blocks are in a heap. If many ranks have been requested, more requests are likely. Therefore the tokens that are nearly as probable as
 * the next one are then sorted together. A found token is marked by the sign of its probability, until {@link #end}.
 */
final class RankedTokens {
    private static final int FIRST_LENGTH = 64;
    /** The number of tokens that are found one by one. */
    static final int ONE_BY_ONE = 256;
    /** Tokens with at least this fraction of the next token's probability are sorted together with it, in one pass over all tokens. */
    private static final float SHARE = 1 / 16f;

    /** The number of bits of a digit of the radix sort. Two digits hold the range of a {@link #SHARE}. */
    private static final int DIGIT = 13;

    private final float[] probabilities;
    private final float[] maxima;
    /** The blocks as a binary heap. The first element is the block with the largest maximum. */
    private final int[] heap;
    /** The maxima of the blocks, not counting the found tokens. */
    private final float[] left;

    private int[] found = new int[FIRST_LENGTH];
    /** The probabilities of the found tokens, so that no rank needs a lookup in the vocabulary. */
    private float[] values = new float[FIRST_LENGTH];

    private int count;
    /**
     * Arrays for the radix sort of {@link #takeMany}: the keys, a copy of the keys, and the counts of a digit. The upper half of a key is
     * the distance from the largest probability of the sorted tokens, and the lower half is the id.
     */
    private long[] keys = {};

    private long[] moved = {};
    private int[] digits = {};

    /**
     * Creates ranks of arrays that change between {@link #end} and {@link #begin}.
     *
     * @param maxima the maxima of the blocks of probabilities
     */
    RankedTokens(float[] probabilities, float[] maxima) {
        this.probabilities = probabilities;
        this.maxima = maxima;
        heap = new int[maxima.length];
        left = new float[maxima.length];
    }

    void begin() {
        count = 0;
        System.arraycopy(maxima, 0, left, 0, maxima.length);
        for (int block = 0; block < heap.length; block++) {
            heap[block] = block;
        }
        heapify();
    }

    private void heapify() {
        for (int at = heap.length / 2 - 1; at >= 0; at--) {
            sink(at);
        }
    }

    /** Restores the probabilities. */
    void end() {
        for (int rank = 0; rank < count; rank++) {
            probabilities[found[rank]] = values[rank];
        }
        count = 0;
    }

    /** Returns whether more than {@code rank} tokens have a probability. */
    boolean has(int rank) {
        while (count <= rank) {
            int block = heap[0];
            if (!(left[block] > 0)) {
                return false;
            }
            if (count < ONE_BY_ONE) {
                take(block);
            } else {
                takeMany(left[block]);
            }
        }
        return true;
    }

    /** Takes all tokens that have at least {@link #SHARE} of the largest remaining probability. */
    private void takeMany(float most) {
        float least = Math.max(most * SHARE, Float.MIN_VALUE);
        int first = count;
        for (int block = 0; block < left.length; block++) {
            if (left[block] >= least) {
                reserve(VocabularyOps.BLOCK);
                count = VocabularyOps.select(probabilities, probabilities.length, block, least, found, count);
            }
        }
        rank(first, Float.floatToRawIntBits(most), Float.floatToRawIntBits(least));
        for (int block = 0; block < left.length; block++) {
            if (left[block] >= least) {
                left[block] = VocabularyOps.largest(probabilities, probabilities.length, block);
            }
        }
        heapify();
    }

    /** Grows the arrays if they cannot hold {@code more} further tokens. */
    private void reserve(int more) {
        if (found.length - count < more) {
            found = Arrays.copyOf(found, 2 * found.length + more);
            values = Arrays.copyOf(values, found.length);
        }
    }

    /** Sorts the tokens that were found last by rank. They are in the order of their ids before. */
    private void rank(int first, int most, int least) {
        int length = count - first;
        if (keys.length < length) {
            keys = new long[found.length];
            moved = new long[found.length];
        }
        for (int i = 0; i < length; i++) {
            int id = found[first + i];
            // the order of positive floats is the order of their bits
            keys[i] = (long) (most - Float.floatToRawIntBits(probabilities[id])) << Integer.SIZE | id;
            probabilities[id] = -probabilities[id];
        }
        sort(length, most - least);
        for (int i = 0; i < length; i++) {
            found[first + i] = (int) keys[i];
            values[first + i] = Float.intBitsToFloat(most - (int) (keys[i] >>> Integer.SIZE));
        }
    }

    /** Sorts keys by their upper halves, with a radix sort: equal keys stay in the order of their ids. */
    private void sort(int length, int range) {
        if (digits.length == 0) {
            digits = new int[1 << DIGIT];
        }
        for (int shift = 0; shift < Integer.SIZE && range >>> shift > 0; shift += DIGIT) {
            Arrays.fill(digits, 0);
            for (int i = 0; i < length; i++) {
                digits[digit(keys[i], shift)]++;
            }
            int start = 0;
            for (int digit = 0; digit < digits.length; digit++) {
                int those = digits[digit];
                digits[digit] = start;
                start += those;
            }
            for (int i = 0; i < length; i++) {
                moved[digits[digit(keys[i], shift)]++] = keys[i];
            }
            long[] sorted = moved;
            moved = keys;
            keys = sorted;
        }
    }

    private static int digit(long key, int shift) {
        return (int) (key >>> Integer.SIZE + shift) & (1 << DIGIT) - 1;
    }

    private void take(int block) {
        int id = VocabularyOps.first(probabilities, probabilities.length, block, left[block]);
        reserve(1);
        values[count] = probabilities[id];
        found[count++] = id;
        probabilities[id] = -probabilities[id];
        left[block] = VocabularyOps.largest(probabilities, probabilities.length, block);
        sink(0);
    }

    int token(int rank) {
        return found[rank];
    }

    /** Returns the probability of a rank; 0 if there are fewer tokens. */
    double probability(int rank) {
        return has(rank) ? values[rank] : 0;
    }

    /** Returns the sum of the probabilities of the most probable tokens, added in the order of their ranks. */
    double mass(int most) {
        double mass = 0;
        for (int rank = 0; rank < most && has(rank); rank++) {
            mass += probability(rank);
        }
        return mass;
    }

    private void sink(int from) {
        int at = from;
        int child = 2 * at + 1;
        while (child < heap.length) {
            if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) {
                child++;
            }
            if (!isBefore(heap[child], heap[at])) {
                return;
            }
            int block = heap[at];
            heap[at] = heap[child];
            heap[child] = block;
            at = child;
            child = 2 * at + 1;
        }
    }

    private boolean isBefore(int block, int other) {
        return left[block] > left[other] || left[block] == left[other] && block < other;
    }
}
