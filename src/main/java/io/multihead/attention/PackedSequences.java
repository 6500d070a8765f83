package io.multihead.attention;

import io.multihead.internal.attention.keyvalue.KeyValueAccess;
import io.multihead.internal.base.Checks;
import java.util.Arrays;

/**
 * The boundaries of sequences that are packed along the token axis of a tensor, like {@code cu_seqlens} of FlashAttention. Sequences may
 * have any lengths. Sequence {@code s} has the tokens {@code start(s)} to {@code end(s) - 1}.
 *
 * <p>Immutable and thread-safe.
 */
public final class PackedSequences {
    static {
        KeyValueAccess.registerSequences(PackedSequences::new);
    }

    private final long[] offsets;

    private PackedSequences(long[] offsets) {
        this.offsets = offsets;
    }

    /**
     * Returns sequences with given boundaries.
     *
     * @param offsets the start of each sequence, and the end of the last one. The offsets ascend from 0 to the number of tokens; a sequence
     *     may be empty. The array is copied
     * @return the sequences, one fewer than there are offsets
     * @throws IllegalArgumentException if there is no offset, the first is not 0, or an offset is less than the previous one
     */
    public static PackedSequences of(long... offsets) {
        long[] copy = Checks.notNull(offsets, "offsets").clone();
        boolean rises = copy.length > 0 && copy[0] == 0;
        for (int i = 1; rises && i < copy.length; i++) {
            rises = copy[i] >= copy[i - 1];
        }
        if (!rises) {
            throw Checks.fail("offsets", Arrays.toString(copy), "expected 0 and numbers that rise from there");
        }
        return new PackedSequences(copy);
    }

    /**
     * Returns sequences of given lengths.
     *
     * @param lengths tokens of each sequence, at least 0
     * @return as many sequences as lengths
     * @throws IllegalArgumentException if a length is negative
     * @throws ArithmeticException if the number of tokens overflows a {@code long}
     */
    public static PackedSequences ofLengths(long... lengths) {
        long[] offsets = new long[Checks.notNull(lengths, "lengths").length + 1];
        for (int i = 0; i < lengths.length; i++) {
            offsets[i + 1] = Math.addExact(offsets[i], Checks.atLeast(lengths[i], 0, "lengths"));
        }
        return new PackedSequences(offsets);
    }

    /** {@return the number of sequences} */
    public int count() {
        return offsets.length - 1;
    }

    /** {@return the number of tokens of all sequences together; at least 0} */
    public long tokens() {
        return offsets[offsets.length - 1];
    }

    /**
     * Returns the first token of a sequence.
     *
     * @param sequence from 0
     * @return its position among all tokens
     */
    public long start(int sequence) {
        return offsets[(int) Checks.index(sequence, count(), "sequence")];
    }

    /**
     * Returns the position after the last token of a sequence.
     *
     * @param sequence from 0
     * @return its position among all tokens
     */
    public long end(int sequence) {
        return offsets[(int) Checks.index(sequence, count(), "sequence") + 1];
    }

    /**
     * Returns the number of tokens of a sequence.
     *
     * @param sequence from 0
     * @return at least 0
     */
    public long length(int sequence) {
        return end(sequence) - start(sequence);
    }

    /** {@return the number of tokens of the longest sequence; at least 0} */
    public long maxLength() {
        long max = 0;
        for (int i = 0; i < count(); i++) {
            max = Math.max(max, offsets[i + 1] - offsets[i]);
        }
        return max;
    }

    /** {@return the boundaries, in the form that {@link #of} takes} */
    public long[] offsets() {
        return offsets.clone();
    }

    /** Returns the array of the boundaries without a copy, for calls that must not allocate. The array must not be changed. */
    long[] sharedOffsets() {
        return offsets;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PackedSequences that && Arrays.equals(offsets, that.offsets);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(offsets);
    }

    /** Returns the boundaries as text. */
    @Override
    public String toString() {
        return "sequences at " + Arrays.toString(offsets);
    }
}
