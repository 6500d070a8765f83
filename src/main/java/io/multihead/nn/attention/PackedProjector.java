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
    private final PackedWeights output;
    /** All three input projections as one matrix, packed by the first call that needs it. */
    private volatile @Nullable PackedWeights fused;
    /** Each input projection separately, packed by the first call that needs it. */
    private volatile @Nullable Map<Projection, PackedWeights> separate;

    PackedProjector(LayerParameters parameters) {
        this.parameters = parameters;
        this.config = parameters.config();
        this.output = pack(parameters.get(LayerParameters.OUTPUT_WEIGHT));
    }

    @Override
    public ProjectedHeads project(Compute cpu, TensorArena arena, Tensor query, Tensor key, Tensor value) {
        if (LayerParameters.fusable(config) && query == key && key == value) {
            Tensor all = arena.f32Like(query, Projection.allOutputs(config));
            multiply(cpu, query, fused(), parameters.find(LayerParameters.INPUT_BIAS), all);
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

    /** Computes {@code result = x W + bias} for every token, as one multiplication of many rows if strides allow it. */
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

    private PackedWeights fused() {
        PackedWeights packed = fused;
        return packed == null ? packFused() : packed;
    }

    private synchronized PackedWeights packFused() {
        PackedWeights packed = fused;
        if (packed == null) {
            packed = pack(fusedWeight());
            fused = packed;
        }
        return packed;
    }

    private Map<Projection, PackedWeights> separate() {
        Map<Projection, PackedWeights> packed = separate;
        return packed == null ? packSeparate() : packed;
    }

    private synchronized Map<Projection, PackedWeights> packSeparate() {
        Map<Projection, PackedWeights> packed = separate;
        if (packed == null) {
            packed = new EnumMap<>(Projection.class);
            for (Projection projection : Projection.values()) {
                packed.put(projection, pack(parameters.weight(projection)));
            }
            separate = packed;
        }
        return packed;
    }

    /** Packs a weight {@code [outputs, inputs]} in PyTorch's layout. */
    private static PackedWeights pack(Tensor weight) {
        return PackedWeights.ofOutputRows(weight);
    }

    /** Returns the weights of all three input projections as one matrix: the layer's own, or a copy. */
    private Tensor fusedWeight() {
        Tensor fusedWeight = parameters.find(LayerParameters.FUSED_WEIGHT);
        if (fusedWeight != null) {
            return fusedWeight;
        }
        Shape shape = Checks.notNull(
                LayerParameters.shapes(config, true).get(LayerParameters.FUSED_WEIGHT), LayerParameters.FUSED_WEIGHT);
        Tensor joined = Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
        Tensor.concat(
                0,
                joined,
                parameters.weight(Projection.QUERY),
                parameters.weight(Projection.KEY),
                parameters.weight(Projection.VALUE));
        return joined;
    }
}
