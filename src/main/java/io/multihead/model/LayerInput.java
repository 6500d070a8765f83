package io.multihead.model;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;

/**
 * The part that reads a layer's own token embeddings (Gemma 3n and 4): {@code out(f(gate(states)) rows)}, with the rows of a layer of the
 * model's {@link LayerEmbeddings}. Immutable and thread-safe.
 */
public final class LayerInput implements Part {
    private final PackedLinear gate;
    private final PackedLinear out;
    private final int layer;
    private final StateLayout layout;

    private LayerInput(PackedLinear gate, PackedLinear out, int layer) {
        this.gate = gate;
        this.out = out;
        this.layer = layer;
        layout = new StateLayout(gate.outputs());
    }

    /**
     * {@return the part of a layer}
     *
     * @param gate the first layer, with its activation ({@link PackedLinear#withActivation})
     * @param out the last layer, with as many inputs as the gate has outputs, and as many outputs as the gate has inputs
     * @param layer the layer whose rows are read, from 0
     * @throws IllegalArgumentException if sizes do not fit, or the layer is negative
     */
    public static LayerInput of(PackedLinear gate, PackedLinear out, int layer) {
        int dim = Checks.notNull(gate, "gate").outputs();
        PackedLinear.requireSizes(out, dim, gate.inputs(), "out");
        return new LayerInput(gate, out, (int) Checks.atLeast(layer, 0, "layer"));
    }

    @Override
    public int dim() {
        return gate.inputs();
    }

    /** {@return the layer whose rows are read} */
    public int layer() {
        return layer;
    }

    @Override
    public int scratch() {
        return layout.floats();
    }

    @Override
    public void compute(Compute cpu, Tensor x, Tensor y, boolean adds, Buffers buffers) {
        RowChecks.require(cpu, x, y, dim(), scratch(), buffers);
        int rows = (int) x.dim(0);
        Tensor hidden = buffers.wide(layout, rows);
        gate.forward(cpu, x, hidden);
        buffers.layerRows(layer, gate.outputs())
                .multiply(cpu, buffers.wide(), layout.floats(), layer, gate.outputs(), rows);
        out.forward(cpu, hidden, y, adds);
    }
}
