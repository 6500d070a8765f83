package io.multihead.internal.attention;

import io.multihead.compute.Compute;
import io.multihead.internal.Checks;
import io.multihead.internal.call.Operation;
import io.multihead.tensor.Tensor;
import org.jspecify.annotations.Nullable;

/** Checks of the memory of tensors, made before anything is written. */
public final class MemoryChecks {
    private MemoryChecks() {}

    /** Fails unless all threads may use the tensor's memory. */
    public static void requireAccess(Compute cpu, Tensor tensor, String argument) {
        Operation.execution(cpu).requireAccess(tensor, argument);
    }

    /** Fails unless the tensor is floating, writable, and every element has its own storage. */
    public static void requireWritable(Compute cpu, Tensor tensor, String argument) {
        requireAccess(cpu, tensor, argument);
        requireFloating(tensor, argument);
        if (tensor.memory().isReadOnly()) {
            throw Checks.fail(argument, "read-only memory", "expected memory that can be written");
        }
        if (tensor.overlapsItself()) {
            throw Checks.fail(argument, tensor.toString(), "expected every element to have its own storage");
        }
    }

    /** Fails unless the tensor's elements are floating. */
    public static void requireFloating(Tensor tensor, String argument) {
        if (!tensor.dtype().isFloating()) {
            throw Checks.fail(argument, tensor.toString(), "expected a floating element type");
        }
    }

    /** Fails if a tensor that will be written overlaps another one. */
    public static void requireApart(Tensor written, String argument, @Nullable Tensor other, String otherArgument) {
        if (other != null && written.overlaps(other)) {
            throw Checks.fail(argument, "overlaps " + otherArgument, "expected memory of its own");
        }
    }
}
