package io.multihead.decoder;

import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The weights of a model's file or folder by name. */
interface ModelFile {
    /** Returns the names of all tensors. */
    Set<String> names();

    /** Returns a tensor of quantised blocks, or null where the tensor has plain elements. */
    @Nullable
    BlockTensor findBlocks(String name);

    /** Returns a tensor with plain elements. */
    Tensor tensor(String name);

    /** Returns the sizes of a tensor, whatever its type. */
    Shape shape(String name);

    /** Returns about how many bytes all tensors have; never more than the file. */
    long bytes();

    /** Returns the bytes of an element, 0 of a type that no weights have: its shape is not compared with the file's bytes. */
    static int bytesOfElement(String type) {
        return switch (type) {
            case "F32" -> Float.BYTES;
            case "F16", "BF16" -> Short.BYTES;
            default -> 0;
        };
    }

    /** Returns whether these are the weights of a model for embeddings, which need no output head. */
    default boolean isForEmbeddings() {
        return false;
    }

    /** Returns what the file calls a weight that GGUF calls so. */
    String nameOf(String ggufName);
}
