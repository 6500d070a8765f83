package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.call.TensorChecks;
import io.multihead.position.Rope;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Checks one call's tensors against the configuration and each other, before anything is written. */
final class ForwardChecks {
    private final TensorChecks tensors;
    private final MultiHeadConfig config;
    private final AxisLayout axes;
    private final Mask mask;
    private final Shape query;
    private final Shape key;

    private ForwardChecks(Compute cpu, LayerParameters parameters, MultiHeadInputs inputs, Checked checked) {
        this.tensors = new TensorChecks(cpu);
        this.config = parameters.config();
        this.axes = checked.axes;
        this.mask = checked.mask;
        this.query = inputs.query().shape();
        this.key = inputs.key().shape();
    }

    /**
     * A call's properties, as the checks determine them.
     *
     * @param axes the division of the axes of its tensors
     * @param mask the mask of the configuration and of the inputs
     */
    record Checked(AxisLayout axes, Mask mask) {}

    /** Checks all arguments of a call. */
    static Checked check(
            Compute cpu,
            LayerParameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            boolean recorded) {
        MultiHeadConfig config = parameters.config();
        Checked checked = new Checked(
                AxisLayout.of(config, inputs.query().shape()),
                config.options().mask().and(inputs.mask()));
        ForwardChecks check = new ForwardChecks(cpu, parameters, inputs, checked);
        check.inputs(inputs);
        check.sequences(inputs, recorded);
        check.masks(inputs);
        check.tensors.reads(parameters.byName());
        check.outputs(outputs, inputs);
        return checked;
    }

    private void inputs(MultiHeadInputs inputs) {
        tensors.reads("query", inputs.query(), withFeatures(query, config.embedDim()));
        if (key.rank() != query.rank()) {
            throw Checks.fail("key", "shape " + key, "expected as many axes as query " + query);
        }
        long[] expected = key.toArray();
        expected[expected.length - 1] = config.keyInputDim();
        for (int axis : axes.batch()) {
            expected[axis] = query.dim(axis);
        }
        tensors.reads("key", inputs.key(), Shape.of(expected));
        tensors.reads("value", inputs.value(), withFeatures(key, config.valueInputDim()));
        requirePositions("query", query);
        requirePositions("key", key);
    }

    private void requirePositions(String name, Shape shape) {
        Rope rope = config.rope();
        if (rope != null && axes.tokens(shape) > rope.positions()) {
            throw Checks.fail(
                    name,
                    axes.tokens(shape) + " tokens",
                    "expected at most " + rope.positions() + ", as rope has positions");
        }
    }

    private void sequences(MultiHeadInputs inputs, boolean recorded) {
        MultiHeadInputs.Sequences sequences = inputs.sequences();
        if (sequences == null) {
            return;
        }
        if (axes.batch(query) != 1) {
            throw Checks.fail("query", "shape " + query, "expected one batch of packed sequences");
        }
        requireTokens("query", query, sequences.queries());
        requireTokens("key", key, sequences.keys());
        if (recorded && !mask.tensors().isEmpty()) {
            throw Checks.fail("mask", "with tensors", "expected none, as packed sequences are recorded one by one");
        }
        if (sequences.queries().count() > 0) {
            mask.ofSequence(0, sequences.queries().count());
        }
    }

    private void requireTokens(String name, Shape shape, PackedSequences sequences) {
        Checks.packedTokens(axes.tokens(shape), shape, sequences.tokens(), sequences, name);
    }

    private void masks(MultiHeadInputs inputs) {
        Tensor headMask = inputs.headMask();
        if (headMask != null) {
            Shape forAll = Shape.of(config.queryHeads());
            Shape forEach = Shape.of(axes.batch(query), config.queryHeads());
            if (!headMask.shape().equals(forAll) && !headMask.shape().equals(forEach)) {
                throw TensorFaults.shape("headMask", headMask.shape(), forAll + " or " + forEach);
            }
        }
        readMasks(tensors, mask, headMask);
    }

    /** Checks the tensors of a mask and the factors of heads, so that no tensor that is written later overlaps them. */
    static void readMasks(TensorChecks tensors, Mask mask, @Nullable Tensor headMask) {
        List<Tensor> masks = mask.tensors();
        for (int i = 0; i < masks.size(); i++) {
            tensors.readsAny("mask " + i, masks.get(i), masks.get(i).shape());
        }
        if (headMask != null) {
            tensors.reads("headMask", headMask, headMask.shape());
        }
    }

    private void outputs(MultiHeadOutputs outputs, MultiHeadInputs inputs) {
        tensors.writes("output", outputs.output(), axes.output(config, query));
        if (outputs.averageWeights() != null) {
            tensors.writes("averageWeights", outputs.averageWeights(), axes.weights(config, inputs, false));
        }
        if (outputs.headWeights() != null) {
            tensors.writes("headWeights", outputs.headWeights(), axes.weights(config, inputs, true));
        }
    }

    private static Shape withFeatures(Shape shape, long features) {
        long[] dims = shape.toArray();
        dims[dims.length - 1] = features;
        return Shape.of(dims);
    }
}
