package io.multihead.attention;

import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.ValueLayout;

/** Single elements of a log-sum-exp tensor, with all the digits of f64 where it has them. */
final class LogSumExp {
    private LogSumExp() {}

    /** The element at a position, in elements. */
    static double read(Tensor tensor, long at) {
        return switch (tensor.dtype()) {
            case F64 -> tensor.memory().get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at * Double.BYTES);
            case F32 -> tensor.memory().get(ValueLayout.JAVA_FLOAT_UNALIGNED, at * Float.BYTES);
            case F16 -> Float.float16ToFloat(tensor.memory().get(ValueLayout.JAVA_SHORT_UNALIGNED, at * Short.BYTES));
            case BF16 -> DType.bf16ToFloat(tensor.memory().get(ValueLayout.JAVA_SHORT_UNALIGNED, at * Short.BYTES));
            case I8 -> throw new IllegalStateException("logSumExp: I8; expected a floating type");
        };
    }

    /** Writes the element at a position, rounded once. */
    static void write(Tensor tensor, long at, double value) {
        switch (tensor.dtype()) {
            case F64 -> tensor.memory().set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at * Double.BYTES, value);
            case F32 -> tensor.memory().set(ValueLayout.JAVA_FLOAT_UNALIGNED, at * Float.BYTES, (float) value);
            case F16 ->
                tensor.memory()
                        .set(ValueLayout.JAVA_SHORT_UNALIGNED, at * Short.BYTES, Float.floatToFloat16((float) value));
            case BF16 ->
                tensor.memory()
                        .set(ValueLayout.JAVA_SHORT_UNALIGNED, at * Short.BYTES, DType.floatToBf16((float) value));
            case I8 -> throw new IllegalStateException("logSumExp: I8; expected a floating type");
        }
    }
}
