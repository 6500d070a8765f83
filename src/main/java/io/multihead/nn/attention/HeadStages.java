package io.multihead.nn.attention;

import io.multihead.attention.PackedSequences;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.nn.NormBackward;
import io.multihead.internal.nn.NormForward;
import io.multihead.internal.nn.Normalization;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.Views;
import io.multihead.nn.attention.MultiHeadInputs.Sequences;
import io.multihead.position.Rope;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The steps on heads of queries and keys between projection and attention: a norm of each head, then rotation by the token's position.
 * Stateless; backward only needs the projected heads of a call.
 */
final class HeadStages {
    private final Compute cpu;
    private final LayerParameters parameters;
    private final @Nullable Rope rope;
    private final @Nullable Sequences sequences;

    HeadStages(Compute cpu, LayerParameters parameters, @Nullable Sequences sequences) {
        this.cpu = cpu;
        this.parameters = parameters;
        this.rope = parameters.config().rope();
        this.sequences = sequences;
    }

    /** Returns the heads that attention reads. Without a norm, the projected heads are rotated in place. */
    ProjectedHeads forward(TensorArena arena, ProjectedHeads projected) {
        Tensor query = normalized(arena, projected.query(), LayerParameters.QUERY_NORM);
        Tensor key = normalized(arena, projected.key(), LayerParameters.KEY_NORM);
        if (rope != null) {
            rope.apply(cpu, query, query, positions(query, sequences == null ? null : sequences.queries()));
            rope.apply(cpu, key, key, positions(key, sequences == null ? null : sequences.keys()));
        }
        return new ProjectedHeads(query, key, projected.value());
    }

    private Tensor normalized(TensorArena arena, Tensor heads, String name) {
        if (parameters.config().headNorm().isEmpty()) {
            return heads;
        }
        Tensor result =
                Views.splitHeads(arena.f32(heads.dim(0), heads.dim(2), heads.dim(1) * heads.dim(3)), heads.dim(1));
        NormForward.run(cpu, norm(name), heads, result);
        return result;
    }

    private static long[] positions(Tensor heads, @Nullable PackedSequences packed) {
        PackedSequences own = packed == null ? PackedSequences.ofLengths(heads.dim(2)) : packed;
        long[] positions = new long[Checks.fitsInt(own.tokens(), "tokens")];
        for (int sequence = 0; sequence < own.count(); sequence++) {
            for (long token = own.start(sequence); token < own.end(sequence); token++) {
                positions[(int) token] = token - own.start(sequence);
            }
        }
        return positions;
    }

    private Normalization norm(String name) {
        MultiHeadConfig config = parameters.config();
        return new Normalization(
                Shape.of(config.headDim()), config.headNorm().orElseThrow(), false, parameters.get(name), null);
    }

    /**
     * Converts the gradients of the heads that attention reads to the gradients of the projected heads, and adds the gradients of the
     * norms.
     *
     * @param projected the heads of the call before these stages; without a norm, these were rotated in place and are not read
     * @param into changed
     */
    void backward(ProjectedHeads projected, ProjectedHeads into, Map<String, Tensor> gradients) {
        // the gradient of a rotation is the inverse rotation of the upstream gradient
        if (rope != null) {
            Tensor query = into.query();
            Tensor key = into.key();
            rope.applyInverse(cpu, query, query, positions(query, sequences == null ? null : sequences.queries()));
            rope.applyInverse(cpu, key, key, positions(key, sequences == null ? null : sequences.keys()));
        }
        if (parameters.config().headNorm().isPresent()) {
            normBackward(projected.query(), into.query(), LayerParameters.QUERY_NORM, gradients);
            normBackward(projected.key(), into.key(), LayerParameters.KEY_NORM, gradients);
        }
    }

    private void normBackward(Tensor x, Tensor gradient, String name, Map<String, Tensor> gradients) {
        Map<String, Tensor> own = new LinkedHashMap<>();
        Tensor ofWeight = gradients.get(name);
        if (ofWeight != null) {
            own.put(Normalization.WEIGHT, ofWeight);
        }
        // a row of the gradient is read before it is written
        NormBackward.run(cpu, norm(name), x, gradient, gradient, own);
    }
}
