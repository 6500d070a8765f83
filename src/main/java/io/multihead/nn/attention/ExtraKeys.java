package io.multihead.nn.attention;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.Mask;
import io.multihead.attention.ScoreOptions;
import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.exec.FloatsKey;
import io.multihead.internal.exec.Workspace;
import io.multihead.internal.kernel.WideRows;
import io.multihead.internal.nn.ElementwiseCall;
import io.multihead.internal.nn.RowLoop;
import io.multihead.internal.nn.RowView;
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
 * <p>No mask hides them, so they are not appended. Attention to them is computed by itself, without a mask, and the two
 * results are merged through their log-sum-exp (as in Milakov and Gimelshein 2018): with weights {@code a} and {@code b}
 * that the two denominators give, {@code output = a * output + b * extraOutput}, and likewise for attention weights. No
 * mask needs to be known or copied for that.
 */
final class ExtraKeys {
    private static final FloatsKey ROW = new FloatsKey();
    private static final FloatsKey OWN = new FloatsKey();

    private final AttentionOptions options;
    private final Tensor keys;
    private final Tensor values;

    private ExtraKeys(AttentionOptions options, Tensor keys, Tensor values) {
        this.options = options;
        this.keys = keys;
        this.values = values;
    }

    /** Returns the extra keys of a layer, or null when it has none. */
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

    /** No mask hides them, they stand at no position, and a sink counts once, beside the other keys; a cap holds for all. */
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
     * @param others output {@code [batch, heads, queries, valueDim]}, log-sum-exp, and where wanted the weights
     *     {@code [batch, heads, queries, keys]}: results of attention over the other keys, in dense-rowed f32 (log-sum-exp in any
     *     floating type); all three become those of attention over all keys
     * @param dropout of the call; log-sum-exp and weights are those before it
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
        Merge merge = new Merge(others, own, extraWeights);
        RowLoop.run(cpu, batch * output.dim(1) * output.dim(2), merge::row);
    }

    /** Two results of attention over different keys, merged row by row into the first. */
    private static final class Merge {
        private final Tensor logSum;
        private final Tensor ownLogSum;
        private final RowView output;
        private final RowView ownOutput;
        private final @Nullable RowView weights;
        private final @Nullable RowView ownWeights;

        Merge(AttentionOutputs others, AttentionOutputs own, @Nullable Tensor extraWeights) {
            logSum = Checks.notNull(others.logSumExp(), "logSumExp");
            ownLogSum = Checks.notNull(own.logSumExp(), "logSumExp");
            output = RowView.of(others.output(), 1);
            ownOutput = RowView.of(own.output(), 1);
            weights = extraWeights == null ? null : RowView.of(Checks.notNull(others.weights(), "weights"), 1);
            ownWeights = extraWeights == null ? null : RowView.of(extraWeights, 1);
        }

        void row(long row, Workspace scratch) {
            long queries = logSum.dim(2);
            long heads = logSum.dim(1);
            long i = row % queries;
            long h = row / queries % heads;
            long b = row / queries / heads;
            double first = logSum.get(b, h, i);
            double second = ownLogSum.get(b, h, i);
            double share = share(first, second);
            double ownShare = share(second, first);
            double larger = Math.max(first, second);
            boolean none = larger == Double.NEGATIVE_INFINITY;
            double sum = none ? 1 : StrictMath.exp(first - larger) + StrictMath.exp(second - larger);
            logSum.set(larger + StrictMath.log(sum), b, h, i);
            int length = (int) output.length();
            float[] values = scratch.floats(ROW, RowView.room(length));
            float[] others = scratch.floats(OWN, RowView.room(length));
            output.read(scratch.packer(), row, values);
            ownOutput.read(scratch.packer(), row, others);
            finite(values, share, length);
            finite(others, ownShare, length);
            WideRows.mix(values, share, others, ownShare, ElementwiseCall.padded(length));
            output.write(scratch.packer(), row, values);
            if (weights != null && ownWeights != null) {
                scale(weights, row, share, scratch);
                scale(ownWeights, row, ownShare, scratch);
            }
        }

        /** Replaces what is not finite in a row whose share is 0: it contributes nothing, not even NaN. */
        private static void finite(float[] row, double share, int length) {
            for (int i = 0; share == 0 && i < length; i++) {
                row[i] = Float.isFinite(row[i]) ? row[i] : 0f;
            }
        }

        private static void scale(RowView rows, long row, double share, Workspace scratch) {
            int length = (int) rows.length();
            float[] values = scratch.floats(ROW, RowView.room(length));
            rows.read(scratch.packer(), row, values);
            WideRows.scale(values, ElementwiseCall.padded(length), share);
            rows.write(scratch.packer(), row, values);
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
     * Returns the options of attention to them, given the dropout of the call. They are counted from 0 as the other keys are:
     * another seed, so that they are not dropped together with the first keys.
     */
    AttentionOptions options(AttentionDropout dropout) {
        return options.withDropout(new AttentionDropout(dropout.rate(), ~dropout.seed()));
    }

    /** Returns the share of the softmax that one set of keys has beside another, from the log-sum-exp of both. */
    private static double share(double logSum, double otherLogSum) {
        return logSum == Double.NEGATIVE_INFINITY ? 0 : 1 / (1 + StrictMath.exp(otherLogSum - logSum));
    }
}
