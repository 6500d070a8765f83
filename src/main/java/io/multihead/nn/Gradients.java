package io.multihead.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.TensorChecks;
import io.multihead.internal.exec.Execution;
import io.multihead.internal.nn.TensorMath;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.Arena;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Maps of gradients by parameter name, as {@link Pass#backward} takes them. The order of a map has no effect on results and errors. Stateless.
 */
public final class Gradients {
    private Gradients() {}

    /**
     * Allocates the gradient of every parameter.
     *
     * @param arena owns the memory
     * @param layer the layer whose parameters have gradients
     * @return dense f32 zeros of each parameter's shape, in the layer's order, unmodifiable
     */
    public static Map<String, Tensor> zeros(Arena arena, Layer layer) {
        Checks.notNull(arena, "arena");
        Map<String, Tensor> zeros = new LinkedHashMap<>();
        Checks.notNull(layer, "layer")
                .parameters()
                .forEach((name, parameter) -> zeros.put(name, Tensor.allocate(arena, DType.F32, parameter.shape())));
        return Collections.unmodifiableMap(zeros);
    }

    /**
     * Returns the gradients of a part of a layer.
     *
     * @param prefix the prefix of the part's names, including the dot, for example {@code "linear1."}
     * @param gradients the gradients by name
     * @return the entries of the part, by names without the prefix: the same tensors, unmodifiable
     */
    public static Map<String, Tensor> under(String prefix, Map<String, Tensor> gradients) {
        Checks.notNull(prefix, "prefix");
        Map<String, Tensor> part = new LinkedHashMap<>();
        Checks.notNull(gradients, "gradients").forEach((name, gradient) -> {
            if (Checks.notNull(name, "name in gradients").startsWith(prefix)) {
                part.put(name.substring(prefix.length()), gradient);
            }
        });
        return Collections.unmodifiableMap(part);
    }

    /**
     * Sets all gradients to 0, as needed before the first backward of a step. Backward adds to gradients, so several passes
     * before a step accumulate.
     *
     * @param gradients the gradients by name, changed
     * @throws IllegalArgumentException if a gradient cannot be written; nothing is
     *     written
     * @throws IllegalStateException if the arena of a gradient is closed; nothing is
     *     written
     */
    public static void clear(Map<String, Tensor> gradients) {
        sorted(gradients).forEach((name, gradient) -> {
            TensorChecks.requireOwnStorage(Checks.notNull(gradient, name), name);
            Execution.requireOpen(gradient.memory(), name);
        });
        gradients.forEach((name, gradient) -> gradient.fill(0));
    }

    /**
     * Multiplies all gradients by a factor, for example the reciprocal of the number of accumulated passes.
     *
     * @param cpu threads and scratch
     * @param gradients the gradients by name, any floating-point type, changed
     * @param factor finite as f32
     * @throws IllegalArgumentException if the factor is not finite as f32 or a gradient cannot be written; nothing is written
     */
    public static void scale(Compute cpu, Map<String, Tensor> gradients, double factor) {
        if (!Double.isFinite((float) factor)) {
            throw Checks.fail("factor", String.valueOf(factor), "expected a finite f32");
        }
        requireWritable(cpu, gradients);
        gradients.forEach((name, gradient) -> TensorMath.scale(cpu, gradient, factor, gradient));
    }

    /**
     * Returns the Euclidean norm of all gradients as one vector.
     *
     * @param cpu threads and scratch
     * @param gradients the gradients by name, any floating-point type
     * @return the square root of the sum of squares, in f64, row by row of the last axis, in the natural order of the names; the same
     *     bits on any threads
     * @throws ArithmeticException if an element is not finite; the message names its tensor
     */
    public static double norm(Compute cpu, Map<String, Tensor> gradients) {
        Checks.notNull(cpu, "cpu");
        double squares = 0;
        for (Map.Entry<String, Tensor> entry : sorted(gradients).entrySet()) {
            String name = entry.getKey();
            TensorChecks.requireFloating(entry.getValue(), name);
            TensorChecks.requireAccess(cpu, entry.getValue(), name);
            double sum = squares(cpu, entry.getValue());
            if (!Double.isFinite(sum)) {
                throw new ArithmeticException("gradient of " + name + ": not finite; expected numbers");
            }
            squares += sum;
        }
        return Math.sqrt(squares);
    }

    private static double squares(Compute cpu, Tensor gradient) {
        int rows = gradient.rank() < 2
                ? 1
                : Checks.fitsInt(gradient.shape().elements() / Math.max(1, gradient.dim(-1)), "rows");
        double[] sums = new double[rows];
        TensorMath.groupDots(cpu, gradient, gradient, rows, (row, sum) -> sums[(int) row] = sum);
        double all = 0;
        for (double sum : sums) {
            all += sum;
        }
        return all;
    }

    /**
     * Scales all gradients down if their norm exceeds a limit (Pascanu et al. 2013), like PyTorch's {@code clip_grad_norm_}.
     *
     * @param cpu threads and scratch
     * @param gradients the gradients by name, any floating-point type, changed
     * @param most the largest norm that is not scaled down, above 0
     * @return the norm before the gradients are scaled
     * @throws IllegalArgumentException if the limit is not above 0 or a gradient cannot be written; nothing is written
     * @throws ArithmeticException if an element is not finite; nothing is written
     */
    public static double clip(Compute cpu, Map<String, Tensor> gradients, double most) {
        if (!(most > 0)) {
            throw Checks.fail("most", String.valueOf(most), "expected more than 0");
        }
        requireWritable(cpu, gradients);
        double norm = norm(cpu, gradients);
        if (norm > most) {
            scale(cpu, gradients, most / norm);
        }
        return norm;
    }

    private static void requireWritable(Compute cpu, Map<String, Tensor> gradients) {
        Checks.notNull(cpu, "cpu");
        sorted(gradients).forEach((name, gradient) -> TensorChecks.requireWritable(cpu, gradient, name));
    }

    private static Map<String, Tensor> sorted(Map<String, Tensor> gradients) {
        Map<String, Tensor> sorted = new TreeMap<>();
        Checks.notNull(gradients, "gradients")
                .forEach((name, gradient) -> sorted.put(Checks.notNull(name, "name in gradients"), gradient));
        return sorted;
    }
}
