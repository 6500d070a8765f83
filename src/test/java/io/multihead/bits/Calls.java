package io.multihead.bits;

import io.multihead.attention.Attention;
import io.multihead.attention.AttentionGradients;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.AttentionOutputs;
import io.multihead.attention.AttentionPass;
import io.multihead.attention.AttentionState;
import io.multihead.attention.KeyValueView;
import io.multihead.attention.PackedSequences;
import io.multihead.attention.Softmax;
import io.multihead.gemm.Gemm;
import io.multihead.gemm.GemmOptions;
import io.multihead.gemm.PackedWeights;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The calls of the library below its layers, with one method for each, so that a renamed method of the library is renamed only here. */
final class Calls {
    private Calls() {}

    static void gemm(Bits bits, String name, Tensor a, Tensor b, Tensor c, GemmOptions options) {
        Gemm.multiply(bits.cpu, a, b, c, options);
        bits.add("gemm " + name, c);
    }

    static void packedGemm(Bits bits, String name, Tensor a, Tensor b, Tensor c, GemmOptions options) {
        Gemm.multiply(bits.cpu, a, PackedWeights.ofInputRows(b), c, options);
        bits.add("gemm " + name, c);
    }

    static void softmax(
            Bits bits,
            String name,
            Tensor scores,
            Tensor output,
            @Nullable Tensor logSumExp,
            AttentionOptions options) {
        Softmax.forward(bits.cpu, scores, output, logSumExp, options);
        add(bits, "softmax " + name, output, logSumExp);
        Softmax.logForward(bits.cpu, scores, output, logSumExp, options);
        add(bits, "log-softmax " + name, output, logSumExp);
    }

    static void attention(Bits bits, String name, Inputs inputs, Results results, AttentionOptions options) {
        Attention.forward(bits.cpu, inputs.query, inputs.key, inputs.value, results.outputs(), options);
        results.add(bits, "attention " + name);
    }

    static void attention(
            Bits bits, String name, Tensor query, KeyValueView keyValues, Results results, AttentionOptions options) {
        Attention.forward(bits.cpu, query, keyValues, results.outputs(), options);
        results.add(bits, "attention " + name);
    }

    static void packedAttention(
            Bits bits, String name, Tensor query, PackedSequences queries, KeyValueView keyValues, Results results) {
        Attention.forward(bits.cpu, query, queries, keyValues, results.outputs(), AttentionOptions.CAUSAL);
        results.add(bits, "attention " + name);
    }

    /** Runs forward, then backward with these gradients of the outputs. */
    static void backward(Bits bits, String name, Inputs inputs, Results results, Results upstream, Backward call) {
        attention(bits, name, inputs, results, call.options);
        AttentionPass pass = new AttentionPass(inputs.query, inputs.key, inputs.value, results.outputs(), call.options);
        AttentionGradients to =
                AttentionGradients.of(call.query, call.key, call.value).withBias(call.bias);
        Attention.backward(bits.cpu, pass, upstream.outputs(), to);
        add(bits, "backward " + name, call.query, call.key, call.value, call.bias);
    }

    static void merge(Bits bits, String name, Results left, Results right, Results merged) {
        AttentionState into = merged.state();
        AttentionState.merge(
                bits.cpu, left == merged ? into : left.state(), right == merged ? into : right.state(), into);
        merged.add(bits, "merge " + name);
    }

    /** The query, key and value of one call. */
    record Inputs(Tensor query, Tensor key, Tensor value) {}

    /** The tensors that a call of backward writes, and the options that forward and backward share. */
    record Backward(
            AttentionOptions options,
            @Nullable Tensor query,
            @Nullable Tensor key,
            @Nullable Tensor value,
            @Nullable Tensor bias) {}

    /** The outputs of attention; the last two may be null. */
    record Results(
            Tensor output,
            @Nullable Tensor logSumExp,
            @Nullable Tensor weights) {
        AttentionOutputs outputs() {
            return new AttentionOutputs(output, logSumExp, weights);
        }

        AttentionState state() {
            return new AttentionState(output, Objects.requireNonNull(logSumExp));
        }

        private void add(Bits bits, String name) {
            Calls.add(bits, name, output, logSumExp, weights);
        }
    }

    private static void add(Bits bits, String name, @Nullable Tensor... results) {
        List<Tensor> present =
                new ArrayList<>(Stream.of(results).filter(Objects::nonNull).toList());
        bits.add(name, present.toArray(Tensor[]::new));
    }
}
