package io.multihead.encoder;

import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.model.Norm;
import io.multihead.model.PackedLinear;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Makes an encoder's parts of weights by name, those of a checkpoint or those of a file of packed weights, and knows all of them: how they are
 * named in such a file, and how many bytes they have. Parts are packed: but for tables, nothing refers to what they were read from.
 */
final class EncoderParts {
    private static final String WEIGHT = ".weight";
    private static final String BIAS = ".bias";
    private static final String PANELS = ".panels";

    private final Weights weights;
    private final boolean packed;
    private final List<PackedLinear> linears = new ArrayList<>();
    private final Map<String, Tensor> matrices = new LinkedHashMap<>();
    /** Biases and norms. */
    private final Map<String, Tensor> arrays = new LinkedHashMap<>();

    private final Map<String, Tensor> tables = new LinkedHashMap<>();
    private long normBytes;

    private EncoderParts(Weights weights, boolean packed) {
        this.weights = weights;
        this.packed = packed;
    }

    /** Takes the weights of a checkpoint, and packs them. */
    static EncoderParts of(Weights weights) {
        return new EncoderParts(weights, false);
    }

    /** Takes what {@link #named} named: nothing is packed, and panels and tables are read in place. */
    static EncoderParts ofPacked(Weights weights) {
        return new EncoderParts(weights, true);
    }

    /** Takes a table, whose rows are read in place. */
    Tensor table(String name, long rows, long columns) {
        return known(name, weights.take(name + WEIGHT, rows, columns));
    }

    /** Takes a table that may hold integers, whose rows are read in place. */
    Tensor numbers(String name, long rows, long columns) {
        return known(name, weights.takeNumbers(name + WEIGHT, rows, columns));
    }

    private Tensor known(String name, Tensor table) {
        tables.put(name + WEIGHT, table);
        return table;
    }

    /** Takes a layer normalisation. */
    Norm norm(String name, int dim, double epsilon, boolean hasBias) {
        Tensor bias = hasBias ? weights.take(name + BIAS, dim) : null;
        Norm norm = Norm.layer(weights.take(name + WEIGHT, dim), bias, epsilon);
        arrays.put(name + WEIGHT, Tensor.of(norm.weight()));
        if (hasBias) {
            arrays.put(name + BIAS, Tensor.of(norm.bias()));
        }
        normBytes += norm.bytes();
        return norm;
    }

    /** Takes a weight {@code [outputs, inputs]} and perhaps its bias. */
    PackedLinear linear(String name, int outputs, int inputs, boolean hasBias) {
        if (packed) {
            return panels(name, outputs, inputs, hasBias);
        }
        Tensor weight = weights.take(name + WEIGHT, outputs, inputs);
        PackedLinear linear = pack(weight, hasBias ? weights.take(name + BIAS, outputs) : null);
        weights.release(weight);
        return known(name, linear);
    }

    /** Takes several weights {@code [outputs, inputs]} as one product, of the first one's outputs and then those of the others. */
    PackedLinear fused(String name, List<String> parts, int outputs, int inputs, boolean hasBias) {
        int all = Math.multiplyExact(parts.size(), outputs);
        if (packed) {
            return panels(name, all, inputs, hasBias);
        }
        Tensor[] each = new Tensor[parts.size()];
        Tensor[] biases = new Tensor[parts.size()];
        for (int i = 0; i < each.length; i++) {
            each[i] = weights.take(parts.get(i) + WEIGHT, outputs, inputs);
            if (hasBias) {
                biases[i] = weights.take(parts.get(i) + BIAS, outputs);
            }
        }
        Tensor bias = hasBias ? Tensor.of(new float[all]) : null;
        if (bias != null) {
            Tensor.concat(0, bias, biases);
        }
        // native, so that it is freed at once: the garbage of a load makes the heap grow
        try (Arena arena = Arena.ofConfined()) {
            Tensor fused = fuse(arena, each, outputs, inputs);
            for (Tensor part : each) {
                weights.release(part);
            }
            return known(name, pack(fused, bias));
        }
    }

    /** Returns weights as one matrix, one below another. Its axes have the order of the file, so that whole rows are copied. */
    private static Tensor fuse(Arena arena, Tensor[] parts, long outputs, long inputs) {
        long rows = parts.length * outputs;
        // allocated after the parts were found, which are no larger than their file
        if (parts[0].stride(1) == 1) {
            Tensor fused = Tensor.allocate(arena, DType.F32, Shape.of(rows, inputs));
            Tensor.concat(0, fused, parts);
            return fused;
        }
        Tensor transposed = Tensor.allocate(arena, DType.F32, Shape.of(inputs, rows));
        Tensor.concat(
                1,
                transposed,
                Arrays.stream(parts).map(part -> part.permute(1, 0)).toArray(Tensor[]::new));
        return transposed.permute(1, 0);
    }

    private PackedLinear panels(String name, int outputs, int inputs, boolean hasBias) {
        Tensor panels = weights.take(name + PANELS, PackedWeights.panelElements(inputs, outputs));
        Tensor bias = hasBias ? weights.take(name + BIAS, outputs) : null;
        return known(
                name, Checks.in(name, () -> PackedLinear.of(PackedWeights.ofPanels(panels, inputs, outputs), bias)));
    }

    private PackedLinear known(String name, PackedLinear linear) {
        linears.add(linear);
        put(linear, name, matrices, arrays);
        return linear;
    }

    /** Packs a weight {@code [outputs, inputs]}. */
    static PackedLinear pack(Tensor weight, @Nullable Tensor bias) {
        return PackedLinear.of(PackedWeights.of(weight.permute(1, 0)), bias);
    }

    /** Takes numbers that are read as they are. */
    float[] array(String name, long... dims) {
        return weights.take(name, dims).toArray();
    }

    /** Fails if a weight was not taken. */
    void requireAllUsed() {
        weights.requireAllUsed();
    }

    /** Returns all parts by name. Panels come first: in a file whose data begins on a cache line, so does each of them. */
    Map<String, Tensor> named() {
        Map<String, Tensor> all = new LinkedHashMap<>(matrices);
        all.putAll(arrays);
        all.putAll(tables);
        return all;
    }

    /** Returns the bytes of all parts that are read from a mapped file, or of those that are not. */
    long bytes(boolean mapped) {
        long bytes = mapped ? 0 : normBytes;
        for (Tensor table : tables.values()) {
            bytes += table.memory().isMapped() == mapped ? bytes(table) : 0;
        }
        for (PackedLinear linear : linears) {
            bytes += bytes(linear, mapped);
        }
        return bytes;
    }

    /** Adds what {@link #linear} takes of a file of packed weights. */
    static void put(PackedLinear linear, String name, Map<String, Tensor> panels, Map<String, Tensor> others) {
        panels.put(name + PANELS, linear.weights().panels());
        Tensor bias = linear.bias();
        if (bias != null) {
            others.put(name + BIAS, bias);
        }
    }

    /** Returns the bytes of a layer that are mapped, or those that are not; its bias is an array. */
    static long bytes(PackedLinear linear, boolean mapped) {
        Tensor panels = linear.weights().panels();
        Tensor bias = linear.bias();
        return (panels.memory().isMapped() == mapped ? bytes(panels) : 0) + (mapped || bias == null ? 0 : bytes(bias));
    }

    private static long bytes(Tensor tensor) {
        return tensor.shape().elements() * tensor.dtype().bytes();
    }
}
