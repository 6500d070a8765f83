package io.multihead.cache;

import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TokenPositions;
import io.multihead.internal.call.TensorChecks;
import io.multihead.position.Rope;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks arguments before a cache changes. */
final class CacheChecks {
    private CacheChecks() {}

    static void requireTokens(PagePool pool, Compute cpu, Tensor key, Tensor value) {
        Checks.notNull(cpu, "cpu");
        PageLayout layout = pool.layout;
        requireShape(key, "key", layout.heads(), layout.headDim());
        requireShape(value, "value", layout.heads(), layout.valueDim());
        if (value.dim(0) != key.dim(0) || value.dim(2) != key.dim(2)) {
            throw Checks.fail(
                    "value", "shape " + value.shape(), "expected the batches and tokens of key " + key.shape());
        }
        pool.requireAccess(cpu);
        TensorChecks.requireAccess(cpu, key, "key");
        TensorChecks.requireAccess(cpu, value, "value");
    }

    private static void requireShape(Tensor tensor, String argument, long heads, long dim) {
        boolean fits = Checks.notNull(tensor, argument).rank() == 4 && tensor.dim(1) == heads && tensor.dim(3) == dim;
        if (!fits) {
            throw Checks.fail(
                    argument,
                    "shape " + tensor.shape(),
                    "expected [batch, " + heads + ", tokens, " + dim + "], as the cache was made for");
        }
    }

    static void requirePacked(int[] to, PackedSequences tokens, Tensor key) {
        int expected = Checks.notNull(to, "to").length;
        if (Checks.notNull(tokens, "tokens").count() != expected) {
            throw Checks.fail(
                    "tokens", tokens.count() + " " + tokens, "expected " + expected + ", one per element of to");
        }
        if (key.dim(0) != 1) {
            throw Checks.fail("key", "shape " + key.shape(), "expected one batch of packed tokens");
        }
        Checks.packedTokens(key.dim(2), key.shape(), tokens.tokens(), tokens, "key");
    }

    static void requireRopes(List<Rope> ropes, int layers, int headDim) {
        if (ropes.size() > 1 && ropes.size() != layers) {
            throw Checks.fail("ropes", ropes.size() + " of them", "expected none, one, or one per layer of " + layers);
        }
        for (Rope rope : ropes) {
            if (rope.rotaryDims() > headDim) {
                throw Checks.fail("ropes", rope.toString(), "expected at most headDim " + headDim + " rotaryDims");
            }
        }
    }

    /** Fails unless given positions fit the new keys and the rope that rotates them. */
    static void requirePositions(@Nullable Rope rope, long @Nullable [] positions, Tensor key) {
        if (positions == null) {
            return;
        }
        if (rope == null) {
            throw Checks.fail(
                    "positions", positions.length + " positions", "expected none, since the cache has no ropes");
        }
        TokenPositions.requireLength(positions, rope.streams(), key.dim(0), key.dim(2), key.shape());
        TokenPositions.requireRange(positions, rope.positions(), rope);
    }

    /** Fails unless a page of all layers and heads has no more elements than an int counts. */
    static void requirePageFits(PageLayout layout, int pageTokens) {
        long most = Integer.MAX_VALUE / pageTokens;
        // compared by division: the product of all three may exceed 2^63
        if ((long) layout.layers() * layout.heads() > most / layout.tokenElements()) {
            throw Checks.fail(
                    "config",
                    layout.layers() + " layers x " + layout.heads() + " heads x " + layout.tokenElements()
                            + " elements of a key and a padded value, with their scales",
                    "expected at most " + most + " elements per token, " + pageTokens + " of which are a page");
        }
    }

    /** Fails if the pages of a contiguous cache, or their heads, exceed the largest count. */
    static void requireCountable(PageLayout layout, int sequences, long pages, long tokens) {
        requirePageFits(layout, PagePool.CONTIGUOUS_PAGE);
        long most = mostPages(layout);
        if (pages > most / sequences) {
            throw Checks.fail(
                    "tokens",
                    tokens + " in each of " + sequences + " sequences",
                    "expected at most " + most + " pages of " + PagePool.CONTIGUOUS_PAGE + " tokens in all, for "
                            + layout.allHeads() + " heads of all layers");
        }
    }

    /** Fails if a budget holds more pages, or heads of pages, than can be counted. */
    static void requireCountable(PageLayout layout, long budgetBytes, long pageBytes) {
        long most = mostPages(layout);
        if (budgetBytes / pageBytes > most) {
            throw Checks.fail(
                    "budgetBytes",
                    String.valueOf(budgetBytes),
                    "expected at most " + most + " pages of " + pageBytes + " bytes, for " + layout.allHeads()
                            + " heads of all layers");
        }
    }

    /** Returns the largest number of pages whose owners, writers and flags fit in Java arrays and in half of the heap. */
    private static long mostPages(PageLayout layout) {
        long bytes = 2 * Integer.BYTES + layout.allHeads();
        return Math.min(
                Checks.MAX_ARRAY_LENGTH / layout.allHeads(),
                Runtime.getRuntime().maxMemory() / 2 / bytes);
    }
}
