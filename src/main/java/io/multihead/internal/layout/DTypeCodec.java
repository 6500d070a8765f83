package io.multihead.internal.layout;

import io.multihead.internal.base.NativeMemory;
import io.multihead.internal.kernel.BFloat16;
import io.multihead.tensor.DType;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Converts contiguous runs of a tensor's elements to f32 in scratch and back. Widening is exact (except f64, which rounds);
 * narrowing rounds to nearest, ties to even.
 *
 * <p>Elements of 8, 16 and 64 bits pass through staging arrays, so one instance belongs to one thread. The segment checks all access to
 * user memory.
 */
final class DTypeCodec {
    /**
     * The class of segments of a {@code float[]}, in which layers keep their intermediate results. After a cast to a constant class, C2
     * inlines the checks of a copy for all profiles of the JVM, as for {@link NativeMemory#known}.
     */
    private static final Class<? extends MemorySegment> FLOATS =
            MemorySegment.ofArray(new float[0]).getClass();

    private final Scratch scratch;
    private short[] shorts = new short[0];
    private byte[] bytes = new byte[0];
    private double[] doubles = new double[0];

    DTypeCodec(Scratch scratch) {
        this.scratch = scratch;
    }

    /** Reads {@code length} contiguous elements of a tensor's memory from position {@code at} on. */
    void read(Tensor from, long at, int length, float[] to, int t0) {
        MemorySegment memory = from.memory();
        DType dtype = from.dtype();
        long byteOffset = at * dtype.bytes();
        switch (dtype) {
            case F32 -> {
                if (NativeMemory.isNative(memory)) {
                    MemorySegment known = NativeMemory.known(memory);
                    MemorySegment.copy(known, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, to, t0, length);
                } else if (FLOATS.isInstance(memory)) {
                    MemorySegment known = FLOATS.cast(memory);
                    MemorySegment.copy(known, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, to, t0, length);
                } else {
                    MemorySegment.copy(memory, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, to, t0, length);
                }
            }
            case F64 -> {
                doubles = scratch.atLeast(doubles, length);
                MemorySegment.copy(memory, ValueLayout.JAVA_DOUBLE_UNALIGNED, byteOffset, doubles, 0, length);
                f64ToFloat(doubles, length, to, t0);
            }
            case BF16, F16 -> {
                shorts = scratch.atLeast(shorts, length);
                MemorySegment.copy(memory, ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset, shorts, 0, length);
                if (dtype == DType.BF16) {
                    BFloat16.widen(shorts, length, to, t0);
                } else {
                    f16ToFloat(shorts, length, to, t0);
                }
            }
            case I8 -> {
                bytes = scratch.atLeast(bytes, length);
                MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, byteOffset, bytes, 0, length);
                i8ToFloat(bytes, length, to, t0);
            }
        }
    }

    /** Writes {@code length} contiguous elements to a tensor's memory from position {@code at} on, and rounds each element once. */
    void write(float[] from, int f0, int length, Tensor to, long at) {
        MemorySegment memory = to.memory();
        DType dtype = to.dtype();
        long byteOffset = at * dtype.bytes();
        switch (dtype) {
            case F32 -> {
                if (NativeMemory.isNative(memory)) {
                    MemorySegment known = NativeMemory.known(memory);
                    MemorySegment.copy(from, f0, known, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, length);
                } else if (FLOATS.isInstance(memory)) {
                    MemorySegment known = FLOATS.cast(memory);
                    MemorySegment.copy(from, f0, known, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, length);
                } else {
                    MemorySegment.copy(from, f0, memory, ValueLayout.JAVA_FLOAT_UNALIGNED, byteOffset, length);
                }
            }
            case F64 -> {
                doubles = scratch.atLeast(doubles, length);
                floatToF64(from, f0, length, doubles);
                MemorySegment.copy(doubles, 0, memory, ValueLayout.JAVA_DOUBLE_UNALIGNED, byteOffset, length);
            }
            case BF16, F16 -> {
                shorts = scratch.atLeast(shorts, length);
                if (dtype == DType.BF16) {
                    floatToBf16(from, f0, length, shorts);
                } else {
                    floatToF16(from, f0, length, shorts);
                }
                MemorySegment.copy(shorts, 0, memory, ValueLayout.JAVA_SHORT_UNALIGNED, byteOffset, length);
            }
            case I8 -> {
                bytes = scratch.atLeast(bytes, length);
                floatToI8(from, f0, length, bytes);
                MemorySegment.copy(bytes, 0, memory, ValueLayout.JAVA_BYTE, byteOffset, length);
            }
        }
    }

    private static void f16ToFloat(short[] from, int length, float[] to, int at) {
        for (int i = 0; i < length; i++) {
            to[at + i] = Float.float16ToFloat(from[i]);
        }
    }

    private static void i8ToFloat(byte[] from, int length, float[] to, int at) {
        for (int i = 0; i < length; i++) {
            to[at + i] = from[i];
        }
    }

    private static void f64ToFloat(double[] from, int length, float[] to, int at) {
        for (int i = 0; i < length; i++) {
            to[at + i] = (float) from[i];
        }
    }

    private static void floatToBf16(float[] from, int at, int length, short[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = DType.floatToBf16(from[at + i]);
        }
    }

    private static void floatToF16(float[] from, int at, int length, short[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = Float.floatToFloat16(from[at + i]);
        }
    }

    private static void floatToI8(float[] from, int at, int length, byte[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = (byte) Math.clamp(Math.rint(from[at + i]), -128.0, 127.0);
        }
    }

    private static void floatToF64(float[] from, int at, int length, double[] to) {
        for (int i = 0; i < length; i++) {
            to[i] = from[at + i];
        }
    }
}
