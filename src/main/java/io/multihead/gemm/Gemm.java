package io.multihead.gemm;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.tensor.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Matrix multiplication, {@code C = f(alpha * op(A) * op(B) + beta * C + bias)}, cache-blocked over packed operands (Goto and
 * van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
 *
 * <p>Shapes: A {@code [..., M, K]}, B {@code [..., K, N]}, C {@code [..., M, N]}, with any strides and element types. Sums are f32, and C
 * is rounded once. Leading axes are batches; the batch axes of A and B broadcast to the batch axes of C. Every element is summed in chains
 * of 256 products along K. The sums of the chains are added in pairs, and the pairs in ascending order of K. Results have the same bits for
 * any number of threads and any batch.
 *
 * <p>Thread-safe. A warm call allocates nothing except the view of an operand that the options transpose. Sums may overflow to infinity,
 * like f32; NaN follows IEEE 754.
 */
public final class Gemm {
    private static final ScratchKey<GemmCall> CALL = ScratchKey.of(GemmCall::new);
    private static final ScratchKey<GroupCall> GROUP = ScratchKey.of(GroupCall::new);

    private Gemm() {}

    /**
     * Multiplies two matrices, or batches of them.
     *
     * @param cpu threads and scratch
     * @param a {@code [..., M, K]}, or {@code [..., K, M]} when transposed
     * @param b {@code [..., K, N]}, or {@code [..., N, K]} when transposed
     * @param c {@code [..., M, N]}, written
     * @param options transposes, factors, bias and activation
     * @throws IllegalArgumentException if shapes do not fit or C overlaps an operand; nothing is written
     */
    public static void multiply(Compute cpu, Tensor a, Tensor b, Tensor c, GemmOptions options) {
        GemmChecks.requireMatrix(a, "a");
        GemmChecks.requireMatrix(b, "b");
        Checks.notNull(options, "options");
        Tensor right = options.transposeB() ? b.transpose(-2, -1) : b;
        run(cpu, a, right, null, c, options);
    }

    /**
     * Multiplies with packed weights. For a product with their transpose, which gradients with respect to a layer's inputs need, each
     * thread widens the panels that it uses and packs them again. The result then has the same bits as a product with {@link
     * PackedWeights#unpack}, and inputs are not rounded to 8 bits.
     *
     * @param cpu threads and scratch
     * @param a {@code [..., M, K]}, or {@code [..., K, M]} when transposed
     * @param b weights of K inputs and N outputs, or of N inputs and K outputs when transposed; the same for every batch
     * @param c {@code [..., M, N]}, written
     * @param options transposes, factors, bias and activation
     * @throws IllegalArgumentException if shapes do not fit or C overlaps A; nothing is written
     */
    public static void multiply(Compute cpu, Tensor a, PackedWeights b, Tensor c, GemmOptions options) {
        GemmChecks.requireMatrix(a, "a");
        Checks.notNull(b, "b");
        Checks.notNull(options, "options");
        run(cpu, a, null, b, c, options);
    }

    /**
     * Multiplies the same A by several packed weights, of any formats, in one parallel loop, for example for query, key and value. Threads
     * wait for each other once. The results have the same bits as separate calls.
     *
     * @param cpu threads and scratch
     * @param a {@code [..., M, K]}, or {@code [..., K, M]} if the options transpose it
     * @param b weights of K inputs each
     * @param c a result for each of the weights, {@code [..., M, N]} with its outputs, written
     * @param options the options of each product; {@code transposeB} must be false
     * @throws IllegalArgumentException if the lists are empty or of different lengths, shapes of a product do not fit, or a C overlaps A, a
     *     bias or another C; the message begins with the number of the product; nothing is written
     */
    public static void multiply(
            Compute cpu, Tensor a, List<PackedWeights> b, List<Tensor> c, List<GemmOptions> options) {
        Checks.notNull(cpu, "cpu");
        GemmChecks.requireMatrix(a, "a");
        GemmChecks.requireGroup(cpu, a, b, c, options);
        try (GroupCall call = Operation.open(cpu, GROUP)) {
            for (int i = 0; i < b.size(); i++) {
                call.add(GemmChecks.left(a, options.get(i)), b.get(i), c.get(i), options.get(i));
            }
            call.run();
        }
    }

    /**
     * Multiplies groups of rows, each by its own weights, in one parallel loop, for example for the layers of experts. A group without rows
     * takes no time. The results have the same bits as one call for each group.
     *
     * @param cpu threads and scratch
     * @param a {@code [M, K]}
     * @param starts the first row of each group, and the end of the last one: ascending, from 0 to M; elements after these are not read
     * @param b weights of K inputs for each result of the first group, then for each result of the second, and so on
     * @param c results, {@code [M, N]} each, written; usually one
     * @param options the options of each product, in the order of {@code b}; without transposes
     * @throws IllegalArgumentException if the lengths of the lists do not fit, starts do not ascend, shapes of a group with rows do not fit,
     *     or a C overlaps A, a bias or another C; nothing is written
     */
    public static void multiplyGroups(
            Compute cpu, Tensor a, int[] starts, List<PackedWeights> b, List<Tensor> c, List<GemmOptions> options) {
        Checks.notNull(cpu, "cpu");
        GemmChecks.requireRowGroups(cpu, a, starts, b, c, options);
        int results = c.size();
        if (a.dim(0) == 0) {
            return;
        }
        try (GroupCall call = Operation.open(cpu, GROUP)) {
            for (int i = 0; i < b.size(); i++) {
                int first = starts[i / results];
                int rows = starts[i / results + 1] - first;
                if (rows > 0) {
                    call.addRows(first, rows, a, b.get(i), c.get(i % results), options.get(i));
                }
            }
            call.run();
        }
    }

    private static void run(
            Compute cpu, Tensor a, @Nullable Tensor b, @Nullable PackedWeights packed, Tensor c, GemmOptions options) {
        Checks.notNull(cpu, "cpu");
        Tensor left = GemmChecks.left(a, options);
        GemmChecks.requireOperands(cpu, left, b, packed, c, options);
        GemmChecks.requireBias(cpu, c, options.bias());
        try (GemmCall call = Operation.open(cpu, CALL)) {
            call.bind(left, b, packed, c, options);
            call.run();
        }
    }
}
