package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Linear layers with the same input, such as query, key and value, or gate and up. Their outputs are side by side in the rows of one
 * buffer. Immutable and thread-safe.
 */
public final class LinearGroup {
    private final List<PackedLinear> layers;
    private final List<PackedWeights> weights;
    private final List<GemmOptions> options;
    private final int[] outputs;
    private final int width;

    private LinearGroup(List<PackedLinear> layers, int[] outputs) {
        this.layers = layers;
        weights = layers.stream().map(PackedLinear::weights).toList();
        options = layers.stream().map(PackedLinear::options).toList();
        this.outputs = outputs;
        long sum = 0;
        for (int each : outputs) {
            sum += Checks.atLeast(each, 1, "outputs");
        }
        width = Checks.fitsInt(sum, "outputs");
    }

    /**
     * {@return a group of layers, which may differ in format}
     *
     * @param layers one layer or more
     * @throws IllegalArgumentException if there is no layer, or the layers differ in their number of inputs
     */
    public static LinearGroup of(PackedLinear... layers) {
        List<PackedLinear> all = List.of(Checks.noNulls(layers, "layers"));
        if (all.isEmpty()) {
            throw Checks.fail("layers", "none", "expected at least one");
        }
        for (PackedLinear layer : all) {
            if (layer.inputs() != all.get(0).inputs()) {
                throw Checks.fail(
                        "layers",
                        layer.inputs() + " inputs",
                        "expected " + all.get(0).inputs() + ", as in the first");
            }
        }
        return new LinearGroup(all, all.stream().mapToInt(PackedLinear::outputs).toArray());
    }

    /**
     * {@return a group that is one product}
     *
     * @param layer the weights of all layers, with their columns side by side
     * @param outputs the number of columns of each layer
     * @throws IllegalArgumentException if the sum of the numbers is not the number of the layer's columns
     */
    public static LinearGroup concatenated(PackedLinear layer, int... outputs) {
        LinearGroup group = new LinearGroup(
                List.of(Checks.notNull(layer, "layer")),
                Checks.notNull(outputs, "outputs").clone());
        if (group.width != layer.outputs()) {
            throw Checks.fail("outputs", group.width + " in all", "expected " + layer.outputs() + ", as in the layer");
        }
        return group;
    }

    /** Fails unless a group has these outputs. */
    static void requireOutputs(LinearGroup projections, int... outputs) {
        if (Checks.notNull(projections, "projections").size() != outputs.length) {
            throw Checks.fail("projections", projections.size() + " of them", "expected " + outputs.length);
        }
        for (int i = 0; i < outputs.length; i++) {
            if (projections.outputs(i) != outputs[i]) {
                throw Checks.fail(
                        "projections[" + i + "]", projections.outputs(i) + " outputs", "expected " + outputs[i]);
            }
        }
    }

    /** {@return the number of elements of an input row} */
    public int inputs() {
        return layers.get(0).inputs();
    }

    /** {@return the number of outputs, one for each layer} */
    public int size() {
        return outputs.length;
    }

    /**
     * Returns the number of elements of one output row.
     *
     * @param index the index of the output, from 0
     * @return at least 1
     */
    public int outputs(int index) {
        return outputs[(int) Checks.index(index, outputs.length, "index")];
    }

    /** {@return the number of elements of all output rows together} */
    public int width() {
        return width;
    }

    /** {@return the layers of the group; a single one if the group is one product} */
    public List<PackedLinear> layers() {
        return layers;
    }

    /** Returns this group with copies of some elements of each output, {@code indices[i]} of output i. */
    LinearGroup select(Arena arena, int[]... indices) {
        int[] counts = Arrays.stream(indices).mapToInt(each -> each.length).toArray();
        if (layers.size() > 1) {
            List<PackedLinear> some = IntStream.range(0, indices.length)
                    .mapToObj(i -> layers.get(i).selectOutputs(arena, indices[i]))
                    .toList();
            return new LinearGroup(some, counts);
        }
        IntStream.Builder columns = IntStream.builder();
        int at = 0;
        for (int i = 0; i < indices.length; i++) {
            for (int index : indices[i]) {
                columns.add(at + index);
            }
            at += outputs[i];
        }
        return new LinearGroup(
                List.of(layers.get(0).selectOutputs(arena, columns.build().toArray())), counts);
    }

    /**
     * Computes the outputs of all layers as one parallel loop.
     *
     * @param cpu threads and scratch
     * @param x {@code [rows, inputs]}, any strides and element type
     * @param y {@code [rows, width]}, any strides, written: the outputs side by side
     * @throws IllegalArgumentException if shapes do not fit or memory overlaps; nothing is written
     */
    public void forward(Compute cpu, Tensor x, Tensor y) {
        if (Checks.notNull(y, "y").rank() != 2 || y.dim(1) != width) {
            throw Checks.fail("y", "shape " + y.shape(), "expected [rows, " + width + "]");
        }
        if (layers.size() == 1) {
            layers.get(0).forward(cpu, x, y);
            return;
        }
        List<Tensor> parts = new ArrayList<>();
        long at = 0;
        for (int each : outputs) {
            parts.add(y.slice(1, at, at + each));
            at += each;
        }
        forward(cpu, x, y, parts);
    }

    /** Computes all outputs. {@code all} is {@code [rows, width]}, and {@code parts} are the outputs of the layers in the same memory. */
    void forward(Compute cpu, Tensor x, Tensor all, List<Tensor> parts) {
        if (layers.size() == 1) {
            layers.get(0).forward(cpu, x, all);
        } else {
            Gemm.multiply(cpu, x, weights, parts, options);
        }
    }
}
