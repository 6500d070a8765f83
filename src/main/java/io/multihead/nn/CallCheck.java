package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks one call's tensors against the configuration and each other, before anything is written. */
final class CallCheck {
    private final Compute cpu;
    private final Config config;
    private final Axes axes;
    private final Shape query;
    private final Shape key;
    /** Everything the call reads, by name. */
    private final Map<String, Tensor> read;

    private CallCheck(Compute cpu, Parameters parameters, MultiHeadInputs inputs, Axes axes) {
        this.cpu = cpu;
        this.config = parameters.config();
        this.axes = axes;
        this.query = inputs.query().shape();
        this.key = inputs.key().shape();
        this.read = new LinkedHashMap<>();
        read.put("query", inputs.query());
        read.put("key", inputs.key());
        read.put("value", inputs.value());
        putIfPresent("keyPadding", inputs.keyPadding());
        putIfPresent("scoreMask", inputs.scoreMask());
        putIfPresent("headMask", inputs.headMask());
        read.putAll(parameters.byName());
    }

    /** Fails unless everything fits; returns how the axes divide. */
    static Axes check(Compute cpu, Parameters parameters, MultiHeadInputs inputs, MultiHeadOutputs outputs) {
        Axes axes = Axes.of(parameters.config(), inputs.query().shape());
        CallCheck check = new CallCheck(cpu, parameters, inputs, axes);
        check.inputs(inputs);
        check.masks(inputs);
        check.headMask(inputs);
        check.outputs(outputs);
        return axes;
    }

    private void inputs(MultiHeadInputs inputs) {
        requireShape(
                "query", inputs.query(), withFeatures(query, config.widths().embedDim()));
        if (key.rank() != query.rank()) {
            throw Checks.fail("key", "shape " + key, "expected as many axes as query " + query);
        }
        long[] expected = withFeatures(key, config.widths().keyInputDim());
        for (int axis : axes.batch()) {
            expected[axis] = query.dim(axis);
        }
        requireShape("key", inputs.key(), expected);
        requireShape("value", inputs.value(), withFeatures(key, config.widths().valueInputDim()));
    }

    private void masks(MultiHeadInputs inputs) {
        long batch = axes.batch(query);
        long queries = axes.tokens(query);
        long keys = axes.tokens(key);
        if (inputs.keyPadding() != null) {
            requireShape("keyPadding", inputs.keyPadding(), new long[] {batch, keys}, new long[] {keys});
        }
        if (inputs.scoreMask() != null) {
            long heads = batch * config.heads().queryHeads();
            requireShape(
                    "scoreMask", inputs.scoreMask(), new long[] {queries, keys}, new long[] {heads, queries, keys});
        }
    }

    private void headMask(MultiHeadInputs inputs) {
        if (inputs.headMask() != null) {
            long heads = config.heads().queryHeads();
            requireShape("headMask", inputs.headMask(), new long[] {heads}, new long[] {axes.batch(query), heads});
        }
    }

    private void outputs(MultiHeadOutputs outputs) {
        long[] lead = Arrays.copyOf(query.toArray(), query.rank() - 1);
        requireShape(
                "output",
                outputs.output(),
                join(lead, config.widths().outputShape().toArray()));
        long keys = axes.tokens(key) + ExtraKeys.count(config);
        long[] batch = axes.batch().isEmpty() ? new long[0] : new long[] {axes.batch(query)};
        Map<String, Tensor> written = new LinkedHashMap<>();
        written.put("output", outputs.output());
        if (outputs.averageWeights() != null) {
            requireShape("averageWeights", outputs.averageWeights(), join(batch, axes.tokens(query), keys));
            written.put("averageWeights", outputs.averageWeights());
        }
        if (outputs.headWeights() != null) {
            long heads = config.heads().queryHeads();
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

    private void putIfPresent(String name, @Nullable Tensor tensor) {
        if (tensor != null) {
            read.put(name, tensor);
        }
    }
}
