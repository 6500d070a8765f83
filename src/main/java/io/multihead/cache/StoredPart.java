package io.multihead.cache;

import io.multihead.cache.KeyValueCache.Config;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;

/** The tensors of one layer as a cache stores them, in the order of a session file; only I8 has scales. */
enum StoredPart {
    KEY("key", false),
    VALUE("value", false),
    KEY_SCALE("key_scale", true),
    VALUE_SCALE("value_scale", true);

    private final String name;
    private final boolean scale;

    StoredPart(String name, boolean scale) {
        this.name = name;
        this.scale = scale;
    }

    /** Returns whether caches of a configuration have this tensor. */
    boolean isIn(Config config) {
        return !scale || config.format().dtype() == DType.I8;
    }

    /** Returns the name of this tensor in a session file. */
    String name(int layer) {
        return "layer." + layer + "." + name;
    }

    DType dtype(Config config) {
        return scale ? DType.F32 : config.format().dtype();
    }

    Shape shape(Config config, long tokens) {
        if (this == KEY_SCALE && config.keyScales() > 1) {
            return Shape.of(config.heads(), tokens, config.keyScales());
        }
        return scale
                ? Shape.of(config.heads(), tokens)
                : Shape.of(config.heads(), tokens, this == KEY ? config.headDim() : config.valueDim());
    }

    Tensor allocate(Arena arena, Config config, long tokens) {
        return Tensor.allocate(arena, dtype(config), shape(config, tokens));
    }
}
