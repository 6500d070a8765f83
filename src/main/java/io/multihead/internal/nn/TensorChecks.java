package io.multihead.internal.nn;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks the tensors of one call, one by one, against a shape and against each other, before anything is written. */
public final class TensorChecks {
    private final @Nullable Compute cpu;
    private final Map<String, Tensor> seen = new LinkedHashMap<>();

    /** Checks a call that runs on the threads of a Compute. */
    public TensorChecks(Compute cpu) {
        this.cpu = Checks.notNull(cpu, "cpu");
    }

    /**
     * Checks a call that runs on the calling thread alone. Whether this thread may use the memory is left to the first access,
     * which fails before anything is written.
     */
    public TensorChecks() {
        cpu = null;
    }

    /** Checks a tensor that the call reads; nothing written later may overlap it. */
    public TensorChecks reads(String name, Tensor tensor, Shape expected) {
        require(name, tensor, expected);
        seen.put(name, tensor);
        return this;
    }

    /** Parameters that the call reads, of whatever shape the layer was made with. */
    public TensorChecks reads(Map<String, Tensor> parameters) {
        parameters.forEach((name, tensor) -> reads(name, tensor, tensor.shape()));
        return this;
    }

    /** Checks a tensor that the call writes. */
    public TensorChecks writes(String name, Tensor tensor, Shape expected) {
        require(name, tensor, expected);
        if (tensor.memory().isReadOnly()) {
            throw Checks.fail(name, "read-only memory", "expected memory that can be written");
        }
        if (tensor.overlapsItself()) {
            throw Checks.fail(name, tensor + " repeats elements", "expected memory for every element");
        }
        seen.forEach((other, memory) -> {
            if (tensor.overlaps(memory)) {
                throw Checks.fail(name, tensor + " overlaps " + other, "expected memory of its own");
            }
        });
        seen.put(name, tensor);
        return this;
    }

    private void require(String name, Tensor tensor, Shape expected) {
        requireFloating(name, tensor);
        if (!tensor.shape().equals(expected)) {
            throw Checks.fail(name, "shape " + tensor.shape(), "expected " + expected);
        }
        if (cpu != null) {
            Operation.execution(cpu).requireAccess(tensor, name);
        }
    }

    /** Fails unless the tensor holds floating numbers. */
    public static void requireFloating(String name, Tensor tensor) {
        if (!Checks.notNull(tensor, name).dtype().isFloating()) {
            throw Checks.fail(name, tensor.toString(), "expected a floating element type");
        }
    }

    /** Checks the gradients that backward adds to: those of parameters that have one, each of its parameter's shape. */
    public TensorChecks writesGradients(Map<String, Tensor> parameters, Map<String, Tensor> gradients) {
        Checks.notNull(gradients, "gradients");
        parameters.forEach((name, parameter) -> {
            Tensor gradient = gradients.get(name);
            if (gradient != null) {
                writes("gradient of " + name, gradient, parameter.shape());
            }
        });
        return this;
    }

    /** Returns a parameter that must be there, with this shape. */
    public static Tensor requireParameter(String name, @Nullable Tensor tensor, Shape expected) {
        if (tensor == null) {
            throw Checks.fail(name, "missing", "expected a tensor of shape " + expected);
        }
        requireFloating(name, tensor);
        if (!tensor.shape().equals(expected)) {
            throw Checks.fail(name, "shape " + tensor.shape(), "expected " + expected);
        }
        return tensor;
    }
}
