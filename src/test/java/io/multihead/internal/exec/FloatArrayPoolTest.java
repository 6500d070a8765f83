package io.multihead.internal.exec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

class FloatArrayPoolTest {
    private final FloatArrayPool buffers = new FloatArrayPool();

    @Test
    void anArrayIsTakenAgainByCallsOfItsSize() {
        float[] array = buffers.take(1000);
        assertEquals(1000, array.length);
        assertNotSame(array, buffers.take(1000), "not given back yet");
        buffers.giveBack(array);
        assertEquals(1001, buffers.take(1001).length, "too short");
        assertEquals(499, buffers.take(499).length, "more than twice as long");
        assertSame(array, buffers.take(500));
    }

    @Test
    void aboveTheCapacityOnlyUsedArraysAreKept() {
        float[] unused = new float[1 << 24];
        float[] used = new float[3 << 22];
        buffers.giveBack(unused);
        buffers.giveBack(used);
        for (int call = 0; call < FloatArrayPool.AGE; call++) {
            assertSame(used, buffers.take(used.length));
            buffers.giveBack(used);
        }
        assertEquals(4L * (unused.length + used.length), buffers.heldBytes(), "not unused for long enough");
        assertSame(used, buffers.take(used.length));
        buffers.giveBack(used);
        assertEquals(4L * used.length, buffers.heldBytes());
        assertNotSame(unused, buffers.take(unused.length));
        assertSame(used, buffers.take(used.length));
    }

    @Test
    void atTheCapacityArraysAreKeptForever() {
        float[] unused = new float[(1 << 24) - 8];
        float[] used = new float[8];
        buffers.giveBack(unused);
        for (int call = 0; call < 2 * FloatArrayPool.AGE; call++) {
            buffers.giveBack(used);
            assertSame(used, buffers.take(used.length));
        }
        assertSame(unused, buffers.take(unused.length));
    }
}
