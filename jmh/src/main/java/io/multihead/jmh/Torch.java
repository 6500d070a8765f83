package io.multihead.jmh;

import java.nio.FloatBuffer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** PyTorch's own operators, on copies of the inputs in PyTorch's memory. */
final class Torch {
    private Torch() {}

    /** Both pools: PyTorch's own and that of the BLAS below it. */
    static void threads(int threads) {
        torch.set_num_threads(threads);
        openblas.blas_set_num_threads(threads);
    }

    /** A copy that gradients may be asked for. */
    static Tensor leaf(FloatBuffer values, long... shape) {
        return copy(values, shape).requires_grad_(true);
    }

    /** A copy. */
    static Tensor copy(FloatBuffer values, long... shape) {
        return torch.from_blob(new FloatPointer(values.duplicate()), shape).clone();
    }

    /** Elements of a contiguous tensor. */
    static void read(Tensor tensor, FloatBuffer to) {
        try (PointerScope scope = new PointerScope()) {
            FloatPointer from = new FloatPointer(tensor.contiguous().data_ptr_float());
            for (int i = 0; i < to.capacity(); i++) {
                to.put(i, from.get(i));
            }
        }
    }

    /** Scaled dot-product attention {@code [batch, heads, tokens, dim]} and the gradients of q, k and v from that of its output. */
    static Runnable attentionBackward(Tensor[] leaves, Tensor upstream, boolean causal, int threads) {
        threads(threads);
        return () -> {
            try (PointerScope scope = new PointerScope()) {
                for (Tensor leaf : leaves) {
                    if (leaf.grad().defined()) {
                        leaf.mutable_grad().reset();
                    }
                }
                Tensor output = torch.scaled_dot_product_attention(
                        leaves[0],
                        leaves[1],
                        leaves[2],
                        new TensorOptional(),
                        0.0,
                        causal,
                        new DoubleOptional(),
                        false);
                backward(output, upstream);
            }
        };
    }

    /** Gradients of everything below, added to what is there. */
    static void backward(Tensor output, Tensor upstream) {
        output.backward(upstream, new BoolOptional(), false, new TensorArrayRefOptional());
    }
}
