package io.multihead.position;

import io.multihead.internal.base.Checks;
import java.util.Arrays;

/**
 * Assigns the pairs of a row to several streams of positions: multimodal rotary embedding, M-RoPE (Wang et al. 2024,
 * "Qwen2-VL", section 2.1), whose tokens have a position in time, a position in height and a position in width. A token of
 * text has the same position in all streams, and its rotation is the rotation of {@link Rope} without sections.
 *
 * <p>Immutable and thread-safe.
 */
public final class RopeSections {
    /** The pairs of each stream, ascending. */
    private final int[][] pairs;

    private final String description;

    private RopeSections(int[] streamOfPair, int streams, String description) {
        this.description = description;
        pairs = new int[streams][];
        for (int stream = 0; stream < streams; stream++) {
            int[] found = new int[streamOfPair.length];
            int count = 0;
            for (int pair = 0; pair < streamOfPair.length; pair++) {
                if (streamOfPair[pair] == stream) {
                    found[count++] = pair;
                }
            }
            pairs[stream] = Arrays.copyOf(found, count);
        }
    }

    /**
     * {@return sections one after another: the first {@code sizes[0]} pairs follow stream 0, the next {@code sizes[1]} stream 1}.
     * Qwen2-VL's {@code mrope_section} is (16, 24, 24).
     *
     * @param sizes pairs of each stream, at least 0 each; they add up to {@code rotaryDims / 2}
     * @throws IllegalArgumentException if there is no size, one is negative, or they add up to 0 or more than 32768
     */
    public static RopeSections consecutive(int... sizes) {
        int[] streamOfPair = new int[total(sizes)];
        int pair = 0;
        for (int stream = 0; stream < sizes.length; stream++) {
            Arrays.fill(streamOfPair, pair, pair + sizes[stream], stream);
            pair += sizes[stream];
        }
        return new RopeSections(streamOfPair, sizes.length, "consecutive" + Arrays.toString(sizes));
    }

    /**
     * {@return interleaved sections: pair {@code i} follows stream {@code i % streams} as long as that stream has fewer pairs than its
     * size, and stream 0 from there on}. Qwen3-VL's interleaved {@code mrope_section} is (24, 20, 20).
     *
     * @param sizes pairs of each stream, at least 0 each; they add up to {@code rotaryDims / 2}
     * @throws IllegalArgumentException if there is no size, one is negative, they add up to 0 or more than 32768, or a stream
     *     after the first is too long to interleave
     */
    public static RopeSections interleaved(int... sizes) {
        int[] streamOfPair = new int[total(sizes)];
        int[] counts = new int[sizes.length];
        for (int pair = 0; pair < streamOfPair.length; pair++) {
            int stream = pair % sizes.length;
            streamOfPair[pair] = counts[stream] < sizes[stream] ? stream : 0;
            counts[streamOfPair[pair]]++;
        }
        if (!Arrays.equals(counts, sizes)) {
            throw Checks.fail(
                    "sizes", Arrays.toString(sizes), "expected a first size that is at least as large as the others");
        }
        return new RopeSections(streamOfPair, sizes.length, "interleaved" + Arrays.toString(sizes));
    }

    private static int total(int[] sizes) {
        long total = 0;
        for (int stream = 0; stream < Checks.notNull(sizes, "sizes").length; stream++) {
            total += Checks.atLeast(sizes[stream], 0, "sizes[" + stream + "]");
        }
        if (total < 1 || total > 1 << 15) {
            throw Checks.fail("sizes", Arrays.toString(sizes), "expected numbers that add up to 1 to 32768");
        }
        return (int) total;
    }

    /** {@return the number of streams of positions; at least 1} */
    public int streams() {
        return pairs.length;
    }

    /** Returns the number of pairs of all streams. */
    int count() {
        int count = 0;
        for (int[] stream : pairs) {
            count += stream.length;
        }
        return count;
    }

    /** Returns the pairs of each stream. The caller must not change them. */
    int[][] pairs() {
        return pairs;
    }

    /**
     * {@return the factory method and its sizes, as session files name them: {@code consecutive[16, 24, 24]}. The text is the same in all
     * versions of the library.}
     */
    @Override
    public String toString() {
        return description;
    }
}
