package io.multihead.internal.encoder.layer;

import io.multihead.gemm.Activation;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.DoubleUnaryOperator;
import org.jspecify.annotations.Nullable;

/** Activation functions of sentence-transformers' dense layers, by the names of PyTorch's classes. */
public enum DenseFunction {
    IDENTITY("linear.Identity", Activation.NONE, null),
    TANH("activation.Tanh", Activation.NONE, StrictMath::tanh),
    SIGMOID("activation.Sigmoid", Activation.NONE, DenseFunction::sigmoid),
    RELU("activation.ReLU", Activation.RELU, null),
    GELU("activation.GELU", Activation.GELU, null),
    SILU("activation.SiLU", Activation.SILU, null);

    private static final String MODULE = "torch.nn.modules.";
    private static final String PACKAGE = "torch.nn.";

    private final String name;
    /** The function that the product applies when it writes its result. */
    final Activation fused;
    /** A function that is applied to each element afterwards, with the same bits on all processors; null for none. */
    private final @Nullable DoubleUnaryOperator after;

    DenseFunction(String name, Activation fused, @Nullable DoubleUnaryOperator after) {
        this.name = name;
        this.fused = fused;
        this.after = after;
    }

    /** Returns {@code 1 / (1 + e^-x)}, with the same bits on all processors. */
    public static double sigmoid(double x) {
        return 1 / (1 + StrictMath.exp(-x));
    }

    /** Returns the function of a PyTorch class, whose name includes its file or the package that exports it. */
    public static Optional<DenseFunction> of(String type) {
        return Arrays.stream(values())
                .filter(function -> type.equals(function.type())
                        || type.equals(PACKAGE + function.name.substring(function.name.indexOf('.') + 1)))
                .findFirst();
    }

    /** Returns the name that sentence-transformers writes. */
    public String type() {
        return MODULE + name;
    }

    static List<String> types() {
        return Arrays.stream(values()).map(DenseFunction::type).toList();
    }

    /** Computes the rest of the function, which the product did not apply. */
    void apply(float[] values, int length) {
        if (after != null) {
            for (int i = 0; i < length; i++) {
                values[i] = (float) after.applyAsDouble(values[i]);
            }
        }
    }
}
