package io.multihead.jmh.peer;

import java.nio.FloatBuffer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** PyTorch's own operators, on copies of the inputs in PyTorch's memory. */
public final class Torch {
    static {
        // its threads and the threads of the BLAS below it alternate, and spinning threads keep the others from the
        // cores
        OpenMp.sleepBetweenJobs();
    }

    private Torch() {}

    /** Both pools: PyTorch's own and the BLAS's below it, for calls of BLAS from one thread. */
    public static void threads(int threads) {
        torch.set_num_threads(threads);
        openblas.blas_set_num_threads(threads);
    }

    /**
     * Only PyTorch's pool, for attention, which calls BLAS from each of its threads: a BLAS with its own threads would take a second
     * instead of milliseconds.
     */
    public static void attentionThreads(int threads) {
        torch.set_num_threads(threads);
        openblas.blas_set_num_threads(1);
    }

    public static Tensor copy(FloatBuffer values, long... shape) {
        return torch.from_blob(new FloatPointer(values.duplicate()), shape).clone();
    }

    /** Elements of a contiguous tensor. */
    public static void read(Tensor tensor, FloatBuffer to) {
        try (PointerScope scope = new PointerScope()) {
            FloatPointer from = new FloatPointer(tensor.contiguous().data_ptr_float());
            for (int i = 0; i < to.capacity(); i++) {
                to.put(i, from.get(i));
            }
        }
    }

    /** A call that records nothing for gradients and leaves no temporary behind. */
    public static Runnable inference(Runnable call) {
        return () -> {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                call.run();
            }
        };
    }

    /** {@code C = A B} with A {@code [rows, depth]} and B {@code [depth, columns]}, into new memory; once into c. */
    public static Runnable multiply(int[] sizes, int threads, FloatBuffer a, FloatBuffer b, FloatBuffer c) {
        threads(threads);
        Tensor left = copy(a, sizes[0], sizes[2]);
        Tensor right = copy(b, sizes[2], sizes[1]);
        Tensor result = copy(c, sizes[0], sizes[1]);
        Runnable made = inference(() -> torch.mm_out(result, left, right));
        made.run();
        read(result, c);
        return made;
    }

    /** Scaled dot-product attention of tensors {@code [batch, heads, tokens, dim]}, in any order in memory. */
    public static Tensor attend(Tensor query, Tensor key, Tensor value, boolean causal) {
        return torch.scaled_dot_product_attention(
                query, key, value, new TensorOptional(), 0.0, causal, new DoubleOptional(), false);
    }

    /** Scaled dot-product attention {@code [batch, heads, tokens, dim]} and the gradients of q, k and v from the gradient of its output. */
    public static Runnable attentionBackward(Tensor[] leaves, Tensor upstream, boolean causal, int threads) {
        attentionThreads(threads);
        return () -> {
            try (PointerScope scope = new PointerScope()) {
                for (Tensor leaf : leaves) {
                    if (leaf.grad().defined()) {
                        leaf.mutable_grad().reset();
                    }
                }
                backward(attend(leaves[0], leaves[1], leaves[2], causal), upstream);
            }
        };
    }

    /** Gradients of everything below, added to the earlier values. */
    public static void backward(Tensor output, Tensor upstream) {
        output.backward(upstream, new BoolOptional(), false, new TensorArrayRefOptional());
    }
}
