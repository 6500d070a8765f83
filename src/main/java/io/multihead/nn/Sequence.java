package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.SplitMix64;
import io.multihead.internal.nn.TensorArena;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Layers that are applied in order, each under a prefix of its parameters' names. Stacks of hundreds of layers are possible, since nothing
 * recurses over the depth. Recording keeps every layer's output. Inference keeps two outputs at a time. If the layers allow it
 * ({@link Layer#independentAxes}), these are outputs for a part of the input, about 4 MiB each for any batch.
 *
 * <p>Two layers share a parameter if the same tensor has the same name in both, for example an output head and an embedding with one table. The
 * parameter exists once, and its gradients add up.
 *
 * <p>Each layer has its own seed of dropout, computed from the pass's seed and the index of the layer. A sequence is thread-safe if its layers
 * are.
 */
public final class Sequence implements Layer {
    private final List<Layer> layers;
    /** The steps of {@link #forward}. Layers that only copy are omitted, unless all layers only copy. */
    private final List<InferenceStep> inference;

    private final List<String> prefixes;
    private final Map<String, Tensor> parameters;

    /**
     * A layer, and the prefix for the names of its parameters in the sequence.
     *
     * @param prefix such as {@code "linear1."}; may be empty
     * @param layer the layer
     */
    public record Part(String prefix, Layer layer) {
        /** Checks that no component is null. */
        public Part {
            Checks.notNull(prefix, "prefix");
            Checks.notNull(layer, "layer");
        }
    }

    private Sequence(List<Part> parts) {
        layers = parts.stream().map(Part::layer).toList();
        List<Layer> computing =
                layers.stream().filter(layer -> !layer.isIdentityInInference()).toList();
        inference = InferenceStep.of(computing.isEmpty() ? layers.subList(0, 1) : computing);
        prefixes = parts.stream().map(Part::prefix).toList();
        Map<String, Tensor> named = new LinkedHashMap<>();
        for (Part part : parts) {
            part.layer.parameters().forEach((name, tensor) -> {
                Tensor other = named.put(part.prefix + name, tensor);
                if (other != null && other != tensor) {
                    throw Checks.fail("prefix", part.prefix, "expected one tensor per name; " + name + " has two");
                }
            });
        }
        parameters = Collections.unmodifiableMap(named);
    }

    /**
     * {@return a sequence of layers with prefixes}
     *
     * @param parts the layers in order
     * @throws IllegalArgumentException if there is none, or two tensors have the same name
     */
    public static Sequence of(Part... parts) {
        return of(List.of(Checks.noNulls(parts, "parts")));
    }

    /**
     * Returns a sequence of layers, numbered from 0.
     *
     * @param prefix the prefix of every name, such as {@code "layers."}
     * @param stack the layers in order
     * @return the sequence; parameter {@code name} of layer 7 is {@code layers.7.name}
     * @throws IllegalArgumentException if there is no layer
     */
    public static Sequence of(String prefix, List<? extends Layer> stack) {
        Checks.notNull(prefix, "prefix");
        List<Layer> layers = Checks.noNulls(stack, "stack");
        List<Part> parts = new ArrayList<>();
        for (int i = 0; i < layers.size(); i++) {
            parts.add(new Part(prefix + i + ".", layers.get(i)));
        }
        return of(parts);
    }

    private static Sequence of(List<Part> parts) {
        if (parts.isEmpty()) {
            throw Checks.fail("parts", "none", "expected at least one layer");
        }
        return new Sequence(parts);
    }

    @Override
    public Map<String, Tensor> parameters() {
        return parameters;
    }

    @Override
    public List<Tensor> buffers() {
        return layers.stream().flatMap(layer -> layer.buffers().stream()).toList();
    }

    @Override
    public Shape outputShape(Shape input) {
        Shape shape = Checks.notNull(input, "input");
        for (Layer layer : layers) {
            shape = layer.outputShape(shape);
        }
        return shape;
    }

    @Override
    public int independentAxes(Shape input) {
        Shape shape = Checks.notNull(input, "input");
        int axes = shape.rank();
        for (Layer layer : layers) {
            axes = Math.min(axes, layer.independentAxes(shape));
            shape = layer.outputShape(shape);
        }
        return axes;
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        LayerChecks.forward(cpu, this, x, y);
        InputSlices slices = InputSlices.of(x, y, widest(x.shape()), this);
        try (TensorArena even = TensorArena.ofCall(cpu);
                TensorArena odd = new TensorArena(cpu)) {
            for (long slice = 0; slice < slices.count(); slice++) {
                Tensor result = slices.output(slice);
                Tensor input = slices.input(slice);
                for (int i = 0; i < inference.size(); i++) {
                    InferenceStep step = inference.get(i);
                    TensorArena arena = fresh(i, even, odd);
                    Tensor output = i == inference.size() - 1 ? result : output(arena, step.layer(), input);
                    step.forward(cpu, input, output);
                    input = output;
                }
            }
        }
    }

    /** Returns the number of elements of the largest result of a layer in inference. */
    private long widest(Shape input) {
        Shape shape = input;
        long widest = 0;
        for (InferenceStep step : inference) {
            shape = step.layer().outputShape(shape);
            widest = Math.max(widest, shape.elements());
        }
        return widest;
    }

    /** Returns the arena that does not hold result {@code i - 1}, emptied, for double buffering. */
    private static TensorArena fresh(int i, TensorArena even, TensorArena odd) {
        TensorArena next = i % 2 == 0 ? even : odd;
        next.clear();
        return next;
    }

    @Override
    @SuppressWarnings("try") // the call ends with the block
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        LayerChecks.forward(cpu, this, x, y);
        TensorArena arena = new TensorArena(cpu);
        List<Pass> passes = new ArrayList<>();
        List<Shape> inputs = new ArrayList<>();
        try (Execution.Running call = Operation.execution(cpu).begin()) {
            Tensor input = x;
            for (int i = 0; i < layers.size(); i++) {
                Tensor output = i == layers.size() - 1 ? y : output(arena, layers.get(i), input);
                passes.add(layers.get(i).record(cpu, input, output, SplitMix64.seedOf(seed, i)));
                inputs.add(input.shape());
                input = output;
            }
        }
        return new RecordedPass(this, cpu, x, y) {
            @Override
            void differentiate(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                back(cpu, passes, inputs, dy, dx, gradients);
            }

            @Override
            void release() {
                passes.forEach(Pass::close);
                passes.clear();
                arena.close();
            }
        };
    }

    private void back(
            Compute cpu,
            List<Pass> passes,
            List<Shape> inputs,
            Tensor dy,
            @Nullable Tensor dx,
            Map<String, Tensor> gradients) {
        int first = dx == null ? firstTrained(gradients) : 0;
        try (TensorArena even = TensorArena.ofCall(cpu);
                TensorArena odd = new TensorArena(cpu)) {
            Tensor upstream = dy;
            int written = 0;
            for (int i = layers.size() - 1; i > first; i--) {
                if (upstream != dy && passes.get(i) instanceof ElementLayer.Recorded elements) {
                    elements.differentiateInPlace(upstream);
                    continue;
                }
                Tensor down = fresh(written++, even, odd).f32(inputs.get(i).toArray());
                passes.get(i).backward(upstream, down, Gradients.under(prefixes.get(i), gradients));
                upstream = down;
            }
            passes.get(first).backward(upstream, dx, Gradients.under(prefixes.get(first), gradients));
        }
    }

    /** Returns the first layer with a parameter that has a gradient, or the last layer. Gradients of earlier layers are not needed. */
    private int firstTrained(Map<String, Tensor> gradients) {
        int first = 0;
        while (first < layers.size() - 1 && !isTrained(first, gradients)) {
            first++;
        }
        return first;
    }

    private boolean isTrained(int layer, Map<String, Tensor> gradients) {
        String prefix = prefixes.get(layer);
        return layers.get(layer).parameters().keySet().stream().anyMatch(name -> gradients.containsKey(prefix + name));
    }

    private static Tensor output(TensorArena arena, Layer layer, Tensor input) {
        return arena.f32(layer.outputShape(input.shape()).toArray());
    }

    @Override
    public boolean isIdentityInInference() {
        return layers.stream().allMatch(Layer::isIdentityInInference);
    }

    @Override
    public void parametersChanged() {
        layers.forEach(Layer::parametersChanged);
    }
}
