package io.multihead.internal.call;

import io.multihead.compute.Compute;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.TensorFaults;
import io.multihead.internal.exec.Execution;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the tensors of a call before anything is written; {@link TensorFaults} has the messages. The static methods check one property and
 * allocate nothing. An instance checks the tensors of one call in order, and compares each written tensor with the tensors that were
 * checked before.
 */
public final class TensorChecks {
    private final Execution execution;
    private final List<Seen> seen = new ArrayList<>();

    private record Seen(String name, Tensor tensor) {}

    /** Checks a call that runs on the threads of a Compute. */
    public TensorChecks(Compute cpu) {
        execution = Operation.execution(cpu);
    }

    /** Checks a tensor that the call reads; no tensor that is written later may overlap it. */
    public TensorChecks reads(String name, Tensor tensor, Shape expected) {
        requireFloating(tensor, name);
        return readsAny(name, tensor, expected);
    }

    /** Checks a tensor of any element type that the call reads; no tensor that is written later may overlap it. */
    public TensorChecks readsAny(String name, Tensor tensor, Shape expected) {
        requireShape(tensor, name, expected);
        execution.requireAccess(tensor, name);
        seen.add(new Seen(name, tensor));
        return this;
    }

    /** Checks parameters that the call reads, with the shapes with which the layer was made. */
    public TensorChecks reads(Map<String, Tensor> parameters) {
        parameters.forEach((name, tensor) -> reads(name, tensor, tensor.shape()));
        return this;
    }

    /** Checks tensors of any element type that the call reads in addition to its inputs and parameters. */
    public TensorChecks readsBuffers(List<Tensor> buffers) {
        for (int i = 0; i < buffers.size(); i++) {
            readsAny("buffer " + i, buffers.get(i), buffers.get(i).shape());
        }
        return this;
    }

    public TensorChecks writes(String name, Tensor tensor, Shape expected) {
        requireFloating(tensor, name);
        requireShape(tensor, name, expected);
        execution.requireAccess(tensor, name);
        requireOwnStorage(tensor, name);
        seen.forEach(other -> requireApart(tensor, name, other.tensor, other.name));
        seen.add(new Seen(name, tensor));
        return this;
    }

    /** Checks the gradients to which backward adds. Each gradient has the shape of its parameter; a parameter may have no gradient. */
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

    public static void requireShape(Tensor tensor, String argument, Shape expected) {
        if (!Checks.notNull(tensor, argument).shape().equals(expected)) {
            throw TensorFaults.shape(argument, tensor.shape(), expected);
        }
    }

    /** Fails unless the tensor's elements are floating-point. */
    public static void requireFloating(Tensor tensor, String argument) {
        if (!Checks.notNull(tensor, argument).dtype().isFloating()) {
            throw TensorFaults.notFloating(argument, tensor);
        }
    }

    /** Fails unless all threads may use the tensor's memory. */
    public static void requireAccess(Compute cpu, Tensor tensor, String argument) {
        Operation.execution(cpu).requireAccess(tensor, argument);
    }

    /**
     * Fails unless all threads may use the tensor's memory, its elements are floating-point and can be written, and each has its own
     * storage.
     */
    public static void requireWritable(Compute cpu, Tensor tensor, String argument) {
        requireFloating(tensor, argument);
        requireAccess(cpu, tensor, argument);
        requireOwnStorage(tensor, argument);
    }

    /** Fails unless the tensor can be written and every element has its own storage. */
    public static void requireOwnStorage(Tensor tensor, String argument) {
        if (tensor.memory().isReadOnly()) {
            throw TensorFaults.readOnly(argument);
        }
        if (tensor.overlapsItself()) {
            throw TensorFaults.sharedStorage(argument, tensor);
        }
    }

    /** Fails if a tensor that will be written overlaps another one. */
    public static void requireApart(Tensor written, String argument, @Nullable Tensor other, String otherArgument) {
        if (other != null && written.overlaps(other)) {
            throw TensorFaults.overlap(argument, written, otherArgument);
        }
    }

    /** Returns a parameter that must exist, with this shape. */
    public static Tensor requireParameter(@Nullable Tensor tensor, String name, Shape expected) {
        if (tensor == null) {
            throw Checks.fail(name, "missing", "expected a tensor of shape " + expected);
        }
        requireFloating(tensor, name);
        requireShape(tensor, name, expected);
        return tensor;
    }
}
