package io.multihead.internal.attention.keyvalue;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.layout.Positions;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One sequence whose keys and values are stored in pages of the caller. */
public final class PagedKeyValues implements KeyValueSource {
    private final Tensor[] keyPages;
    private final Tensor[] valuePages;
    private final long tokens;
    private final long pageTokens;

    /**
     * Creates a source.
     *
     * @param keys one {@code [keyValueHeads, pageTokens, headDim]} per page
     * @param values one {@code [keyValueHeads, pageTokens, valueDim]} per page
     * @param tokens the number of tokens in the pages
     */
    public PagedKeyValues(List<Tensor> keys, List<Tensor> values, long tokens) {
        keyPages = Checks.notNull(keys, "keys").toArray(Tensor[]::new);
        valuePages = Checks.notNull(values, "values").toArray(Tensor[]::new);
        this.tokens = Checks.atLeast(tokens, 0, "tokens");
        if (keyPages.length == 0 || keyPages.length != valuePages.length) {
            throw Checks.fail(
                    "values",
                    valuePages.length + " pages",
                    "expected as many as the " + keyPages.length + " of keys, and at least one");
        }
        requireFirst(keyPages[0], "keys[0]", "headDim");
        requireFirst(valuePages[0], "values[0]", "valueDim");
        for (int page = 0; page < keyPages.length; page++) {
            require(keyPages[page], keyPages[0].dim(2), "keys[" + page + "]");
            require(valuePages[page], valuePages[0].dim(2), "values[" + page + "]");
        }
        pageTokens = keyPages[0].dim(1);
        if (pageTokens == 0 ? tokens > 0 : Math.ceilDiv(tokens, pageTokens) > keyPages.length) {
            throw Checks.fail(
                    "tokens",
                    String.valueOf(tokens),
                    "expected at most " + pageTokens + " in each of " + keyPages.length + " pages");
        }
    }

    private static void requireFirst(@Nullable Tensor page, String argument, String dim) {
        Tensor first = Checks.notNull(page, argument);
        if (first.rank() != 3) {
            throw Checks.fail(argument, "shape " + first.shape(), "expected [keyValueHeads, pageTokens, " + dim + "]");
        }
        Checks.fitsInt(first.dim(0), "keyValueHeads");
        Checks.fitsInt(first.dim(2), dim);
    }

    private void require(@Nullable Tensor page, long dim, String argument) {
        Tensor first = keyPages[0];
        Tensor other = Checks.notNull(page, argument);
        if (other.rank() != 3 || other.dim(0) != first.dim(0) || other.dim(1) != first.dim(1) || other.dim(2) != dim) {
            throw Checks.fail(
                    argument,
                    "shape " + other.shape(),
                    "expected [" + first.dim(0) + ", " + first.dim(1) + ", " + dim
                            + "], heads and tokens as of keys[0] " + first.shape());
        }
    }

    @Override
    public int sequences() {
        return 1;
    }

    @Override
    public int heads() {
        return (int) keyPages[0].dim(0);
    }

    @Override
    public int headDim() {
        return (int) keyPages[0].dim(2);
    }

    @Override
    public int valueDim() {
        return (int) valuePages[0].dim(2);
    }

    @Override
    public long keys(int sequence) {
        return tokens;
    }

    @Override
    public void locate(int sequence, int head, long at, KeyValueSpan span) {
        Tensor k = keyPages[(int) (at / pageTokens)];
        Tensor v = valuePages[(int) (at / pageTokens)];
        long row = at % pageTokens;
        span.keys(Math.min(pageTokens - row, tokens - at))
                .keyRows(k, Positions.of(k, head, row), k.stride(1), k.stride(2))
                .valueRows(v, Positions.of(v, head, row), v.stride(1), v.stride(2));
    }

    @Override
    public void requireAccess(Compute cpu) {
        for (int page = 0; page < keyPages.length; page++) {
            TensorChecks.requireAccess(cpu, keyPages[page], "keys");
            TensorChecks.requireAccess(cpu, valuePages[page], "values");
        }
    }

    @Override
    public void requireApart(Tensor written, String argument) {
        for (int page = 0; page < keyPages.length; page++) {
            TensorChecks.requireApart(written, argument, keyPages[page], "keys");
            TensorChecks.requireApart(written, argument, valuePages[page], "values");
        }
    }
}
