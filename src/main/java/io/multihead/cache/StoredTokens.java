package io.multihead.cache;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * Tokens of one sequence and layer as a cache stores them: rotated if the cache rotates keys, narrowed to its element type, in i8 with
 * their scales. What {@link CacheContents#readStored} read, {@link CacheContents#appendStored} restores bit for bit.
 *
 * <p>Immutable; the caller owns the tensors' memory.
 *
 * @param key {@code [heads, tokens, headDim]} of the cache's element type, any strides
 * @param value {@code [heads, tokens, valueDim]}, the same element type
 * @param keyScale {@code [heads, tokens]} in f32, what each stored key is multiplied with; null unless the element type is I8
 * @param valueScale {@code [heads, tokens]} in f32, what each stored value is multiplied with; null unless the element type is I8
 */
public record StoredTokens(
        Tensor key,
        Tensor value,
        @Nullable Tensor keyScale,
        @Nullable Tensor valueScale) {
    /** Checks that keys and values are there; {@link CacheContents} checks shapes and element types against its cache. */
    public StoredTokens {
        Checks.notNull(key, "key");
        Checks.notNull(value, "value");
    }

    /**
     * Allocates tensors for tokens of a cache.
     *
     * @param arena owns the memory
     * @param config sizes and element type of the cache
     * @param tokens how many, at least 0
     * @return tensors of zeros
     * @throws IllegalArgumentException if {@code tokens} is negative
     */
    public static StoredTokens allocate(Arena arena, KeyValueCache.Config config, long tokens) {
        int heads = Checks.notNull(config, "config").heads();
        Checks.atLeast(tokens, 0, "tokens");
        boolean scaled = config.dtype() == DType.I8;
        Shape scales = Shape.of(heads, tokens);
        return new StoredTokens(
                Tensor.allocate(arena, config.dtype(), Shape.of(heads, tokens, config.headDim())),
                Tensor.allocate(arena, config.dtype(), Shape.of(heads, tokens, config.valueDim())),
                scaled ? Tensor.allocate(arena, DType.F32, scales) : null,
                scaled ? Tensor.allocate(arena, DType.F32, scales) : null);
    }
}
