package io.multihead.tensor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/**
 * Views that share elements, and views that are adjacent but share none, at the limits of the rules that exclude
 * overlap.
 */
class TensorOverlapTest {
    @Test
    void nativeViewsOverlapWhereTheirBytesDo() {
        try (Arena arena = Arena.ofConfined()) {
            Tensor whole = Tensor.allocate(arena, DType.F32, Shape.of(8));
            both(true, whole, whole.slice(0, 7, 8));
            both(false, whole.slice(0, 0, 4), whole.slice(0, 4, 8));
        }
    }

    @Test
    void elementsOfOneByteOverlapThemselvesAlone() {
        Tensor bytes = Tensor.view(MemorySegment.ofArray(new byte[3]), DType.I8, Shape.of(3));
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                both(i == j, bytes.slice(0, i, i + 1), bytes.slice(0, j, j + 1));
            }
        }
    }

    @Test
    void viewsOfDifferentElementSizesOverlapWhereTheirBytesDo() {
        MemorySegment memory = MemorySegment.ofArray(new byte[16]);
        Tensor floats = Tensor.view(memory, DType.F32, Shape.of(2), 0, 2);
        both(true, floats, Tensor.view(memory, DType.I8, Shape.of(4), 2, 1));
        both(false, floats, Tensor.view(memory, DType.I8, Shape.of(4), 12, 1));
        Tensor odd = Tensor.view(memory.asSlice(2), DType.F32, Shape.of(2), 0, 2);
        both(true, floats, odd);
    }

    @Test
    void partsOfAFusedBufferAtAnOddAddressDoNotOverlap() {
        for (int parts = 2; parts <= 3; parts++) {
            MemorySegment memory =
                    MemorySegment.ofArray(new byte[16 * parts + 1]).asSlice(1);
            Tensor fused = Tensor.view(memory, DType.F32, Shape.of(2, parts, 2));
            for (int i = 0; i < parts; i++) {
                for (int j = 0; j < parts; j++) {
                    both(i == j, fused.select(1, i), fused.select(1, j));
                }
            }
        }
    }

    /** A view that is wider than the period of the other view has elements on all residues of this period. */
    @Test
    void aViewWiderThanThePeriodOverlaps() {
        MemorySegment memory = MemorySegment.ofArray(new float[12]);
        Tensor period4 = Tensor.view(memory, DType.F32, Shape.of(2), 0, 4);
        both(true, period4, Tensor.view(memory, DType.F32, Shape.of(5), 1, 1));
        // positions 0, 3, 6, 4, 7, 10: the view is wider than both of its strides
        Tensor wide = Tensor.view(memory, DType.F32, Shape.of(2, 3), 0, 4, 3);
        both(true, wide, Tensor.view(memory, DType.F32, Shape.of(1), 6, 1));
    }

    private static void both(boolean expected, Tensor a, Tensor b) {
        assertEquals(expected, a.overlaps(b), a + " and " + b);
        assertEquals(expected, b.overlaps(a), b + " and " + a);
        assertTrue(a.overlaps(a) && b.overlaps(b));
    }
}
