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
    void whatWaitsLongestGoesWhenThereIsTooMuch() {
        float[] old = new float[1 << 22];
        float[] young = new float[3 << 22];
        buffers.giveBack(old);
        buffers.giveBack(young);
        buffers.giveBack(new float[8]);
        assertNotSame(old, buffers.take(1 << 22));
        assertSame(young, buffers.take(3 << 22));
        buffers.giveBack(new float[(1 << 24) + 1]);
        assertEquals(1 << 24, buffers.take(1 << 24).length, "one that is too long is not kept");
    }
}
