package io.multihead.nn.attention;

import io.multihead.compute.Compute;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.Views;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Projects with weights that were packed once. Thread-safe. */
final class PackedProjector implements Projector {
    private final LayerParameters parameters;
    private final MultiHeadConfig config;
    /** All three input projections as one matrix; null when their inputs differ in width. */
    private final @Nullable PackedWeights fused;

    private final PackedWeights output;
    /** Each input projection by itself: packed at once when there is no fused matrix, else by the first call that needs it. */
    private volatile @Nullable Map<Projection, PackedWeights> separate;

    PackedProjector(LayerParameters parameters) {
        this.parameters = parameters;
        this.config = parameters.config();
        this.fused = LayerParameters.fusable(config) ? packFused(parameters) : null;
        if (fused == null) {
            separate();
        }
        this.output = pack(parameters.get(LayerParameters.OUTPUT_WEIGHT));
    }

    @Override
    public ProjectedHeads project(Compute cpu, TensorArena arena, Tensor query, Tensor key, Tensor value) {
        if (fused != null && query == key && key == value) {
            Tensor all = arena.f32Like(query, Projection.allOutputs(config));
            multiply(cpu, query, fused, parameters.find(LayerParameters.INPUT_BIAS), all);
            return ProjectedHeads.ofFused(config, all);
        }
        return new ProjectedHeads(
                one(cpu, arena, Projection.QUERY, query),
                one(cpu, arena, Projection.KEY, key),
                one(cpu, arena, Projection.VALUE, value));
    }

    private Tensor one(Compute cpu, TensorArena arena, Projection projection, Tensor input) {
        Tensor result = arena.f32Like(input, projection.outputs(config));
        PackedWeights weight = Checks.notNull(separate().get(projection), projection.weightName());
        multiply(cpu, input, weight, parameters.bias(projection), result);
        return Views.splitHeads(result, projection.heads(config));
    }

    @Override
    public void projectOutput(Compute cpu, TensorArena arena, Tensor attended, Tensor result) {
        multiply(cpu, attended, output, parameters.find(LayerParameters.OUTPUT_BIAS), result);
    }

    @Override
    public Tensor allocate(TensorArena arena, Tensor like, long features) {
        return arena.f32Like(like, features);
    }

    /** Computes {@code result = x W + bias} for every token, as one multiplication of many rows where strides allow. */
    private static void multiply(Compute cpu, Tensor x, PackedWeights weight, @Nullable Tensor bias, Tensor result) {
        boolean swap = Views.tokensFirst(x);
        Tensor from = swap ? x.transpose(0, 1) : x;
        Tensor to = swap ? result.transpose(0, 1) : result;
        if (Views.collapses(from, 0, 2) && Views.collapses(to, 0, 2)) {
            from = from.reshape(x.dim(0) * x.dim(1), x.dim(2));
            to = to.reshape(x.dim(0) * x.dim(1), result.dim(2));
        }
        Gemm.multiply(cpu, from, weight, to, GemmOptions.DEFAULT.withBias(bias));
    }

    private Map<Projection, PackedWeights> separate() {
        Map<Projection, PackedWeights> packed = separate;
        if (packed == null) {
            synchronized (this) {
                packed = separate;
                if (packed == null) {
                    packed = new EnumMap<>(Projection.class);
                    for (Projection projection : Projection.values()) {
                        packed.put(projection, pack(parameters.weight(projection)));
                    }
                    separate = packed;
                }
            }
        }
        return packed;
    }

    /** Packs a weight {@code [outputs, inputs]}, as PyTorch's are. */
    private static PackedWeights pack(Tensor weight) {
        return PackedWeights.of(weight.transpose(0, 1));
    }

    private static PackedWeights packFused(LayerParameters parameters) {
        Tensor fused = parameters.find(LayerParameters.FUSED_WEIGHT);
        if (fused != null) {
            return pack(fused);
        }
        MultiHeadConfig config = parameters.config();
        Shape shape = Checks.notNull(
                LayerParameters.shapes(config, true).get(LayerParameters.FUSED_WEIGHT), LayerParameters.FUSED_WEIGHT);
        Tensor joined = Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
        for (Projection projection : Projection.values()) {
            parameters.weight(projection).copyTo(projection.rows(config, joined));
        }
        return pack(joined);
    }
}
