package io.multihead.tensor;

import io.multihead.internal.base.Checks;
import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.ShortBuffer;

/** The memory of a buffer whose elements are stored in the form that a tensor reads. */
final class BufferMemory {
    private BufferMemory() {}

    /**
     * Returns the memory from the buffer's position to its limit.
     *
     * @throws IllegalArgumentException if the buffer has another element type, or its byte order is not the machine's
     */
    static MemorySegment of(Buffer buffer, DType dtype) {
        Checks.notNull(dtype, "dtype");
        ByteOrder order =
                switch (Checks.notNull(buffer, "buffer")) {
                    case ByteBuffer bytes -> dtype.bytes() == 1 ? ByteOrder.nativeOrder() : bytes.order();
                    case ShortBuffer halves when dtype == DType.BF16 || dtype == DType.F16 -> halves.order();
                    case FloatBuffer floats when dtype == DType.F32 -> floats.order();
                    case DoubleBuffer doubles when dtype == DType.F64 -> doubles.order();
                    default ->
                        throw Checks.fail(
                                "buffer",
                                buffer.toString(),
                                "expected a ByteBuffer, or one with elements of dtype " + dtype);
                };
        if (order != ByteOrder.nativeOrder()) {
            throw Checks.fail(
                    "buffer",
                    "its order is " + order,
                    "expected " + ByteOrder.nativeOrder()
                            + ", as ByteBuffer.order(ByteOrder.nativeOrder()) sets it before a view of it is made");
        }
        return MemorySegment.ofBuffer(buffer);
    }
}
