package io.multihead.internal.layout;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DTypeCodecTest {
    private final DTypeCodec codec = new DTypeCodec(new Scratch());

    /** Kinds of heap memory of f32 elements, each 24 bytes long and part of a longer array. */
    enum Heap {
        /** The kind of memory that layers keep intermediate results in. */
        FLOATS(MemorySegment.ofArray(new float[10]).asSlice(8, 24)),
        /** An array of another type. */
        BYTES(MemorySegment.ofArray(new byte[40]).asSlice(8, 24)),
        /** Elements that are no elements of the array. */
        UNALIGNED(MemorySegment.ofArray(new float[10]).asSlice(6, 24));

        private final MemorySegment memory;

        Heap(MemorySegment memory) {
            this.memory = memory;
        }
    }

    @ParameterizedTest
    @EnumSource
    void runsOfEveryKindOfHeapMemoryAreCopied(Heap heap) {
        Tensor tensor = Tensor.view(heap.memory, DType.F32, Shape.of(6));
        codec.write(new float[] {0, 1.5f, -2, 3.25f}, 1, 3, tensor, 2);
        assertArrayEquals(new float[] {0, 0, 1.5f, -2, 3.25f, 0}, tensor.toArray());
        float[] read = new float[4];
        codec.read(tensor, 1, 3, read, 1);
        assertArrayEquals(new float[] {0, 0, 1.5f, -2}, read);
        codec.write(new float[6], 0, 6, tensor, 0);
    }

    @Test
    void readOnlyMemoryIsRead() {
        MemorySegment memory = MemorySegment.ofArray(new float[] {1, 2, 3, 4}).asReadOnly();
        float[] read = new float[3];
        codec.read(Tensor.view(memory, DType.F32, Shape.of(4)), 1, 3, read, 0);
        assertArrayEquals(new float[] {2, 3, 4}, read);
    }

    /** The array would have room for the run. */
    @ParameterizedTest
    @EnumSource
    void aRunBeyondTheSegmentIsRefused(Heap heap) {
        Tensor tensor = Tensor.view(heap.memory, DType.F32, Shape.of(6));
        assertThrows(IndexOutOfBoundsException.class, () -> codec.read(tensor, 5, 2, new float[2], 0));
        assertThrows(IndexOutOfBoundsException.class, () -> codec.read(tensor, -1, 2, new float[2], 0));
        assertThrows(IndexOutOfBoundsException.class, () -> codec.write(new float[] {7, 7}, 0, 2, tensor, 5));
        assertArrayEquals(new float[6], tensor.toArray());
    }
}
