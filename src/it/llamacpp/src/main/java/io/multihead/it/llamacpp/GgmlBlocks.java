package io.multihead.it.llamacpp;

import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Blocks as ggml reads and writes them. */
final class GgmlBlocks {
    /** The offset of member {@code to_float} of {@code ggml_type_traits}, after the name, three sizes and a flag. */
    private static final long TO_FLOAT = 40;

    private final Native library;

    GgmlBlocks(Native library) {
        this.library = library;
    }

    /** Returns the values of all elements, by {@code ggml_get_type_traits(type)->to_float}. */
    float[] dequantize(BlockTensor blocks) {
        MemorySegment traits = (MemorySegment) library.call(
                "ggml_get_type_traits",
                Native.POINTER,
                GgmlProduct.number(blocks.type().name()));
        MemorySegment toFloat = traits.reinterpret(64).get(Native.POINTER, TO_FLOAT);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = arena.allocate(blocks.bytes(), 64);
            MemorySegment.copy(blocks.memory(), blocks.offset(), from, 0, blocks.bytes());
            long elements = blocks.shape().elements();
            MemorySegment to = arena.allocate(ValueLayout.JAVA_FLOAT, elements);
            Native.invoke(
                    Native.function(toFloat, null, Native.POINTER, Native.POINTER, Native.LONG), from, to, elements);
            return to.toArray(ValueLayout.JAVA_FLOAT);
        }
    }

    /** Returns the bytes of blocks, by {@code ggml_quantize_chunk} without importances. */
    byte[] quantize(BlockType type, float[] weights, long rows) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = arena.allocateFrom(ValueLayout.JAVA_FLOAT, weights);
            MemorySegment to = arena.allocate((long) weights.length / type.elements() * type.bytes(), 64);
            library.call(
                    "ggml_quantize_chunk",
                    Native.LONG,
                    GgmlProduct.number(type.name()),
                    from,
                    to,
                    0L,
                    rows,
                    weights.length / rows,
                    MemorySegment.NULL);
            return to.toArray(ValueLayout.JAVA_BYTE);
        }
    }
}
