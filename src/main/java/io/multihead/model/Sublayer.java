package io.multihead.model;

import io.multihead.internal.base.Checks;
import org.jspecify.annotations.Nullable;

/**
 * A part with its residual connection and its norms: {@code sum(x + after(part(before(x))))}, where each norm is optional. Immutable and
 * thread-safe.
 *
 * @param part the function of the states
 * @param before norm of the part's input; null for none
 * @param after norm of the part's result; null for none
 * @param sum norm of the states after the addition; null for none
 */
public record Sublayer(
        Part part,
        @Nullable Norm before,
        @Nullable Norm after,
        @Nullable Norm sum) {
    /** Checks the sizes. */
    public Sublayer {
        int dim = Checks.notNull(part, "part").dim();
        requireDim(before, dim, "before");
        requireDim(after, dim, "after");
        requireDim(sum, dim, "sum");
    }

    private static void requireDim(@Nullable Norm norm, int dim, String argument) {
        if (norm != null && norm.dim() != dim) {
            throw Checks.fail(argument, norm.dim() + " elements", "expected " + dim + ", as in the part");
        }
    }

    /**
     * {@return {@code x + part(norm(x))}}
     *
     * @param norm the norm of the part's input
     * @param part the function of the states
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Sublayer preNorm(Norm norm, Part part) {
        return new Sublayer(part, Checks.notNull(norm, "norm"), null, null);
    }

    /**
     * {@return {@code norm(x + part(x))}}
     *
     * @param part the function of the states
     * @param norm the norm of the sum
     * @throws IllegalArgumentException if sizes do not fit
     */
    public static Sublayer postNorm(Part part, Norm norm) {
        return new Sublayer(part, null, null, Checks.notNull(norm, "norm"));
    }

    Sublayer withPart(Part changed) {
        return new Sublayer(changed, before, after, sum);
    }

    Sublayer withSum(@Nullable Norm changed) {
        return new Sublayer(part, before, after, changed);
    }

    /** Returns whether the part's result is added to the states without a change, in the write-back of its last product. */
    boolean addsAlone() {
        return after == null && sum == null;
    }

    /**
     * Returns whether the part reads a separate row, of normalized states or a copy; otherwise it reads the states themselves, and does not
     * change them.
     */
    boolean readsUpdates() {
        return before != null || addsAlone();
    }

    /** Returns whether the part's result needs a row other than the row that the part reads. */
    boolean needsResults() {
        return before != null && !addsAlone();
    }
}
