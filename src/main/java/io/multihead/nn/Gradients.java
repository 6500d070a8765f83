package io.multihead.nn;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** Maps of gradients by parameter name, as {@link Pass#backward} takes them. Stateless. */
public final class Gradients {
    private Gradients() {}

    /**
     * Returns room for the gradient of every parameter.
     *
     * @param layer whose parameters
     * @param arena owns the memory
     * @return dense f32 zeros of each parameter's shape, in the layer's order, unmodifiable
     */
    public static Map<String, Tensor> zeros(Layer layer, Arena arena) {
        Checks.notNull(arena, "arena");
        Map<String, Tensor> zeros = new LinkedHashMap<>();
        Checks.notNull(layer, "layer")
                .parameters()
                .forEach((name, parameter) -> zeros.put(name, Tensor.allocate(arena, DType.F32, parameter.shape())));
        return Collections.unmodifiableMap(zeros);
    }

    /**
     * Returns the gradients of a part of a layer.
     *
     * @param prefix what the part's names start with, its dot included, for example {@code "linear1."}
     * @param gradients by name
     * @return those entries without the prefix: the same tensors, unmodifiable
     */
    public static Map<String, Tensor> under(String prefix, Map<String, Tensor> gradients) {
        Checks.notNull(prefix, "prefix");
        Map<String, Tensor> part = new LinkedHashMap<>();
        Checks.notNull(gradients, "gradients").forEach((name, gradient) -> {
            if (Checks.notNull(name, "name in gradients").startsWith(prefix)) {
                part.put(name.substring(prefix.length()), gradient);
            }
        });
        return Collections.unmodifiableMap(part);
    }
}
