package io.multihead.internal.load;

import io.multihead.format.Gguf;
import io.multihead.format.Safetensors;
import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** The tensors of a file or folder by their stored names. Messages need not name the file, because the caller adds its name. */
public interface WeightSource {
    /** Returns the names of all tensors. */
    Set<String> names();

    /** Returns the tensor of a name, in place; {@code expected} are the requested sizes. */
    StoredWeight get(String name, Shape expected);

    /** Returns a tensor of the type and sizes of {@link #get}'s tensor, possibly with other numbers. */
    default StoredWeight like(String name, Shape expected) {
        return get(name, expected);
    }

    /** Returns the sizes of a tensor. */
    default Shape shape(String name) {
        return get(name, Shape.of()).shape();
    }

    /** Returns the approximate bytes of a tensor; never more than the bytes of the file. */
    long bytes(String name);

    /** Returns whether there is a tensor of a name. */
    default boolean contains(String name) {
        return names().contains(name);
    }

    /** Returns whether an adapter changes a tensor. */
    default boolean isChanged(String name) {
        return false;
    }

    /** Returns whether tensors stay in memory as long as the model, so that they may be read in place. */
    default boolean isLasting() {
        return true;
    }

    /** Frees the memory of a tensor that was copied, if that is possible. */
    default void release(StoredWeight copied) {
        copied.release();
    }

    static WeightSource of(Safetensors file) {
        return of(file.names(), file::get, name -> bytes(file.shape(name), file.elementType(name)));
    }

    static WeightSource of(SafetensorsFolder folder) {
        return of(folder.names(), folder::get, name -> bytes(folder.shape(name), folder.elementType(name)));
    }

    static WeightSource of(Map<String, Tensor> tensors) {
        Function<String, Tensor> get = name -> Checks.notNull(tensors.get(name), name);
        return of(
                tensors.keySet(), get, name -> StoredWeight.of(get.apply(name)).bytes());
    }

    private static WeightSource of(Set<String> names, Function<String, Tensor> get, ToLongFunction<String> bytes) {
        return new WeightSource() {
            @Override
            public Set<String> names() {
                return names;
            }

            @Override
            public StoredWeight get(String name, Shape expected) {
                return StoredWeight.of(get.apply(name));
            }

            @Override
            public long bytes(String name) {
                return bytes.applyAsLong(name);
            }
        };
    }

    static WeightSource of(Gguf file) {
        return new WeightSource() {
            @Override
            public Set<String> names() {
                return file.names();
            }

            @Override
            public StoredWeight get(String name, Shape expected) {
                return file.blockType(name).isPresent()
                        ? StoredWeight.of(file.blocks(name))
                        : StoredWeight.of(file.tensor(name));
            }

            @Override
            public long bytes(String name) {
                long elements = file.shape(name).elements();
                return file.blockType(name)
                        .map(blocks -> elements / blocks.elements() * blocks.bytes())
                        .orElseGet(() -> WeightSource.bytes(file.shape(name), file.type(name)));
            }
        };
    }

    private static long bytes(Shape shape, String type) {
        return shape.elements()
                * switch (type) {
                    case "F32" -> Float.BYTES;
                    case "F16", "BF16" -> Short.BYTES;
                    default -> 0; // a type that no weights have; its shape is not compared with the file's bytes
                };
    }
}
