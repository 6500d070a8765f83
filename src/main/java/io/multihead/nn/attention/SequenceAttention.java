package io.multihead.nn.attention;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.ScoreModifier;
import io.multihead.compute.Compute;
import io.multihead.internal.nn.SplitMix64;
import io.multihead.nn.attention.MultiHeadInputs.Sequences;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Attention over the projected heads of one call: a batch of sequences of one length, or packed sequences. Inference computes
 * packed sequences in one call of {@link Attention}. Recorded calls compute one sequence after another, since backward supports only
 * tensors; each sequence draws its dropout from a separate seed.
 */
final class SequenceAttention {
    private SequenceAttention() {}

    /** Computes attention of the queries to the projected keys. */
    static void forward(
            Compute cpu,
            ProjectedHeads heads,
            @Nullable Sequences sequences,
            AttentionOutputs outputs,
            AttentionOptions options,
            boolean recorded) {
        if (sequences == null) {
            Attention.forward(cpu, heads.query(), heads.key(), heads.value(), outputs, options);
        } else if (!recorded) {
            KeyValueView keyValues = KeyValueView.packed(heads.key(), heads.value(), sequences.keys());
            Attention.forward(cpu, heads.query(), sequences.queries(), keyValues, outputs, options);
        } else {
            for (int s = 0; s < sequences.queries().count(); s++) {
                ProjectedHeads one = slice(heads, sequences, s);
                zeroBeyond(outputs, sequences, s);
                AttentionOutputs part = slice(outputs, sequences, s);
                Attention.forward(cpu, one.query(), one.key(), one.value(), part, options(options, sequences, s));
            }
        }
    }

    /**
     * Computes the gradients of projected heads, and of a bias of the mask and of sinks if requested.
     *
     * @param upstream the gradients of output, weights and log-sum-exp; the last two may be null
     */
    static void backward(
            Compute cpu,
            AttentionPass pass,
            @Nullable Sequences sequences,
            AttentionOutputs upstream,
            ProjectedHeads to,
            MultiHeadGradients wanted) {
        Tensor sinks = wanted.sinks();
        if (sequences == null) {
            AttentionGradients gradients = AttentionGradients.of(to.query(), to.key(), to.value());
            Attention.backward(
                    cpu, pass, upstream, gradients.withBias(wanted.scoreBias()).withSinks(sinks));
            return;
        }
        ProjectedHeads heads = new ProjectedHeads(pass.query(), pass.key(), pass.value());
        double[] sums = new double[sinks == null ? 0 : (int) sinks.dim(0)];
        Tensor part = sinks == null ? null : Tensor.of(new double[sums.length], sums.length);
        for (int s = 0; s < sequences.queries().count(); s++) {
            ProjectedHeads one = slice(heads, sequences, s);
            ProjectedHeads gradients = slice(to, sequences, s);
            AttentionOutputs saved = slice(pass.outputs(), sequences, s);
            AttentionPass own = new AttentionPass(
                    one.query(), one.key(), one.value(), saved, options(pass.options(), sequences, s));
            AttentionGradients ofOne = AttentionGradients.of(gradients.query(), gradients.key(), gradients.value());
            Attention.backward(cpu, own, slice(upstream, sequences, s), ofOne.withSinks(part));
            for (int h = 0; part != null && h < sums.length; h++) {
                sums[h] += part.get(h);
            }
        }
        for (int h = 0; sinks != null && h < sums.length; h++) {
            sinks.set(sums[h], h);
        }
    }

    /**
     * Returns the options of one packed sequence: its part of the mask, a modifier that receives its index, and dropout that draws from a
     * separate seed.
     */
    private static AttentionOptions options(AttentionOptions options, Sequences sequences, int s) {
        AttentionDropout all = options.dropout();
        ScoreModifier modifier = options.scores().modifier();
        ScoreModifier own = modifier == null
                ? null
                : (batch, head, query, key, score) -> modifier.apply(s, head, query, key, score);
        return options.withMask(options.mask().ofSequence(s, sequences.queries().count()))
                .withScores(options.scores().withModifier(own))
                .withDropout(new AttentionDropout(all.rate(), SplitMix64.seedOf(all.seed(), s)));
    }

    private static ProjectedHeads slice(ProjectedHeads heads, Sequences sequences, int s) {
        return heads.slice(
                sequences.queries().start(s),
                sequences.queries().end(s),
                sequences.keys().start(s),
                sequences.keys().end(s));
    }

    /** Sets the weights of keys that a sequence does not have to 0. */
    private static void zeroBeyond(AttentionOutputs outputs, Sequences sequences, int s) {
        if (outputs.weights() != null) {
            Tensor weights = queries(outputs.weights(), sequences, s);
            weights.slice(3, sequences.keys().length(s), weights.dim(3)).fill(0);
        }
    }

    /** Returns the part of the outputs, or of their gradients, for one sequence. */
    private static AttentionOutputs slice(AttentionOutputs outputs, Sequences sequences, int s) {
        AttentionOutputs part = AttentionOutputs.of(queries(outputs.output(), sequences, s));
        if (outputs.logSumExp() != null) {
            part = part.withLogSumExp(queries(outputs.logSumExp(), sequences, s));
        }
        if (outputs.weights() != null) {
            Tensor weights = queries(outputs.weights(), sequences, s);
            part = part.withWeights(weights.slice(3, 0, sequences.keys().length(s)));
        }
        return part;
    }

    private static Tensor queries(Tensor tensor, Sequences sequences, int s) {
        return tensor.slice(2, sequences.queries().start(s), sequences.queries().end(s));
    }
}
