package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.gemm.PackedWeights;
import io.multihead.nn.MultiHeadAttention.Config;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The input projections with their packed weights. */
final class Projections {
    private final Parameters parameters;
    private final Config config;
    /** All three projections as one matrix; null when their inputs differ in width. */
    private final @Nullable PackedWeights fused;
    /** Each projection by itself: packed at once when there is no fused matrix, else by the first call that needs it. */
    private volatile @Nullable Map<Projection, PackedWeights> apart;

    Projections(Parameters parameters) {
        this.parameters = parameters;
        this.config = parameters.config();
        this.fused = Parameters.fusable(config) ? packFused(parameters) : null;
        if (fused == null) {
            apart();
        }
    }

    /**
     * Query, key and value as heads, after projection.
     *
     * @param query {@code [batch, heads, queries, headDim]}
     * @param key {@code [batch, kvHeads, keys, headDim]}
     * @param value {@code [batch, kvHeads, keys, valueDim]}
     */
    record Projected(Tensor query, Tensor key, Tensor value) {}

    /** Projects {@code [batch, tokens, features]}; one and the same tensor three times is self-attention. */
    Projected project(Compute cpu, Temporaries temporaries, Tensor query, Tensor key, Tensor value) {
        if (fused != null && query == key && key == value) {
            Tensor all = temporaries.f32Like(query, Projection.allOutputs(config));
            Views.project(cpu, query, fused, parameters.find(Parameters.INPUT_BIAS), all);
            return new Projected(
                    Projection.QUERY.heads(config, all),
                    Projection.KEY.heads(config, all),
                    Projection.VALUE.heads(config, all));
        }
        return new Projected(
                one(cpu, temporaries, Projection.QUERY, query),
                one(cpu, temporaries, Projection.KEY, key),
                one(cpu, temporaries, Projection.VALUE, value));
    }

    private Tensor one(Compute cpu, Temporaries temporaries, Projection projection, Tensor input) {
        Tensor result = temporaries.f32Like(input, projection.outputs(config));
        PackedWeights weight = apart().get(projection);
        Views.project(cpu, input, weight, parameters.bias(projection), result);
        return Views.splitHeads(result, projection.heads(config));
    }

    private Map<Projection, PackedWeights> apart() {
        Map<Projection, PackedWeights> packed = apart;
        if (packed == null) {
            synchronized (this) {
                packed = apart;
                if (packed == null) {
                    packed = new EnumMap<>(Projection.class);
                    for (Projection projection : Projection.values()) {
                        packed.put(projection, pack(parameters.weight(projection)));
                    }
                    apart = packed;
                }
            }
        }
        return packed;
    }

    /** Packs a weight that lies {@code [outputs, inputs]}, as PyTorch's do. */
    static PackedWeights pack(Tensor weight) {
        return PackedWeights.of(weight.permute(1, 0));
    }

    private static PackedWeights packFused(Parameters parameters) {
        Tensor fused = parameters.find(Parameters.FUSED_WEIGHT);
        if (fused != null) {
            return pack(fused);
        }
        Config config = parameters.config();
        Shape shape = Parameters.shapes(config, true).get(Parameters.FUSED_WEIGHT);
        Tensor joined = Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
        for (Projection projection : Projection.values()) {
            parameters.weight(projection).copyTo(projection.rows(config, joined));
        }
        return pack(joined);
    }
}
