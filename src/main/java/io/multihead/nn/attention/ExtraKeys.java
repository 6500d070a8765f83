package io.multihead.nn.attention;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.internal.attention.forward.StateMerge;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.nn.TensorArena;
import io.multihead.internal.nn.Views;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import org.jspecify.annotations.Nullable;

/**
 * The keys and values that follow the projected ones: PyTorch's {@code add_bias_kv} and {@code add_zero_attn}.
 *
 * <p>No mask hides them, so they are not appended to the other keys. Attention to them is computed separately, without a mask, and the two
 * results are merged through their log-sum-exp (as in Milakov and Gimelshein 2018): with weights {@code a} and {@code b} that the two
 * denominators give, {@code output = a * output + b * extraOutput}, and in the same way for attention weights. The merge neither reads nor
 * copies a mask.
 */
final class ExtraKeys {
    private final AttentionOptions options;
    private final Tensor keys;
    private final Tensor values;

    private ExtraKeys(AttentionOptions options, Tensor keys, Tensor values) {
        this.options = options;
        this.keys = keys;
        this.values = values;
    }

    /** Returns the extra keys of a layer, or null if it has none. */
    static @Nullable ExtraKeys of(LayerParameters parameters) {
        MultiHeadConfig config = parameters.config();
        if (config.extraKeys() == 0) {
            return null;
        }
        return new ExtraKeys(
                alone(config.options()),
                rows(parameters, Projection.KEY, parameters.find(LayerParameters.KEY_BIAS)),
                rows(parameters, Projection.VALUE, parameters.find(LayerParameters.VALUE_BIAS)));
    }

    /**
     * Returns the options of attention to the extra keys. No mask hides the extra keys, they have no positions, and a sink counts only
     * once, with the other keys. A soft-cap applies to all keys.
     */
    private static AttentionOptions alone(AttentionOptions options) {
        ScoreOptions capped = ScoreOptions.NONE.withSoftCap(options.scores().softCap());
        return options.withMask(Mask.NONE).withScores(capped);
    }

    /** Returns {@code [1, keyValueHeads, extra keys, features]}: a copy of the bias if there is one, and zeros. */
    private static Tensor rows(LayerParameters parameters, Projection projection, @Nullable Tensor bias) {
        MultiHeadConfig config = parameters.config();
        Shape shape = Shape.of(1, config.extraKeys(), projection.outputs(config));
        Tensor all = Tensor.allocate(Arena.ofAuto(), DType.F32, shape);
        if (bias != null) {
            bias.copyTo(all.slice(1, 0, 1));
        }
        return Views.splitHeads(all, projection.heads(config));
    }

    /**
     * Adds the extra keys to attention over the others.
     *
     * @param query heads after projection
     * @param others output {@code [batch, heads, queries, valueDim]}, log-sum-exp, and if requested the weights {@code [batch, heads,
     *     queries, keys]}: results of attention over the other keys, in f32 with dense rows (log-sum-exp in any floating-point type); all
     *     three become the results of attention over all keys
     * @param dropout the dropout of the call; log-sum-exp and weights are without it
     * @param extraWeights {@code [batch, heads, queries, extra keys]}, f32; null unless the others have weights
     */
    void merge(
            Compute cpu,
            TensorArena arena,
            Tensor query,
            AttentionOutputs others,
            AttentionDropout dropout,
            @Nullable Tensor extraWeights) {
        Tensor output = others.output();
        long batch = output.dim(0);
        Tensor ownOutput = arena.f32(output.shape().toArray());
        Tensor ownLogSum = arena.f64(batch, output.dim(1), output.dim(2));
        AttentionOutputs own = AttentionOutputs.of(ownOutput).withLogSumExp(ownLogSum);
        Attention.forward(
                cpu,
                query,
                keys(batch),
                values(batch),
                extraWeights == null ? own : own.withWeights(extraWeights),
                options(dropout));
        Tensor logSumExp = Checks.notNull(others.logSumExp(), "logSumExp");
        try (StateMerge merge = Operation.open(cpu, StateMerge.CALL)) {
            merge.bindLeft(output, logSumExp, extraWeights == null ? null : others.weights());
            merge.bindRight(ownOutput, ownLogSum, extraWeights);
            merge.bindMerged(output, logSumExp);
            merge.run();
        }
    }

    /** Returns the keys {@code [batch, keyValueHeads, extra keys, headDim]}, without a copy. */
    Tensor keys(long batch) {
        return keys.broadcast(batch, keys.dim(1), keys.dim(2), keys.dim(3));
    }

    /** Returns the values {@code [batch, keyValueHeads, extra keys, valueDim]}, without a copy. */
    Tensor values(long batch) {
        return values.broadcast(batch, values.dim(1), values.dim(2), values.dim(3));
    }

    /**
     * Returns the options of attention to the extra keys, from the dropout of the call. The extra keys are counted from 0 like the other
     * keys. Another seed ensures that they are not dropped together with the first keys.
     */
    AttentionOptions options(AttentionDropout dropout) {
        return options.withDropout(new AttentionDropout(dropout.rate(), ~dropout.seed()));
    }
}
