package io.multihead.nn.attention;

import io.multihead.attention.Mask;
import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks one call's tensors against the configuration and each other, before anything is written. */
final class ForwardChecks {
    private final Compute cpu;
    private final MultiHeadConfig config;
    private final AxisLayout axes;
    private final Shape query;
    private final Shape key;
    /** Everything the call reads, by name. */
    private final Map<String, Tensor> read;

    private ForwardChecks(Compute cpu, LayerParameters parameters, MultiHeadInputs inputs, AxisLayout axes) {
        this.cpu = cpu;
        this.config = parameters.config();
        this.axes = axes;
        this.query = inputs.query().shape();
        this.key = inputs.key().shape();
        this.read = new LinkedHashMap<>();
        read.put("query", inputs.query());
        read.put("key", inputs.key());
        read.put("value", inputs.value());
        for (Mask mask : new Mask[] {config.options().mask(), inputs.mask()}) {
            mask.tensors().forEach(tensor -> read.put("mask " + read.size(), tensor));
        }
        if (inputs.headMask() != null) {
            read.put("headMask", inputs.headMask());
        }
        read.putAll(parameters.byName());
    }

    /** Fails unless everything fits; returns how the axes divide. */
    static AxisLayout check(
            Compute cpu,
            LayerParameters parameters,
            MultiHeadInputs inputs,
            MultiHeadOutputs outputs,
            boolean recorded) {
        AxisLayout axes = AxisLayout.of(parameters.config(), inputs.query().shape());
        ForwardChecks check = new ForwardChecks(cpu, parameters, inputs, axes);
        check.inputs(inputs);
        check.sequences(inputs, recorded);
        check.headMask(inputs);
        check.outputs(outputs, inputs.sequences());
        return axes;
    }

    private void inputs(MultiHeadInputs inputs) {
        requireShape("query", inputs.query(), withFeatures(query, config.embedDim()));
        if (key.rank() != query.rank()) {
            throw Checks.fail("key", "shape " + key, "expected as many axes as query " + query);
        }
        long[] expected = withFeatures(key, config.keyInputDim());
        for (int axis : axes.batch()) {
            expected[axis] = query.dim(axis);
        }
        requireShape("key", inputs.key(), expected);
        requireShape("value", inputs.value(), withFeatures(key, config.valueInputDim()));
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
        if (recorded && !config.options().mask().and(inputs.mask()).tensors().isEmpty()) {
            throw Checks.fail("mask", "with tensors", "expected none, as packed sequences are recorded one by one");
        }
    }

    private void requireTokens(String name, Shape shape, PackedSequences sequences) {
        if (axes.tokens(shape) != sequences.tokens()) {
            throw Checks.fail(
                    name,
                    axes.tokens(shape) + " tokens in shape " + shape,
                    "expected the " + sequences.tokens() + " of " + sequences);
        }
    }

    private void headMask(MultiHeadInputs inputs) {
        if (inputs.headMask() != null) {
            long heads = config.queryHeads();
            requireShape("headMask", inputs.headMask(), new long[] {heads}, new long[] {axes.batch(query), heads});
        }
    }

    private void outputs(MultiHeadOutputs outputs, MultiHeadInputs.@Nullable Sequences sequences) {
        long[] lead = Arrays.copyOf(query.toArray(), query.rank() - 1);
        requireShape("output", outputs.output(), join(lead, config.outputShape().toArray()));
        long keys = config.extraKeys()
                + (sequences == null ? axes.tokens(key) : sequences.keys().maxLength());
        long[] batch = axes.batch().isEmpty() ? new long[0] : new long[] {axes.batch(query)};
        Map<String, Tensor> written = new LinkedHashMap<>();
        written.put("output", outputs.output());
        if (outputs.averageWeights() != null) {
            requireShape("averageWeights", outputs.averageWeights(), join(batch, axes.tokens(query), keys));
            written.put("averageWeights", outputs.averageWeights());
        }
        if (outputs.headWeights() != null) {
            long heads = config.queryHeads();
            requireShape("headWeights", outputs.headWeights(), join(batch, heads, axes.tokens(query), keys));
            written.put("headWeights", outputs.headWeights());
        }
        requireWritable(written);
    }

    private void requireWritable(Map<String, Tensor> written) {
        read.forEach((name, tensor) -> Operation.execution(cpu).requireAccess(tensor, name));
        Map<String, Tensor> others = new LinkedHashMap<>(read);
        written.forEach((name, tensor) -> {
            Operation.execution(cpu).requireAccess(tensor, name);
            if (tensor.memory().isReadOnly()) {
                throw Checks.fail(name, "read-only memory", "expected memory that can be written");
            }
            if (!tensor.dtype().isFloating()) {
                throw Checks.fail(name, tensor.toString(), "expected a floating element type");
            }
            if (tensor.overlapsItself()) {
                throw Checks.fail(name, tensor + " repeats elements", "expected memory for every element");
            }
            others.forEach((other, memory) -> {
                if (tensor.overlaps(memory)) {
                    throw Checks.fail(name, tensor + " overlaps " + other, "expected memory of its own");
                }
            });
            others.put(name, tensor);
        });
    }

    private static void requireShape(String name, Tensor tensor, long[]... allowed) {
        for (long[] shape : allowed) {
            if (Arrays.equals(tensor.shape().toArray(), shape)) {
                return;
            }
        }
        String expected =
                String.join(" or ", Arrays.stream(allowed).map(Arrays::toString).toList());
        throw Checks.fail(name, "shape " + tensor.shape(), "expected " + expected);
    }

    private static long[] withFeatures(Shape shape, long features) {
        long[] dims = shape.toArray();
        dims[dims.length - 1] = features;
        return dims;
    }

    private static long[] join(long[] first, long... second) {
        long[] all = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, all, first.length, second.length);
        return all;
    }
}
