package io.multihead.tensor;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.multihead.faults.Named;
import io.multihead.internal.layout.Positions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every kind of memory, sizes at the edge of {@code long}, and empty views. */
class TensorTest {
    @TempDir
    Path folder;

    static Stream<MemorySegment> arrays() {
        return Stream.of(
                MemorySegment.ofArray(new byte[32]),
                MemorySegment.ofArray(new char[16]),
                MemorySegment.ofArray(new short[16]),
                MemorySegment.ofArray(new int[8]),
                MemorySegment.ofArray(new float[8]),
                MemorySegment.ofArray(new long[4]),
                MemorySegment.ofArray(new double[4]));
    }

    @ParameterizedTest
    @MethodSource("arrays")
    void anyArrayHoldsAnyType(MemorySegment memory) {
        for (DType dtype : DType.values()) {
            Tensor tensor = Tensor.view(memory, dtype, Shape.of(2, 2));
            tensor.set(-3, 1, 0);
            tensor.set(5, 0, 1);
            assertEquals(-3, tensor.get(1, 0), dtype.toString());
            assertArrayEquals(new float[] {0, 5, -3, 0}, tensor.toArray(), dtype.toString());
            memory.fill((byte) 0);
        }
    }

    @Test
    void aMappedFileMayExceedAnArray() throws IOException {
        long last = (1L << 31) + 9; // the sparse file takes a few blocks on disk
        try (Arena arena = Arena.ofConfined();
                FileChannel file = FileChannel.open(
                        folder.resolve("sparse"),
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            MemorySegment memory = file.map(MapMode.READ_WRITE, 0, last + 1, arena);
            Tensor tensor = Tensor.view(memory, DType.I8, Shape.of(2, (last + 1) / 2));
            tensor.set(42, 1, tensor.dim(1) - 1);
            assertEquals(42, Tensor.view(memory, DType.I8, Shape.of(last + 1)).get(last));
            assertEquals(
                    42,
                    tensor.reshape(-1).slice(0, last - 1, last + 1).permute(0).get(1));
            assertEquals(42, tensor.slice(1, 7, tensor.dim(1)).select(0, 1).get(tensor.dim(1) - 8));
        }
    }

    @Test
    void transposeExchangesTwoAxes() {
        Tensor tensor = Tensor.of(new float[24], 2, 3, 4);
        tensor.set(7, 1, 2, 3);
        Tensor swapped = tensor.transpose(0, -1);
        assertEquals(Shape.of(4, 3, 2), swapped.shape());
        assertEquals(7, swapped.get(3, 2, 1));
        assertEquals(tensor.shape(), tensor.transpose(1, 1).shape());
        Named.message("axis: 3; expected an axis of shape [2, 3, 4]", () -> tensor.transpose(0, 3));
    }

    @Test
    void fillWritesTheElementsOfTheViewAlone() {
        for (DType dtype : DType.values()) {
            Tensor tensor = Tensor.zeros(Arena.ofAuto(), dtype, 3, 5);
            tensor.slice(1, 1, 3).fill(3);
            assertArrayEquals(new float[] {0, 3, 3, 0, 0, 0, 3, 3, 0, 0, 0, 3, 3, 0, 0}, tensor.toArray());
            tensor.slice(0, 1, 3).fill(-2);
            assertArrayEquals(new float[] {0, 3, 3, 0, 0, -2, -2, -2, -2, -2, -2, -2, -2, -2, -2}, tensor.toArray());
            tensor.slice(1, 2, 2).fill(9);
            assertEquals(3, tensor.get(0, 2));
        }
        Tensor scalar = Tensor.zeros(Arena.ofAuto(), DType.F64);
        scalar.fill(0.1);
        assertEquals(0.1, scalar.get());
        Tensor fixed = Tensor.view(MemorySegment.ofArray(new float[2]).asReadOnly(), DType.F32, Shape.of(2));
        Named.message("fill: read-only memory; expected memory that can be written", () -> fixed.fill(1));
        Tensor endless = Tensor.zeros(Arena.ofAuto(), DType.F32, 1).broadcast(1L << 50);
        Named.message("fill: " + endless + "; expected every element to have its own storage", () -> endless.fill(1));
    }

    @Test
    void doublesAreSharedAndFlagsAreCopied() {
        double[] values = {1, 0.1};
        Tensor doubles = Tensor.of(values, 2, 1);
        assertEquals(0.1, doubles.get(1, 0));
        doubles.set(5, 0, 0);
        assertEquals(5, values[0]);
        assertEquals(Shape.of(2), Tensor.of(values).shape());
        boolean[] flags = {true, false, true, true};
        Tensor mask = Tensor.of(flags, 2, 2);
        flags[1] = true;
        assertEquals(DType.I8, mask.dtype());
        assertArrayEquals(new float[] {1, 0, 1, 1}, mask.toArray());
        assertEquals(Shape.of(4), Tensor.of(flags).shape());
    }

    @Test
    void sizesBeyondLongAreIllegalArguments() {
        Named.message(
                "shape: [4611686018427387904] of F64; expected fewer than 2^63 bytes",
                () -> Tensor.allocate(Arena.ofAuto(), DType.F64, Shape.of(1L << 62)));
        Named.message(
                "reshape: [4294967296, 4294967296]; expected as many elements as shape [2]",
                () -> Tensor.of(new float[2]).reshape(1L << 32, 1L << 32));
        Named.message(
                "reshape: [4294967296, 4294967296, -1]; expected as many elements as shape [2]",
                () -> Tensor.of(new float[2]).reshape(1L << 32, 1L << 32, -1));
        Named.message(
                "shape: [4294967296, 4294967296]; expected fewer than 2^63 elements",
                () -> Tensor.of(new float[1]).broadcast(1L << 32, 1L << 32));
        Named.message(
                "memory: 4 bytes (1 of F32); too small for shape [3] with offset 0 and strides [4611686018427387905]",
                () -> Tensor.view(MemorySegment.ofArray(new float[1]), DType.F32, Shape.of(3), 0, (1L << 62) + 1));
    }

    @Test
    void viewsThatHoldNothingStayInsideTheirMemory() {
        Tensor empty = Tensor.of(new float[0], 5, 0, 7);
        for (Tensor view : new Tensor[] {
            empty.select(0, 4), empty.slice(0, 3, 5), empty.select(2, 6), empty.slice(1, 0, 0), empty.reshape(0, 3)
        }) {
            assertEquals(0, view.shape().elements());
            assertEquals(0, view.offset(), view.toString());
            assertEquals(0, view.toArray().length);
            assertTrue(view.isDense());
            assertFalse(view.overlaps(view) || view.overlapsItself());
        }
        Named.message(
                "reshape: [-1, 0]; expected as many elements as shape [5, 0, 7]",
                () -> empty.reshape(-1, 0)); // any number would fit
        Named.message(
                "memory: 0 bytes (0 of F32); too small for shape [0] with offset 1 and strides [1]",
                () -> Tensor.view(MemorySegment.ofArray(new float[0]), DType.F32, Shape.of(0), 1, 1));
    }

    @Test
    void aReadOnlyViewOfAnArrayOverlapsIt() {
        MemorySegment memory = MemorySegment.ofArray(new float[8]);
        Tensor whole = Tensor.view(memory, DType.F32, Shape.of(8));
        Tensor closed = Tensor.view(memory.asReadOnly(), DType.F32, Shape.of(8));
        assertTrue(closed.overlaps(whole));
        assertTrue(whole.overlaps(closed));
        assertTrue(closed.overlaps(closed));
        assertFalse(closed.slice(0, 0, 4).overlaps(whole.slice(0, 4, 8)));
        assertFalse(closed.overlaps(Tensor.of(new float[8])));
        Named.message("target: F32 [8] overlaps the source; expected separate memory", () -> closed.copyTo(whole));
        Named.message("target: read-only memory; expected memory that can be written", () -> Tensor.of(new float[8])
                .copyTo(closed));
    }

    @Test
    void copiesNeedATargetWithAPlaceForEveryElement() {
        Tensor repeated = Tensor.of(new float[1]).broadcast(3);
        Named.message(
                "target: F32 [3] strides [0]; expected every element to have its own storage",
                () -> Tensor.of(new float[3]).copyTo(repeated));
        repeated.copyTo(Tensor.of(new float[3]));
    }

    @Test
    void aRowOfAFusedBufferDoesNotOverlapAColumnOfParts() {
        Tensor fused = Tensor.of(new float[6 * 3 * 4], 6, 3, 4);
        Tensor queries = fused.select(1, 0);
        Tensor oneKey = fused.slice(1, 1, 2).slice(0, 2, 3);
        assertFalse(queries.overlaps(oneKey));
        assertFalse(oneKey.overlaps(queries));
        assertTrue(queries.overlaps(fused.select(0, 2)));
    }

    @Test
    void denseCopiesBeginWhereTheViewsBegin() {
        for (DType dtype : DType.values()) {
            Tensor from = Tensor.zeros(Arena.ofAuto(), dtype, 5, 3);
            from.slice(0, 2, 4).fill(7);
            Tensor to = Tensor.zeros(Arena.ofAuto(), dtype, 4, 3);
            from.slice(0, 2, 4).copyTo(to.slice(0, 1, 3));
            assertArrayEquals(new float[] {0, 0, 0, 7, 7, 7, 7, 7, 7, 0, 0, 0}, to.toArray(), dtype.toString());
        }
    }

    @Test
    void elementsOfReadOnlyMemoryCannotBeSet() {
        MemorySegment memory = MemorySegment.ofArray(new float[] {3}).asReadOnly();
        Tensor fixed = Tensor.view(memory, DType.F32, Shape.of(1));
        Named.message("tensor: read-only memory; expected memory that can be written", () -> fixed.set(1, 0));
        Named.message(
                "tensor: read-only memory; expected memory that can be written", () -> Positions.set(fixed, 1, 0));
        assertEquals(3, fixed.get(0));
    }

    @Test
    void reshapesLeaveOneSizeOpenAtMost() {
        Tensor tensor = Tensor.of(new float[6]);
        assertEquals(Shape.of(3, 2), tensor.reshape(-1, 2).shape());
        Named.message("reshape axis 1: -1; expected at least 0", () -> tensor.reshape(-1, -1));
        Named.message("reshape axis 2: -1; expected at least 0", () -> tensor.reshape(2, -1, -1));
    }

    @Test
    void theLargestNumberOfElementsCanBeReshaped() {
        long half = Long.MAX_VALUE / 2;
        Tensor huge = Tensor.of(new float[1]).broadcast(half, 2);
        assertEquals(Shape.of(half, 2), huge.reshape(half, 2).shape());
        assertEquals(Shape.of(2, half), huge.reshape(-1, half).shape());
    }

    @Test
    void shapesHaveUpTo64Axes() {
        assertEquals(64, Shape.of(new long[64]).rank());
        Named.message("shape: 65 axes; expected at most 64", () -> Shape.of(new long[65]));
    }

    @Test
    void equalShapesHaveEqualHashCodes() {
        assertEquals(Shape.of(2, 3).hashCode(), Shape.of(2, 3).hashCode());
        assertNotEquals(Shape.of(2, 3).hashCode(), Shape.of(3, 2).hashCode()); // hash sets depend on this
    }

    @Test
    void allTypesButI8AreFloating() {
        for (DType dtype : DType.values()) {
            assertEquals(dtype != DType.I8, dtype.isFloating(), dtype.toString());
        }
    }

    @Test
    void elementsAreReadAndWrittenByTheirPositionInMemory() {
        Tensor whole = Tensor.of(new float[] {0, 1, 2, 3, 4, 5}, 2, 3);
        Tensor column = whole.select(1, 2);
        long position = column.offset() + column.stride(0);
        assertEquals(5, Positions.get(column, position));
        Positions.set(column, 0.1, position);
        assertEquals(0.1f, whole.get(1, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> Positions.get(column, 6));
        assertThrows(IndexOutOfBoundsException.class, () -> Positions.set(column, 0, -1));
    }
}
