package io.multihead.internal.base;

/**
 * The exceptions for faults of any tensor, so that each fault has one wording: {@code name: actual; expected}. The checks are in
 * {@code internal.call.TensorChecks} and in {@code tensor}. Since both packages are above this package, tensors and shapes are passed as
 * objects with a {@code toString}.
 */
public final class TensorFaults {
    private TensorFaults() {}

    /** Returns the exception for a shape other than the expected one. */
    public static IllegalArgumentException shape(String argument, Object actual, Object expected) {
        return Checks.fail(argument, "shape " + actual, "expected " + expected);
    }

    /** Returns the exception for integer elements if floating-point elements are needed. */
    public static IllegalArgumentException notFloating(String argument, Object tensor) {
        return Checks.fail(argument, tensor.toString(), "expected a floating-point element type");
    }

    /** Returns the exception for an output in read-only memory. */
    public static IllegalArgumentException readOnly(String argument) {
        return Checks.fail(argument, "read-only memory", "expected memory that can be written");
    }

    /** Returns the exception for an output in which several elements share storage, as after broadcasting. */
    public static IllegalArgumentException sharedStorage(String argument, Object tensor) {
        return Checks.fail(argument, tensor.toString(), "expected every element to have its own storage");
    }

    /** Returns the exception for an output that overlaps another tensor of the call. */
    public static IllegalArgumentException overlap(String argument, Object tensor, String other) {
        return Checks.fail(argument, tensor + " overlaps " + other, "expected separate memory");
    }
}
