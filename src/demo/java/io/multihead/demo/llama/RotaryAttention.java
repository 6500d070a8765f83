package io.multihead.demo.llama;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.compute.Compute;
import io.multihead.demo.train.Tensors;
import io.multihead.nn.Gradients;
import io.multihead.nn.Layer;
import io.multihead.nn.Linear;
import io.multihead.nn.Pass;
import io.multihead.position.Rope;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Causal self-attention as Llama has it, as a layer of one's own: one projection to queries, keys and values, rotary positions (Su et al.
 * 2021), query heads that share key and value heads (Ainslie et al. 2023), and a projection of what they return.
 */
final class RotaryAttention implements Layer {
    static final String INPUT = "qkv.";
    static final String OUTPUT = "output.";

    /** Numbers of heads and of a head's elements. */
    record Heads(int queries, int keyValues, int dim) {
        int all() {
            return queries + 2 * keyValues;
        }
    }

    private final Heads heads;
    private final Rope rope;
    private final Linear input;
    private final Linear output;

    /**
     * Creates the layer.
     *
     * @param heads sizes
     * @param input {@code [(queries + 2 keyValues) dim, features]}: rows for all query heads, then keys, then values
     * @param output {@code [features, queries dim]}
     */
    RotaryAttention(Heads heads, Rope rope, Tensor input, Tensor output) {
        this.heads = heads;
        this.rope = rope;
        this.input = Linear.of(input, null);
        this.output = Linear.of(output, null);
    }

    /** Tensors of a call, each {@code [batch, heads, tokens, dim]} a view of rows of tokens. */
    private final class Call {
        final Tensor rows;
        final Tensor query;
        final Tensor key;
        final Tensor value;
        final Tensor mixed;
        final Tensor output;
        final Tensor logSumExp;

        Call(long batch, long tokens) {
            rows = Tensors.room(batch, tokens, (long) heads.all() * heads.dim);
            Tensor all = byHead(rows, heads.all());
            query = all.slice(1, 0, heads.queries);
            key = all.slice(1, heads.queries, heads.queries + heads.keyValues);
            value = all.slice(1, heads.queries + heads.keyValues, heads.all());
            mixed = Tensors.room(batch, tokens, (long) heads.queries * heads.dim);
            output = byHead(mixed, heads.queries);
            logSumExp = Tensors.room(batch, heads.queries, tokens);
        }

        private Tensor byHead(Tensor of, int count) {
            return of.reshape(of.dim(0), of.dim(1), count, heads.dim).permute(0, 2, 1, 3);
        }

        void attend(Compute cpu, @Nullable Tensor weights) {
            rope.apply(cpu, query, query, 0);
            rope.apply(cpu, key, key, 0);
            Attention.forward(cpu, query, key, value, outputs().withWeights(weights), AttentionOptions.CAUSAL);
        }

        AttentionOutputs outputs() {
            return AttentionOutputs.of(output).withLogSumExp(logSumExp);
        }
    }

    @Override
    public Map<String, Tensor> parameters() {
        Map<String, Tensor> all = new LinkedHashMap<>();
        input.parameters().forEach((name, tensor) -> all.put(INPUT + name, tensor));
        output.parameters().forEach((name, tensor) -> all.put(OUTPUT + name, tensor));
        return all;
    }

    @Override
    public Shape outputShape(Shape shape) {
        return shape;
    }

    @Override
    public void forward(Compute cpu, Tensor x, Tensor y) {
        forward(cpu, x, y, null);
    }

    /** Computes the output and, where asked for, the weights {@code [batch, queries, tokens, tokens]}. */
    void forward(Compute cpu, Tensor x, Tensor y, @Nullable Tensor weights) {
        Call call = new Call(x.dim(0), x.dim(1));
        input.forward(cpu, x, call.rows);
        call.attend(cpu, weights);
        output.forward(cpu, call.mixed, y);
    }

    @Override
    public Pass record(Compute cpu, Tensor x, Tensor y, long seed) {
        Call call = new Call(x.dim(0), x.dim(1));
        Pass in = input.record(cpu, x, call.rows, seed);
        call.attend(cpu, null);
        Pass out = output.record(cpu, call.mixed, y, seed);
        return new Pass() {
            @Override
            public void backward(Tensor dy, @Nullable Tensor dx, Map<String, Tensor> gradients) {
                Call down = new Call(x.dim(0), x.dim(1));
                out.backward(dy, down.mixed, Gradients.under(OUTPUT, gradients));
                Attention.backward(
                        cpu,
                        new AttentionPass(call.query, call.key, call.value, call.outputs(), AttentionOptions.CAUSAL),
                        down.output,
                        AttentionGradients.of(down.query, down.key, down.value));
                // the rotation's gradient is the rotation back
                rope.applyInverse(cpu, down.query, down.query, 0);
                rope.applyInverse(cpu, down.key, down.key, 0);
                in.backward(down.rows, dx, Gradients.under(INPUT, gradients));
            }

            @Override
            public void close() {
                in.close();
                out.close();
            }
        };
    }

    @Override
    public void parametersChanged() {
        input.parametersChanged();
        output.parametersChanged();
    }
}
