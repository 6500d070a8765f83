package io.multihead.reference;

import io.multihead.internal.base.Checks;
import io.multihead.tensor.Tensor;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A stack of transformer blocks as plain loops in {@code double}. It computes the logits of all tokens of one sequence from their ids, without a
 * cache. Arrays are row-major.
 *
 * @param embedding the embedding of tokens
 * @param blocks the blocks in the order of computation
 * @param finalNorm norm of the last states, or null
 * @param head the projection from states to logits
 * @param logitCap c of {@code c tanh(logit / c)}, or 0 for none
 */
public record ReferenceTransformer(
        Embedding embedding, List<Block> blocks, @Nullable Norm finalNorm, Linear head, double logitCap) {
    /** Checks the parts. */
    public ReferenceTransformer {
        Checks.notNull(embedding, "embedding");
        blocks = Checks.noNulls(blocks, "blocks");
        Checks.notNull(head, "head");
    }

    /**
     * {@code x W^T + b}.
     *
     * @param weight {@code [outputs, inputs]}
     * @param bias {@code [outputs]}, or null
     * @param outputs elements of an output row
     * @param inputs elements of an input row
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Linear(double[] weight, double @Nullable [] bias, int outputs, int inputs) {
        /** Checks that the weight is present. */
        public Linear {
            Checks.notNull(weight, "weight");
        }

        double[] of(double[] x) {
            return ReferenceLinear.forward(x, weight, bias, outputs, inputs);
        }
    }

    /**
     * A normalization.
     *
     * @param weight factors
     * @param bias addends, or null
     * @param epsilon added to the variance or mean square
     * @param centered whether the mean is subtracted
     * @param onePlus whether the factors are {@code 1 + weight}
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Norm(double[] weight, double @Nullable [] bias, double epsilon, boolean centered, boolean onePlus) {
        /** Checks that the weight is present. */
        public Norm {
            Checks.notNull(weight, "weight");
        }

        /**
         * {@return the normalized rows, each with one element for each weight}
         *
         * @param x the rows
         */
        public double[] of(double[] x) {
            Checks.notNull(x, "x");
            if (weight.length == 0 || x.length % weight.length != 0) {
                throw Checks.fail("x", x.length + " elements", "expected rows of " + weight.length);
            }
            double[] factors = weight.clone();
            for (int i = 0; onePlus && i < factors.length; i++) {
                factors[i] += 1;
            }
            double[] y = new double[x.length];
            for (int at = 0; at < x.length; at += factors.length) {
                double[] row = new double[factors.length];
                System.arraycopy(x, at, row, 0, row.length);
                double[] addends = bias == null ? new double[row.length] : bias;
                System.arraycopy(ReferenceNorm.forward(row, factors, addends, epsilon, centered), 0, y, at, row.length);
            }
            return y;
        }
    }

    /**
     * The embeddings of tokens: the sum of the tables' rows.
     *
     * @param words one row for each id
     * @param scale factor of the word's row
     * @param types one row for each token type, or null
     * @param positions one row for each index in the sequence, or null
     * @param norm the norm of the sum, or null
     * @param dim elements of a row
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Embedding(
            double[] words,
            double scale,
            double @Nullable [] types,
            double @Nullable [] positions,
            @Nullable Norm norm,
            int dim) {
        /** Checks the sizes. */
        public Embedding {
            Checks.atLeast(dim, 1, "dim");
            if (Checks.notNull(words, "words").length % dim != 0) {
                throw Checks.fail("words", words.length + " elements", "expected rows of " + dim);
            }
            if (types != null && types.length < dim) {
                throw Checks.fail("types", types.length + " elements", "expected a row of " + dim);
            }
        }

        double[] of(int[] ids, int[] tokenTypes) {
            int typeRows = types == null ? 1 : types.length / dim;
            for (int token = 0; token < ids.length; token++) {
                Checks.index(ids[token], words.length / dim, "ids[" + token + "]");
                Checks.index(tokenTypes[token], typeRows, "types[" + token + "]");
            }
            if (positions != null && positions.length / dim < ids.length) {
                throw Checks.fail(
                        "ids", ids.length + " tokens", "expected at most " + positions.length / dim + " positions");
            }
            double[] states = new double[ids.length * dim];
            for (int at = 0; at < states.length; at++) {
                int token = at / dim;
                states[at] = scale * words[ids[token] * dim + at % dim];
                states[at] += types == null ? 0 : types[tokenTypes[token] * dim + at % dim];
                states[at] += positions == null ? 0 : positions[at];
            }
            return norm == null ? states : norm.of(states);
        }
    }

    /**
     * The steps of attention except its products.
     *
     * @param scale factor of scores
     * @param rule masks, caps and biases of scores
     * @param sinks one per query head, or null
     * @param rope rotation of queries and keys, or null
     * @param queryNorm norm of each query head or of all heads as one row, before the rotation, or
     *     null
     * @param keyNorm the same for keys
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Scores(
            double scale,
            ScoreRule rule,
            double @Nullable [] sinks,
            @Nullable ReferenceRope rope,
            @Nullable Norm queryNorm,
            @Nullable Norm keyNorm) {
        /** Checks that the rule is present. */
        public Scores {
            Checks.notNull(rule, "rule");
        }
    }

    /**
     * Self-attention.
     *
     * @param projections query, key and value
     * @param output the output projection
     * @param heads query heads
     * @param keyValueHeads key and value heads
     * @param scores the steps on queries, keys and scores
     */
    public record Attention(List<Linear> projections, Linear output, int heads, int keyValueHeads, Scores scores)
            implements Part {
        /** Checks the parts. */
        public Attention {
            projections = Checks.noNulls(projections, "projections");
            Checks.length(projections.size(), 3, "projections", "query, key and value");
            Checks.notNull(output, "output");
            Checks.notNull(scores, "scores");
            requireHeads(projections.get(0), heads, "heads");
            requireHeads(projections.get(1), keyValueHeads, "keyValueHeads");
        }

        @Override
        public double[] of(double[] x) {
            return output.of(context(x));
        }

        private static void requireHeads(Linear projection, int heads, String argument) {
            if (heads < 1 || projection.inputs < 1 || projection.outputs % heads != 0) {
                throw Checks.fail(
                        argument,
                        String.valueOf(heads),
                        "expected a divisor of the " + projection.outputs + " outputs");
            }
        }

        private double[] context(double[] x) {
            ReferenceAttention.Result result = result(x);
            return tokens(result.output(), x.length / projections.get(0).inputs, heads);
        }

        private ReferenceAttention.Result result(double[] x) {
            int inputs = projections.get(0).inputs;
            int tokens = Checks.notNull(x, "x").length / inputs;
            if (tokens == 0 || x.length % inputs != 0) {
                throw Checks.fail("x", x.length + " elements", "expected one or more rows of " + inputs);
            }
            double[] queries = normalized(projections.get(0).of(x), scores.queryNorm);
            double[] keys = normalized(projections.get(1).of(x), scores.keyNorm);
            Tensor value = heads(projections.get(2).of(x), tokens, keyValueHeads);
            Tensor query = rotated(heads(queries, tokens, heads));
            Tensor key = rotated(heads(keys, tokens, keyValueHeads));
            ReferenceAttention.Call call =
                    new ReferenceAttention.Call(query, key, value, scores.scale, scores.rule, ReferenceDropout.NONE);
            return (scores.sinks == null ? call : call.withSinks(scores.sinks)).forward();
        }

        private static double[] normalized(double[] x, @Nullable Norm norm) {
            return norm == null ? x : norm.of(x);
        }

        private Tensor rotated(Tensor x) {
            ReferenceRope rope = scores.rope;
            if (rope == null) {
                return x;
            }
            long[] positions = LongStream.range(0, x.dim(2)).toArray();
            return Tensor.of(rope.apply(x, positions, false).output(), 1, x.dim(1), x.dim(2), x.dim(3));
        }

        /** Returns {@code [tokens, heads, dim]} as {@code [1, heads, tokens, dim]}. */
        private static Tensor heads(double[] x, int tokens, int heads) {
            int dim = x.length / tokens / heads;
            return Tensor.of(x, 1, tokens, heads, dim).permute(0, 2, 1, 3);
        }

        /** Returns {@code [heads, tokens, dim]} as {@code [tokens, heads, dim]}. */
        private static double[] tokens(double[] x, int tokens, int heads) {
            int dim = x.length / tokens / heads;
            return Values.of(Tensor.of(x, heads, tokens, dim).permute(1, 0, 2), "context");
        }
    }

    /**
     * Attention whose context is multiplied by the sigmoid of a projection before the output
     * projection.
     *
     * @param attention the attention without gates
     * @param gates one for each element of the context
     */
    public record GatedAttention(Attention attention, Linear gates) implements Part {
        /** Checks the parts. */
        public GatedAttention {
            Checks.notNull(attention, "attention");
            Checks.notNull(gates, "gates");
            Checks.length(gates.outputs, attention.output.inputs, "gates", "one per element of the context");
        }

        @Override
        public double[] of(double[] x) {
            double[] context = attention.context(Checks.notNull(x, "x"));
            double[] factors = gates.of(x);
            for (int i = 0; i < context.length; i++) {
                context[i] *= ReferenceActivation.sigmoid(factors[i]);
            }
            return attention.output.of(context);
        }
    }

    /** A function of the states of one sequence's tokens. */
    public interface Part {
        /**
         * Returns the rows that it makes.
         *
         * @param x a row of states for each token, in their order
         * @return the same number of new rows of the same size
         */
        double[] of(double[] x);
    }

    private static void requireSizes(Linear gate, Linear up, Linear down) {
        Checks.length(gate.inputs, up.inputs, "gate", "inputs, as up has");
        Checks.length(gate.outputs, up.outputs, "gate", "outputs, as up has");
        Checks.length(down.inputs, up.outputs, "down", "inputs, as up has outputs");
    }

    /** A function of each row of states separately. */
    public interface Rows extends Part {}

    /**
     * The feed-forward network: {@code down(f(up(x)))}, or {@code down(f(gate(x)) up(x))}.
     *
     * @param gate null for none
     * @param up the layer multiplied by the gate, or the first layer without a gate
     * @param down the last
     * @param function f
     */
    public record FeedForward(@Nullable Linear gate, Linear up, Linear down, DoubleUnaryOperator function)
            implements Rows {
        /** Checks the parts. */
        public FeedForward {
            Checks.notNull(up, "up");
            Checks.notNull(down, "down");
            Checks.notNull(function, "function");
            requireSizes(gate == null ? up : gate, up, down);
        }

        @Override
        public double[] of(double[] x) {
            double[] inner = up.of(Checks.notNull(x, "x"));
            double[] gates = gate == null ? inner : gate.of(x);
            double[] hidden = new double[inner.length];
            for (int i = 0; i < hidden.length; i++) {
                hidden[i] = function.applyAsDouble(gates[i]) * (gate == null ? 1 : inner[i]);
            }
            return down.of(hidden);
        }
    }

    /**
     * The feed-forward network of GPT-OSS: {@code down((u + 1) g / (1 + e^(-slope g)))}, where g is the output of gate, limited to at most {@code
     * limit}, and u the output of up, limited to the range from {@code -limit} to {@code limit}.
     *
     * @param gate the gate
     * @param up the layer multiplied by the gate
     * @param down the last
     * @param slope factor of the gate in the exponent
     * @param limit the largest gate, and the largest magnitude of up
     */
    public record ClampedFeedForward(Linear gate, Linear up, Linear down, double slope, double limit) implements Rows {
        /** Checks the parts. */
        public ClampedFeedForward {
            requireSizes(Checks.notNull(gate, "gate"), Checks.notNull(up, "up"), Checks.notNull(down, "down"));
        }

        @Override
        public double[] of(double[] x) {
            double[] gates = gate.of(Checks.notNull(x, "x"));
            double[] hidden = up.of(x);
            for (int i = 0; i < hidden.length; i++) {
                double g = Math.min(gates[i], limit);
                hidden[i] = (Math.clamp(hidden[i], -limit, limit) + 1) * g / (1 + Math.exp(-slope * g));
            }
            return down.of(hidden);
        }
    }

    /**
     * A gated convolution over the last tokens: {@code out(c conv(b x))} with {@code b, c, x = in(states)}.
     *
     * @param in projection to b, c and x, in this order
     * @param convolution convolution of each element separately
     * @param out the output projection
     */
    public record ShortConvolution(Linear in, ReferenceConvolution convolution, Linear out) implements Part {
        /** Checks the parts. */
        public ShortConvolution {
            Checks.notNull(in, "in");
            Checks.length(
                    in.outputs, 3L * Checks.notNull(convolution, "convolution").channels(), "in", "b, c and x");
            Checks.length(Checks.notNull(out, "out").inputs, convolution.channels(), "out", "inputs, one a channel");
        }

        @Override
        public double[] of(double[] x) {
            double[] all = in.of(Checks.notNull(x, "x"));
            int dim = convolution.channels();
            double[] rows = new double[all.length / 3];
            for (int i = 0; i < rows.length; i++) {
                int row = i / dim * 3 * dim + i % dim;
                rows[i] = all[row] * all[row + 2 * dim];
            }
            rows = convolution.of(rows);
            for (int i = 0; i < rows.length; i++) {
                rows[i] *= all[i / dim * 3 * dim + dim + i % dim];
            }
            return out.of(rows);
        }
    }

    /**
     * The norms of a part f: {@code outer(x + after(f(before(x))))}; null for none.
     *
     * @param before norm of the part's input
     * @param after norm of its result
     * @param outer norm of the sum
     */
    public record Norms(
            @Nullable Norm before,
            @Nullable Norm after,
            @Nullable Norm outer) {
        private double[] before(double[] x) {
            return before == null ? x : before.of(x);
        }

        private double[] sum(double[] x, double[] part) {
            double[] update = after == null ? part : after.of(part);
            double[] sum = new double[x.length];
            for (int i = 0; i < sum.length; i++) {
                sum[i] = x[i] + update[i];
            }
            return outer == null ? sum : outer.of(sum);
        }
    }

    /**
     * A block: attention and a feed-forward network or experts in sequence, or both in parallel on the same states.
     *
     * @param attention attention, or another part that mixes tokens
     * @param attentionNorms the norms of the first part
     * @param feedForward the second part
     * @param feedForwardNorms the norms of the second part
     * @param parallel whether both read the same states; without a norm before the second part, both read the output of the first part's norm
     */
    public record Block(
            Part attention, Norms attentionNorms, Rows feedForward, Norms feedForwardNorms, boolean parallel) {
        /** Checks the parts. */
        public Block {
            Checks.notNull(attention, "attention");
            Checks.notNull(attentionNorms, "attentionNorms");
            Checks.notNull(feedForward, "feedForward");
            Checks.notNull(feedForwardNorms, "feedForwardNorms");
        }

        double[] of(double[] x) {
            double[] read = attentionNorms.before(x);
            double[] middle = attentionNorms.sum(x, attention.of(read));
            double[] second = !parallel ? middle : feedForwardNorms.before == null ? read : x;
            return feedForwardNorms.sum(middle, feedForward.of(feedForwardNorms.before(second)));
        }
    }

    /**
     * Returns the states of a sequence's tokens after the last block.
     *
     * @param ids token ids, at least one
     * @return {@code [tokens, dim]}, before the final norm
     */
    public double[] states(int... ids) {
        return states(Checks.notNull(ids, "ids"), new int[ids.length]);
    }

    /**
     * Returns the states of a sequence's tokens, with token types other than 0, after the last block.
     *
     * @param ids token ids, at least one
     * @param types the types of the tokens
     * @return {@code [tokens, dim]}, before the final norm
     */
    public double[] states(int[] ids, int[] types) {
        if (Checks.notNull(ids, "ids").length != Checks.notNull(types, "types").length) {
            throw Checks.fail("types", types.length + " tokens", "expected " + ids.length + ", as in ids");
        }
        double[] states = embedding.of(ids, types);
        for (Block block : blocks) {
            states = block.of(states);
        }
        return states;
    }

    /**
     * Returns the attention weights of a block.
     *
     * @param block the index of the block, from 0
     * @param ids token ids, at least one
     * @return {@code [heads, tokens, keys]}: as many keys as tokens, and one more key for sinks
     * @throws IllegalArgumentException if there is no such block, or it has no softmax attention
     */
    public double[] weights(int block, int... ids) {
        Checks.index(block, blocks.size(), "block");
        Block last = blocks.get(block);
        Attention attention =
                switch (last.attention) {
                    case Attention plain -> plain;
                    case GatedAttention gated -> gated.attention;
                    default -> throw Checks.fail("block", String.valueOf(block), "expected softmax attention");
                };
        ReferenceTransformer before =
                new ReferenceTransformer(embedding, blocks.subList(0, block), null, head, logitCap);
        return attention.result(last.attentionNorms.before(before.states(ids))).weights();
    }

    /**
     * Returns the logits of a sequence's tokens.
     *
     * @param ids token ids, at least one
     * @return {@code [tokens, logits]}
     */
    public double[] logits(int... ids) {
        double[] states = states(ids);
        double[] logits = head.of(finalNorm == null ? states : finalNorm.of(states));
        for (int i = 0; logitCap != 0 && i < logits.length; i++) {
            logits[i] = logitCap * Math.tanh(logits[i] / logitCap);
        }
        return logits;
    }
}
