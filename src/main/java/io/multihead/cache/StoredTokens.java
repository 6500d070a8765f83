package io.multihead.cache;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * Tokens of one sequence and layer as a cache stores them: rotated if the cache rotates keys, rounded to its element type, and in i8 with their
 * scales. {@link CacheContents#readStored} reads them, and {@link CacheContents#appendStored} restores them bit for bit.
 *
 * <p>Immutable; the caller owns the tensors' memory.
 *
 * @param key {@code [heads, tokens, headDim]} of the cache's element type, any strides
 * @param value {@code [heads, tokens, valueDim]}, the same element type
 * @param keyScale {@code [heads, tokens]} in f32, the factor of each stored key, or {@code [heads, tokens, blocks]} in
 *     {@link CacheFormat#I8_BLOCKS}, for each 32 elements of a key; null unless the element type is I8
 * @param valueScale {@code [heads, tokens]} in f32, the factor of each stored value; null unless the element type is I8
 */
public record StoredTokens(
        Tensor key,
        Tensor value,
        @Nullable Tensor keyScale,
        @Nullable Tensor valueScale) {
    /** Checks that keys and values are present; {@link CacheContents} checks shapes and element types against its
     * cache. */
    public StoredTokens {
        Checks.notNull(key, "key");
        Checks.notNull(value, "value");
    }

    /**
     * Allocates tensors for tokens of a cache.
     *
     * @param arena owns the memory
     * @param config sizes and element type of the cache
     * @param tokens number of tokens, at least 0
     * @return tensors of zeros
     * @throws IllegalArgumentException if {@code tokens} is negative
     */
    public static StoredTokens allocate(Arena arena, KeyValueCache.Config config, long tokens) {
        Checks.notNull(config, "config");
        Checks.atLeast(tokens, 0, "tokens");
        return new StoredTokens(
                StoredPart.KEY.allocate(arena, config, tokens),
                StoredPart.VALUE.allocate(arena, config, tokens),
                scales(StoredPart.KEY_SCALE, arena, config, tokens),
                scales(StoredPart.VALUE_SCALE, arena, config, tokens));
    }

    private static @Nullable Tensor scales(StoredPart part, Arena arena, KeyValueCache.Config config, long tokens) {
        return part.isIn(config) ? part.allocate(arena, config, tokens) : null;
    }
}
