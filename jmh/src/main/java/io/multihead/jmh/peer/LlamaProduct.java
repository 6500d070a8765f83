package io.multihead.jmh.peer;

import io.multihead.it.llamacpp.GgmlProduct;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;

/** The location of llama.cpp's libraries, and matrices in the form of its products. */
public final class LlamaProduct {
    /** The folder in which .ci/llamacpp writes llama.cpp's libraries. */
    private static final Path LIBRARIES = Path.of("src/it/llamacpp/target/npm/package/bins/linux-x64");

    private LlamaProduct() {}

    /** Returns the folder of llama.cpp's libraries. */
    public static Path libraries() {
        if (!Files.isDirectory(LIBRARIES)) {
            throw Peer.absent("llamacpp", "has no libraries in " + LIBRARIES + "; .ci/llamacpp fetches them");
        }
        return LIBRARIES;
    }

    /** Returns a copy of blocks in ggml's form. */
    public static GgmlProduct.Matrix matrix(BlockTensor weights) {
        MemorySegment bytes = weights.memory().asSlice(weights.offset(), weights.bytes());
        return new GgmlProduct.Matrix(weights.type().name(), copy(bytes), weights.columns(), weights.rows());
    }

    /** Returns a copy of a row-major matrix {@code [outputs, inputs]} of f16 or bf16. */
    public static GgmlProduct.Matrix matrix(Tensor weights) {
        long outputs = weights.shape().dim(0);
        long inputs = weights.shape().dim(1);
        MemorySegment bytes = weights.memory().asSlice(0, Short.BYTES * inputs * outputs);
        return new GgmlProduct.Matrix(weights.dtype().name(), copy(bytes), inputs, outputs);
    }

    private static MemorySegment copy(MemorySegment bytes) {
        return Arena.ofAuto().allocate(bytes.byteSize(), 64).copyFrom(bytes);
    }
}
