package io.multihead.bits;

import io.multihead.attention.AttentionDropout;
import io.multihead.attention.AttentionOptions;
import io.multihead.attention.Mask;
import io.multihead.support.Layout;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Calls of attention backward with masks and dropout, every element type, and gradients of bias, log-sum-exp and weights. */
final class BackwardBits {
    private static final Shapes SMALL = new Shapes(2, 4, 2, 20, 35, 12, 21);

    private BackwardBits() {}

    static void run(Bits bits) {
        Shapes[] sizes = {
            SMALL, new Shapes(1, 4, 1, 70, 300, 33, 16), new Shapes(1, 1, 1, 270, 130, 8, 40), Shapes.of(2, 1, 70, 64)
        };
        for (Shapes size : sizes) {
            Calls.Inputs inputs = size.inputs(bits);
            ScoreBits.differentiable(bits, size).forEach((name, options) -> {
                Calls.Results upstream = size.upstream(bits, DType.F32, Layout.DENSE, false, false);
                call(bits, name + " " + size, size, inputs, upstream, options);
            });
        }
        types(bits);
        for (int axes = 0; axes < 16; axes++) {
            bias(bits, axes);
        }
        empty(bits);
        notFinite(bits);
    }

    private static void call(
            Bits bits,
            String name,
            Shapes size,
            Calls.Inputs inputs,
            Calls.Results upstream,
            AttentionOptions options) {
        Calls.Results results =
                upstream.weights() == null ? size.results(bits) : size.withWeights(bits, DType.F32, Layout.DENSE);
        Calls.backward(bits, name, inputs, results, upstream, gradients(bits, size, options, null, 0));
    }

    private static Calls.Backward gradients(
            Bits bits, Shapes size, AttentionOptions options, @Nullable Tensor bias, int kind) {
        DType type = Bits.floating(kind);
        Layout layout = Bits.layout(kind);
        return new Calls.Backward(
                options,
                kind % 7 == 1
                        ? null
                        : bits.empty(type, layout, size.batch(), size.heads(), size.queries(), size.headDim()),
                kind % 7 == 2
                        ? null
                        : bits.empty(type, layout, size.batch(), size.keyValueHeads(), size.keys(), size.headDim()),
                kind % 7 == 3
                        ? null
                        : bits.empty(type, layout, size.batch(), size.keyValueHeads(), size.keys(), size.valueDim()),
                bias);
    }

    private static void types(Bits bits) {
        for (int kind = 0; kind < 24; kind++) {
            Calls.Inputs inputs = SMALL.inputs(
                    bits, Bits.floating(kind), Bits.floating(kind / 4), Bits.floating(kind / 2), Bits.layout(kind));
            boolean weights = kind % 3 == 0;
            Calls.Results upstream =
                    SMALL.upstream(bits, Bits.floating(kind / 3), Bits.layout(kind / 2), kind % 2 == 0, weights);
            Calls.Results results = weights
                    ? SMALL.withWeights(bits, DType.F32, Bits.layout(kind))
                    : SMALL.results(bits, Bits.floating(kind), kind % 2 == 0 ? DType.F32 : DType.F64, Layout.DENSE);
            AttentionOptions options = kind % 4 < 2 ? AttentionOptions.DEFAULT : AttentionOptions.CAUSAL;
            options = kind % 5 == 0 ? options.withDropout(new AttentionDropout(0.4, kind)) : options;
            Calls.Backward call = gradients(bits, SMALL, options, null, kind);
            Calls.backward(bits, "types " + kind, inputs, results, upstream, call);
        }
    }

    private static void bias(Bits bits, int axes) {
        Shapes size = axes % 3 == 0 ? new Shapes(1, 2, 2, 70, 150, 8, 8) : SMALL;
        long[] dims = size.broadcastable(axes);
        Tensor bias = bits.bias(0.2, DType.F32, dims);
        AttentionOptions options = AttentionOptions.DEFAULT.withMask(
                axes % 2 == 0 ? Mask.bias(bias) : Mask.bias(bias).and(Mask.CAUSAL));
        Tensor gradient = bits.empty(Bits.floating(axes / 2), Bits.layout(axes), dims);
        Calls.Results upstream = size.upstream(bits, DType.F32, Layout.DENSE, axes % 3 == 1, axes % 5 == 2);
        Calls.Results results =
                upstream.weights() == null ? size.results(bits) : size.withWeights(bits, DType.F32, Layout.DENSE);
        Calls.Backward call = gradients(bits, size, options, gradient, 0);
        Calls.backward(bits, "bias over axes " + axes, size.inputs(bits), results, upstream, call);
    }

    private static void empty(Bits bits) {
        for (Shapes size : new Shapes[] {Shapes.of(2, 3, 0, 4), Shapes.of(2, 0, 5, 4), Shapes.of(1, 1, 1, 1)}) {
            Calls.Results upstream = size.upstream(bits, DType.F32, Layout.DENSE, true, false);
            call(bits, "empty " + size, size, size.inputs(bits), upstream, AttentionOptions.DEFAULT);
        }
    }

    private static void notFinite(Bits bits) {
        for (int kind = 0; kind < 4; kind++) {
            Calls.Inputs inputs = SMALL.inputs(bits);
            double special = kind % 2 == 0 ? Double.NaN : Double.POSITIVE_INFINITY;
            (kind < 2 ? inputs.value() : inputs.key()).set(special, 0, 1, 34, 3);
            Calls.Results upstream = SMALL.upstream(bits, DType.F32, Layout.DENSE, false, false);
            call(bits, "not finite " + kind, SMALL, inputs, upstream, AttentionOptions.CAUSAL);
            AttentionOptions hidden = AttentionOptions.DEFAULT.withMask(Mask.keyLengths(30));
            call(bits, "not finite, hidden " + kind, SMALL, inputs, upstream, hidden);
        }
    }
}
