package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Matrix multiplication, {@code C = f(alpha * op(A) * op(B) + beta * C + bias)}, cache-blocked over packed operands (Goto and
 * van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
 *
 * <p>Shapes: A {@code [..., M, K]}, B {@code [..., K, N]}, C {@code [..., M, N]}, any strides and element types; sums are f32
 * and C is rounded once. Leading axes are batches; those of A and B broadcast to those of C. Every element is summed in
 * ascending order of K in chains of 256, so that results have the same bits for any number of threads and any batch.
 *
 * <p>Thread-safe. A warm call allocates nothing but the view of an operand that the options transpose. Sums may overflow to infinity as
 * f32 does; NaN follows IEEE 754.
 */
public final class Gemm {
    private static final ScratchKey<GemmCall> CALL = ScratchKey.of(GemmCall::new);

    private Gemm() {}

    /**
     * Multiplies two matrices, or batches of them.
     *
     * @param cpu threads and scratch
     * @param a {@code [..., M, K]}, or {@code [..., K, M]} when transposed
     * @param b {@code [..., K, N]}, or {@code [..., N, K]} when transposed
     * @param c {@code [..., M, N]}, written
     * @param options transposes, factors, bias and activation
     * @throws IllegalArgumentException if shapes do not fit or C overlaps an operand; nothing has been written then
     */
    public static void multiply(Compute cpu, Tensor a, Tensor b, Tensor c, GemmOptions options) {
        GemmChecks.requireMatrix(a, "a");
        GemmChecks.requireMatrix(b, "b");
        Checks.notNull(options, "options");
        Tensor right = options.transposeB() ? b.transpose(-2, -1) : b;
        run(cpu, a, right, null, c, options);
    }

    /**
     * Multiplies with weights packed once.
     *
     * @param cpu threads and scratch
     * @param a {@code [..., M, K]}, or {@code [..., K, M]} when transposed
     * @param b K inputs, N outputs; serves every batch
     * @param c {@code [..., M, N]}, written
     * @param options transposes (of A alone), factors, bias and activation
     * @throws IllegalArgumentException if shapes do not fit, C overlaps A, or B is to be transposed; nothing has been
     *     written then
     */
    public static void multiply(Compute cpu, Tensor a, PackedWeights b, Tensor c, GemmOptions options) {
        GemmChecks.requireMatrix(a, "a");
        Checks.notNull(b, "b");
        if (Checks.notNull(options, "options").transposeB()) {
            throw Checks.fail("options", "transposeB with packed weights", "expected them packed as [inputs, outputs]");
        }
        run(cpu, a, null, b, c, options);
    }

    private static void run(
            Compute cpu, Tensor a, @Nullable Tensor b, @Nullable PackedWeights packed, Tensor c, GemmOptions options) {
        Checks.notNull(cpu, "cpu");
        Tensor left = options.transposeA() ? a.transpose(-2, -1) : a;
        GemmChecks.requireOperands(cpu, left, b, packed, c, options);
        GemmChecks.requireBias(cpu, c, options.bias());
        try (GemmCall call = Operation.open(cpu, CALL)) {
            call.bind(left, b, packed, c, options);
            call.run();
        }
    }
}
