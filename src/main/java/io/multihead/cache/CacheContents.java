package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.call.TensorChecks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Copies tokens of a cache to tensors and back: to inspect them, to store them elsewhere, or to move them to another cache. {@link CacheSession}
 * copies whole sequences to a file and back.
 *
 * <p>Keys are copied as the cache stores them: rotated, if it rotates keys. Any number of threads may read while no thread changes the cache, as with
 * views; {@link #appendStored} changes the cache. The caller owns all tensors.
 */
public final class CacheContents {
    private final KeyValueCache cache;

    private CacheContents(KeyValueCache cache) {
        this.cache = cache;
    }

    /**
     * {@return an object that reads the contents of a cache at the time of each call}
     *
     * @param cache the cache, which is not copied
     */
    public static CacheContents of(KeyValueCache cache) {
        return new CacheContents(Checks.notNull(cache, "cache"));
    }

    /**
     * Copies keys and values of consecutive tokens, widened exactly and then rounded to the tensors' element types. In i8 an element is
     * its byte times its scale, rounded to f32.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param sequence an open sequence
     * @param from the first token to copy, at least {@code firstKey}, or the first token that a window has kept; the shape of the tensors
     *     determines the number of tokens
     * @param key {@code [heads, tokens, headDim]}, floating-point, any strides, written
     * @param value {@code [heads, tokens, valueDim]}, floating-point, any strides, written
     * @throws IllegalArgumentException if shapes do not fit, the sequence does not have these tokens, or memory overlaps or is read-only;
     *     nothing is written
     */
    public void read(Compute cpu, int layer, int sequence, long from, Tensor key, Tensor value) {
        requireShape(key, "key", null);
        requireShape(value, "value", key);
        requireTokens(layer, sequence, from, key);
        cache.pool().requireAccess(cpu);
        TensorChecks.requireWritable(cpu, key, "key");
        TensorChecks.requireWritable(cpu, value, "value");
        TensorChecks.requireApart(value, "value", key, "key");
        copy(cpu, PageCopy.Way.WIDEN, layer, sequence, from, new StoredTokens(key, value, null, null));
    }

    /**
     * Copies consecutive tokens in their stored form.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param sequence an open sequence
     * @param from the first token to copy, at least {@code firstKey}, or the first token that a window has kept; the shape of the tensors
     *     determines the number of tokens
     * @param to tensors of the cache's element type, written
     * @throws IllegalArgumentException if shapes or element types do not fit, the sequence does not have these tokens, or memory overlaps
     *     or is read-only; nothing is written
     */
    public void readStored(Compute cpu, int layer, int sequence, long from, StoredTokens to) {
        requireStored(cpu, to);
        requireTokens(layer, sequence, from, to.key());
        Tensor[] written = {to.key(), to.value(), to.keyScale(), to.valueScale()};
        String[] names = {"key", "value", "keyScale", "valueScale"};
        for (int i = 0; i < written.length; i++) {
            if (written[i] != null) {
                TensorChecks.requireOwnStorage(written[i], names[i]);
            }
            for (int j = 0; j < i && written[i] != null; j++) {
                TensorChecks.requireApart(written[i], names[i], written[j], names[j]);
            }
        }
        copy(cpu, PageCopy.Way.READ, layer, sequence, from, to);
    }

    /**
     * Appends tokens that were read in their stored form; keys are not rotated again. Attention over them has the same bits as over
     * the tokens that were read.
     *
     * @param cpu threads and scratch
     * @param layer from 0
     * @param sequence an open sequence
     * @param tokens the result of {@link #readStored}, of any cache with these heads, sizes and element type
     * @throws IllegalArgumentException if shapes or element types do not fit
     * @throws CacheFullException if there is no room; nothing changes
     */
    public void appendStored(Compute cpu, int layer, int sequence, StoredTokens tokens) {
        requireStored(cpu, tokens);
        Checks.index(layer, cache.config().layers(), "layer");
        Sequences sequences = cache.sequences();
        Sequence to = sequences.get(sequence);
        int[] one = {sequence};
        long count = tokens.key().dim(1);
        try (PageCopy call = Operation.open(cpu, PageCopy.CALL)) { // first: a closed Compute must take no pages
            sequences.makeRoom(layer, one, null, count);
            call.bind(cache.pool(), layer, PageCopy.Way.RESTORE);
            call.bindElements(tokens.key(), tokens.value());
            call.bindScales(tokens.keyScale(), tokens.valueScale());
            call.addRange(to, to.lengths[layer], count);
            call.run();
            sequences.advance(layer, one, null, count);
        } finally {
            sequences.trim(to);
        }
    }

    private void copy(Compute cpu, PageCopy.Way way, int layer, int sequence, long from, StoredTokens to) {
        try (PageCopy call = Operation.open(cpu, PageCopy.CALL)) {
            call.bind(cache.pool(), layer, way);
            call.bindElements(to.key(), to.value());
            call.bindScales(to.keyScale(), to.valueScale());
            call.addRange(cache.sequences().get(sequence), from, to.key().dim(1));
            call.run();
        }
    }

    /** Fails unless a sequence has as many tokens as a tensor from {@code from} on. */
    private void requireTokens(int layer, int sequence, long from, Tensor key) {
        Checks.index(layer, cache.config().layers(), "layer");
        Sequence of = cache.sequences().get(sequence);
        long length = of.lengths[layer];
        long first = cache.sequences().kept(sequence);
        if (from < first || from > length || key.dim(1) > length - from) {
            throw Checks.fail(
                    "from",
                    from + ", for the " + key.dim(1) + " tokens of key " + key.shape(),
                    "expected tokens from " + first + " to the length " + length + " of sequence " + sequence);
        }
    }

    private void requireStored(Compute cpu, StoredTokens tokens) {
        requireShape(Checks.notNull(tokens, "tokens").key(), "key", null);
        requireShape(tokens.value(), "value", tokens.key());
        requireDType(tokens.key(), "key", cache.config().format().dtype());
        requireDType(tokens.value(), "value", cache.config().format().dtype());
        cache.pool().requireAccess(cpu);
        TensorChecks.requireAccess(cpu, tokens.key(), "key");
        TensorChecks.requireAccess(cpu, tokens.value(), "value");
        requireScale(cpu, tokens.keyScale(), "keyScale", StoredPart.KEY_SCALE, tokens.key());
        requireScale(cpu, tokens.valueScale(), "valueScale", StoredPart.VALUE_SCALE, tokens.key());
    }

    private void requireScale(Compute cpu, @Nullable Tensor scale, String argument, StoredPart part, Tensor key) {
        boolean scaled = cache.config().format().dtype() == DType.I8;
        if (scale == null) {
            if (scaled) {
                throw Checks.fail(argument, "null", "expected the scales of a cache in I8");
            }
            return;
        }
        if (!scaled) {
            throw Checks.fail(
                    argument,
                    scale.toString(),
                    "expected null, as a cache in " + cache.config().format().dtype() + " has none");
        }
        Shape expected = part.shape(cache.config(), key.dim(1));
        if (!scale.shape().equals(expected)) {
            String what = expected.rank() == 2 ? "the heads and tokens" : "the heads, tokens and blocks of 32";
            throw Checks.fail(
                    argument,
                    "shape " + scale.shape(),
                    "expected " + expected + ", " + what + " of key " + key.shape());
        }
        requireDType(scale, argument, DType.F32);
        TensorChecks.requireAccess(cpu, scale, argument);
    }

    private static void requireDType(Tensor tensor, String argument, DType dtype) {
        if (tensor.dtype() != dtype) {
            throw Checks.fail(argument, tensor.toString(), "expected " + dtype);
        }
    }

    /** Fails unless a tensor has this cache's heads and head dim, and as many tokens as {@code key} if {@code key} is not null. */
    private void requireShape(Tensor tensor, String argument, @Nullable Tensor key) {
        KeyValueCache.Config config = cache.config();
        int dim = key == null ? config.headDim() : config.valueDim();
        String tokens = key == null ? "tokens" : String.valueOf(key.dim(1));
        boolean fits = Checks.notNull(tensor, argument).rank() == 3
                && tensor.dim(0) == config.heads()
                && tensor.dim(2) == dim
                && (key == null || tensor.dim(1) == key.dim(1));
        if (!fits) {
            throw Checks.fail(
                    argument,
                    "shape " + tensor.shape(),
                    "expected [" + config.heads() + ", " + tokens + ", " + dim + "], as the cache was made for");
        }
    }
}
