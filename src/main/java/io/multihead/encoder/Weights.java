package io.multihead.encoder;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;

/** Weights by name, of which each must have an expected shape and none may be left over. */
final class Weights {
    private final Function<String, Tensor> get;
    private final Consumer<Tensor> release;
    private final String prefix;
    private final Set<String> unused;

    /** Weights whose names all start with a prefix, except for those that are ignored. */
    Weights(Set<String> names, String prefix, Function<String, Tensor> get) {
        this(names, prefix, get, weight -> {});
    }

    /** Weights each of which is passed to {@code release} once, after it was copied, so that its memory can be freed. */
    Weights(Set<String> names, String prefix, Function<String, Tensor> get, Consumer<Tensor> release) {
        this.get = get;
        this.release = release;
        this.prefix = prefix;
        this.unused = new TreeSet<>(names);
    }

    /** Returns a weight that must exist, have this shape and be of a floating type. */
    Tensor take(String name, long... dims) {
        String full = prefix + name;
        Tensor tensor = get.apply(full);
        Shape shape = Shape.of(dims);
        if (!tensor.shape().equals(shape) || !tensor.dtype().isFloating()) {
            throw Checks.fail(
                    "weight \"" + full + "\"", tensor.toString(), "expected floating numbers of shape " + shape);
        }
        unused.remove(full);
        return tensor;
    }

    /** Frees the memory of a weight that was copied, where its source can. */
    void release(Tensor weight) {
        release.accept(weight);
    }

    /** Fails if a weight was not taken. */
    void requireAllUsed() {
        if (!unused.isEmpty()) {
            throw Checks.fail("weights", "unused " + unused, "expected those of a BERT encoder");
        }
    }
}
