package io.multihead.encoder;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;

/** Weights by name, of which each must have an expected shape and none may be left over. */
final class Weights {
    private final BiFunction<String, Shape, Tensor> get;
    private final Consumer<Tensor> release;
    private final Set<String> unused;

    Weights(Set<String> names, Function<String, Tensor> get) {
        this(names, get, weight -> {});
    }

    /** Weights of 0 by any name, of the shape that is expected. */
    static Weights zeros() {
        return new Weights(
                Set.of(), (name, shape) -> Tensor.of(new float[(int) shape.elements()], shape.toArray()), weight -> {});
    }

    /** Weights each of which is passed to {@code release} once, after it was copied, so that its memory can be freed. */
    Weights(Set<String> names, Function<String, Tensor> get, Consumer<Tensor> release) {
        this(names, (name, shape) -> get.apply(name), release);
    }

    /** Returns what is packed of the weights of a folder; messages begin with their path. Nothing refers to their files afterwards. */
    static <T> T pack(Path folder, Function<SafetensorsFolder, T> packing) throws IOException {
        try (Arena arena = Arena.ofShared()) {
            SafetensorsFolder files = SafetensorsFolder.map(folder, arena);
            return Checks.in(files.path(), () -> packing.apply(files));
        }
    }

    private Weights(Set<String> names, BiFunction<String, Shape, Tensor> get, Consumer<Tensor> release) {
        this.get = get;
        this.release = release;
        this.unused = new TreeSet<>(names);
    }

    /** Returns a weight that must exist, whose shape is not known; it is not taken. */
    Tensor get(String name) {
        return get.apply(name, Shape.of());
    }

    /** Returns a weight that must exist, have this shape and be of a floating type. */
    Tensor take(String name, long... dims) {
        return take(name, false, Shape.of(dims));
    }

    /** Returns a weight that must exist and have this shape; of a floating type or of integers. */
    Tensor takeNumbers(String name, long... dims) {
        return take(name, true, Shape.of(dims));
    }

    private Tensor take(String name, boolean mayBeIntegers, Shape shape) {
        Tensor tensor = get.apply(name, shape);
        if (!tensor.shape().equals(shape) || !tensor.dtype().isFloating() && !mayBeIntegers) {
            String what = mayBeIntegers ? "numbers" : "floating numbers";
            throw Checks.fail("weight \"" + name + "\"", tensor.toString(), "expected " + what + " of shape " + shape);
        }
        unused.remove(name);
        return tensor;
    }

    /** Frees the memory of a weight that was copied, where its source can. */
    void release(Tensor weight) {
        release.accept(weight);
    }

    /** Fails if a weight was not taken. */
    void requireAllUsed() {
        requireAllUsed("a BERT encoder");
    }

    /** Fails if a weight was not taken; {@code owner} is whose weights are expected. */
    void requireAllUsed(String owner) {
        if (!unused.isEmpty()) {
            throw Checks.fail("weights", "unused " + unused, "expected those of " + owner);
        }
    }
}
