package io.multihead.nn.attention;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.compute.Compute;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.Views;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The forward pass of the layer, in inference and in training: project the inputs, attend, project the concatenated heads. The
 * {@link Projector} contains the differences between the two. The pipeline is thread-safe if the projector is.
 */
final class LayerPipeline {
    private final LayerParameters parameters;
    private final MultiHeadConfig config;
    private final Projector projector;
    private final @Nullable ExtraKeys extraKeys;
    private final boolean recorded;
    private final AttentionDropout dropout;

    private LayerPipeline(LayerParameters parameters, Projector projector, boolean recorded, AttentionDropout dropout) {
        this.parameters = parameters;
        this.config = parameters.config();
        this.projector = projector;
        this.extraKeys = ExtraKeys.of(parameters);
        this.recorded = recorded;
        this.dropout = dropout;
    }

    /** Returns the pipeline of inference, which packs the weights and serves any number of calls. */
    static LayerPipeline packed(LayerParameters parameters) {
        return new LayerPipeline(parameters, new PackedProjector(parameters), false, AttentionDropout.NONE);
    }

    static LayerPipeline recorded(LayerParameters parameters, Projector projector, AttentionDropout dropout) {
        return new LayerPipeline(parameters, projector, true, dropout);
    }

    /**
     * The intermediate results of forward that backward needs.
     *
     * @param axes the division of the axes of the call's tensors
     * @param projected query, key and value after projection
     * @param stages the steps on the projected heads
     * @param heads query, key and value in the form that attention read
     * @param attended the concatenated heads {@code [batch, queries, heads * valueDim]}, before the head mask
     * @param attention the output of attention as separate heads, and log-sum-exp
     * @param weights the attention weights, if the outputs requested any
     * @param options the options of the call of attention
     * @param extraKeys the extra keys, or null
     */
    record Saved(
            AxisLayout axes,
            ProjectedHeads projected,
            HeadStages stages,
            ProjectedHeads heads,
            Tensor attended,
            AttentionOutputs attention,
            HeadWeights weights,
            AttentionOptions options,
            @Nullable ExtraKeys extraKeys) {}

    /** Checks all arguments, then computes. The arena keeps the results. */
    Saved run(Compute cpu, TensorArena arena, MultiHeadInputs inputs, MultiHeadOutputs outputs) {
        ForwardChecks.Checked checked = ForwardChecks.check(cpu, parameters, inputs, outputs, recorded);
        AxisLayout axes = checked.axes();
        Tensor query = axes.group(arena, inputs.query());
        Tensor key = inputs.key() == inputs.query() ? query : axes.group(arena, inputs.key());
        Tensor value = inputs.value() == inputs.key() ? key : axes.group(arena, inputs.value());
        ProjectedHeads projected = projector.project(cpu, arena, query, key, value);
        HeadStages stages = new HeadStages(cpu, parameters, inputs.sequences());
        ProjectedHeads heads = stages.forward(arena, projected);

        Tensor attended = projector.allocate(arena, query, config.queryHeads() * config.valueDim());
        AttentionOptions options = config.options().withMask(checked.mask()).withDropout(dropout);
        HeadWeights weights = HeadWeights.of(config, arena, heads, inputs.sequences(), outputs, recorded);
        AttentionOutputs attention = attend(cpu, arena, heads, attended, options, inputs.sequences(), weights);
        weights.deliver(cpu, outputs);

        Tensor masked = attended;
        if (inputs.headMask() != null) {
            if (recorded) {
                masked = arena.f32(attended.shape().toArray());
                attended.copyTo(masked);
            }
            HeadMask.apply(cpu, Views.splitHeads(masked, config.queryHeads()), inputs.headMask());
        }
        AxisLayout.Target output = axes.target(arena, outputs.output(), recorded);
        projector.projectOutput(cpu, arena, masked, output.grouped());
        output.finish();
        return new Saved(axes, projected, stages, heads, attended, attention, weights, options, extraKeys);
    }

    private AttentionOutputs attend(
            Compute cpu,
            TensorArena arena,
            ProjectedHeads heads,
            Tensor attended,
            AttentionOptions options,
            MultiHeadInputs.@Nullable Sequences sequences,
            HeadWeights weights) {
        Tensor output = Views.splitHeads(attended, config.queryHeads());
        AttentionOutputs kept = AttentionOutputs.of(output);
        if (recorded || extraKeys != null) {
            kept = kept.withLogSumExp(arena.f64(output.dim(0), output.dim(1), output.dim(2)));
        }
        AttentionOutputs written = weights.keys() == null ? kept : kept.withWeights(weights.keys());
        SequenceAttention.forward(cpu, heads, sequences, written, options, recorded);
        if (extraKeys != null) {
            extraKeys.merge(cpu, arena, heads.query(), written, dropout, weights.extra());
        }
        return kept;
    }
}
