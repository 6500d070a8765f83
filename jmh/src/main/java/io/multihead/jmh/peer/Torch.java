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

/** PyTorch's operators on copies of the inputs in PyTorch's memory. */
public final class Torch {
    static {
        // PyTorch's threads and the threads of its BLAS alternate, and spinning threads would occupy the cores
        OpenMp.sleepBetweenJobs();
    }

    private Torch() {}

    /** Sets the threads of both pools, PyTorch's and its BLAS's, for calls of BLAS from one thread. */
    public static void threads(int threads) {
        torch.set_num_threads(threads);
        openblas.blas_set_num_threads(threads);
    }

    /**
     * Sets the threads of PyTorch's pool only, for attention, which calls BLAS from each of its threads. With threads
     * of BLAS, a call would take a second instead of milliseconds.
     */
    public static void attentionThreads(int threads) {
        torch.set_num_threads(threads);
        openblas.blas_set_num_threads(1);
    }

    public static Tensor copy(FloatBuffer values, long... shape) {
        return torch.from_blob(new FloatPointer(values.duplicate()), shape).clone();
    }

    /** Reads the elements of a contiguous tensor. */
    public static void read(Tensor tensor, FloatBuffer to) {
        try (PointerScope scope = new PointerScope()) {
            FloatPointer from = new FloatPointer(tensor.contiguous().data_ptr_float());
            for (int i = 0; i < to.capacity(); i++) {
                to.put(i, from.get(i));
            }
        }
    }

    /** Returns a call that records nothing for gradients and frees its temporaries. */
    public static Runnable inference(Runnable call) {
        return () -> {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                call.run();
            }
        };
    }

    /**
     * Returns the call {@code C = A B} with A {@code [rows, depth]} and B {@code [depth, columns]}, which writes to new
     * memory. The result of one run is copied to c.
     */
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

    /** Computes scaled dot-product attention of tensors {@code [batch, heads, tokens, dim]} with any strides. */
    public static Tensor attend(Tensor query, Tensor key, Tensor value, boolean causal) {
        return torch.scaled_dot_product_attention(
                query, key, value, new TensorOptional(), 0.0, causal, new DoubleOptional(), false);
    }

    /**
     * Returns a call of scaled dot-product attention {@code [batch, heads, tokens, dim]} and of the gradients of q, k
     * and v for the gradient of the output.
     */
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

    /** Adds the gradients of all leaves to their earlier values. */
    public static void backward(Tensor output, Tensor upstream) {
        output.backward(upstream, new BoolOptional(), false, new TensorArrayRefOptional());
    }
}
