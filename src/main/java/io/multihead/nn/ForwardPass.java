package io.multihead.nn;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.Mask;
import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** The way through a layer: project the inputs, attend, project the concatenated heads. */
final class ForwardPass {
    private final Parameters parameters;
    private final Config config;
    private final Projections projections;
    private final PackedWeights outputWeight;
    private final @Nullable ExtraKeys extraKeys;

    ForwardPass(Parameters parameters) {
        this.parameters = parameters;
        this.config = parameters.config();
        this.projections = new Projections(parameters);
        this.outputWeight = Projections.pack(parameters.get(Parameters.OUTPUT_WEIGHT));
        this.extraKeys = ExtraKeys.of(parameters);
    }

    /** Checks everything, then computes; keeps nothing. */
    void run(Compute cpu, MultiHeadInputs inputs, MultiHeadOutputs outputs) {
        Axes axes = CallCheck.check(cpu, parameters, inputs, outputs);
        try (Temporaries temporaries = Temporaries.ofCall(cpu)) {
            run(cpu, temporaries, axes, inputs, outputs);
        }
    }

    private void run(
            Compute cpu, Temporaries temporaries, Axes axes, MultiHeadInputs inputs, MultiHeadOutputs outputs) {
        Tensor query = grouped(axes, temporaries, inputs.query());
        Tensor key = inputs.key() == inputs.query() ? query : grouped(axes, temporaries, inputs.key());
        Tensor value = inputs.value() == inputs.key() ? key : grouped(axes, temporaries, inputs.value());
        Projections.Projected heads = projections.project(cpu, temporaries, query, key, value);

        Tensor attended = temporaries.f32Like(
                query, config.heads().queryHeads() * config.heads().valueDim());
        AttentionOptions options = options(config, inputs, query.dim(0), query.dim(1), key.dim(1));
        HeadWeights weights = HeadWeights.of(config, temporaries, heads, outputs);
        attend(cpu, temporaries, heads, attended, options, weights);
        weights.deliver(temporaries, outputs);
        if (inputs.headMask() != null) {
            HeadMask.apply(Views.splitHeads(attended, config.heads().queryHeads()), inputs.headMask());
        }

        Tensor ordered = axes.inOrder(outputs.output());
        if (axes.isView(ordered)) {
            projectOutput(cpu, attended, axes.grouped(ordered));
        } else {
            Tensor dense = temporaries.f32(ordered.shape().toArray());
            projectOutput(cpu, attended, axes.grouped(dense));
            dense.copyTo(ordered);
        }
    }

    private void projectOutput(Compute cpu, Tensor attended, Tensor output) {
        Views.project(cpu, attended, outputWeight, parameters.find(Parameters.OUTPUT_BIAS), output);
    }

    private void attend(
            Compute cpu,
            Temporaries temporaries,
            Projections.Projected heads,
            Tensor attended,
            AttentionOptions options,
            HeadWeights weights) {
        Tensor output = Views.splitHeads(attended, config.heads().queryHeads());
        AttentionOutputs outputs = AttentionOutputs.of(output);
        if (weights.keys() != null) {
            outputs = outputs.withWeights(weights.keys());
        }
        if (extraKeys != null) {
            outputs = outputs.withLogSumExp(temporaries.f64(output.dim(0), output.dim(1), output.dim(2)));
        }
        Attention.forward(cpu, heads.query(), heads.key(), heads.value(), outputs, options);
        if (extraKeys != null) {
            extraKeys.merge(cpu, temporaries, heads.query(), outputs, AttentionDropout.NONE, weights.extra());
        }
    }

    /** The options of the configuration with every mask of the call, and without dropout. */
    static AttentionOptions options(Config config, MultiHeadInputs inputs, long batch, long queries, long keys) {
        Mask mask = config.options().mask().and(inputs.mask());
        Tensor padding = inputs.keyPadding();
        if (padding != null) {
            long rows = padding.rank() == 1 ? 1 : batch;
            mask = mask.and(dropOrBias(padding.broadcast(rows, keys).reshape(rows, 1, 1, keys)));
        }
        Tensor scores = inputs.scoreMask();
        if (scores != null) {
            boolean shared = scores.rank() == 2;
            mask = mask.and(dropOrBias(
                    shared ? scores : scores.reshape(batch, config.heads().queryHeads(), queries, keys)));
        }
        return config.options().withMask(mask).withDropout(AttentionDropout.NONE);
    }

    private static Mask dropOrBias(Tensor tensor) {
        return tensor.dtype() == DType.I8 ? Mask.drop(tensor) : Mask.bias(tensor);
    }

    /** The tensor as {@code [batch, tokens, features]}: a view, or a copy where none exists. */
    static Tensor grouped(Axes axes, Temporaries temporaries, Tensor tensor) {
        Tensor ordered = axes.inOrder(tensor);
        if (axes.isView(ordered)) {
            return axes.grouped(ordered);
        }
        Tensor dense = temporaries.f32(ordered.shape().toArray());
        ordered.copyTo(dense);
        return axes.grouped(dense);
    }
}
