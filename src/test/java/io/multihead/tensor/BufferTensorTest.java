package io.multihead.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.multihead.faults.Named;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Views of buffers have the elements from position to limit. Byte orders and types that tensors do not have are
 * refused.
 */
class BufferTensorTest {
    private static final String ORDER = "expected LITTLE_ENDIAN";

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    @Test
    void buffersOfEachTypeShareTheirMemory() {
        FloatBuffer floats = direct(24).asFloatBuffer();
        Tensor tensor = Tensor.of(floats, DType.F32, 2, 3);
        floats.put(4, -0.0364f);
        assertEquals(-0.0364f, (float) tensor.get(1, 1));
        tensor.set(7, 0, 2);
        assertEquals(7f, floats.get(2));

        DoubleBuffer doubles = DoubleBuffer.wrap(new double[] {1, 2, 3});
        assertEquals(3, Tensor.of(doubles, DType.F64).get(2));
        ShortBuffer halves = ShortBuffer.wrap(new short[] {Float.floatToFloat16(0.5f), 0x3fc0});
        assertEquals(0.5, Tensor.of(halves, DType.F16).get(0));
        assertEquals(1.5, Tensor.of(halves, DType.BF16).get(1));
        ByteBuffer bytes = direct(8).putFloat(0, 2.5f).putFloat(4, -1);
        assertArrayEquals(new float[] {2.5f, -1}, Tensor.of(bytes, DType.F32).toArray());
    }

    @Test
    void theViewIsFromPositionToLimit() {
        FloatBuffer floats = FloatBuffer.wrap(new float[] {1, 2, 3, 4, 5});
        floats.position(1).limit(4);
        Tensor tensor = Tensor.of(floats, DType.F32);
        floats.clear();
        assertArrayEquals(new float[] {2, 3, 4}, tensor.toArray());
        floats.position(3);
        Named.mentions(() -> Tensor.of(floats, DType.F32, 3), "memory", "8 bytes");
        // trailing bytes that are not a whole element are ignored
        assertEquals(Shape.of(1), Tensor.of(direct(7), DType.F32).shape());
    }

    @Test
    void theOtherByteOrderIsRefused() {
        ByteBuffer foreign = ByteBuffer.allocateDirect(16);
        for (DType dtype : List.of(DType.F32, DType.F64, DType.BF16, DType.F16)) {
            Named.mentions(() -> Tensor.of(foreign, dtype), "buffer: its order is BIG_ENDIAN", ORDER);
        }
        Named.mentions(() -> Tensor.of(foreign.asFloatBuffer(), DType.F32), "buffer", ORDER);
        Named.mentions(() -> Tensor.of(foreign.asDoubleBuffer(), DType.F64), "buffer", ORDER);
        Named.mentions(() -> Tensor.of(foreign.asShortBuffer(), DType.F16), "buffer", ORDER);
        // the byte order has no effect on bytes
        assertEquals(Shape.of(16), Tensor.of(foreign, DType.I8).shape());
        // duplicates are big-endian again
        Named.mentions(() -> Tensor.of(direct(16).duplicate(), DType.F32), "buffer", ORDER);
    }

    @Test
    void buffersOfOtherElementsAreRefused() {
        for (Buffer buffer : List.of(IntBuffer.allocate(4), DoubleBuffer.allocate(4), ShortBuffer.allocate(4))) {
            Named.mentions(
                    () -> Tensor.of(buffer, DType.F32),
                    "buffer",
                    "expected a ByteBuffer, or one with elements of dtype F32");
        }
        Named.named("buffer", () -> Tensor.of((Buffer) null, DType.F32));
        Named.named("dtype", () -> Tensor.of(direct(4), null));
    }
}
