package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicInteger;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.lifecycle.AfterContainer;
import org.junit.jupiter.api.Test;

/** One system property scales the tries of all properties, down to a minimum. */
class TriesTest {
    private static final int ANNOTATED = 400;
    private static final AtomicInteger CALLS = new AtomicInteger();

    @Test
    void triesAreScaledDownToAFloor() {
        assertEquals(1500, Tries.scaled(1500, 1));
        assertEquals(150, Tries.scaled(1500, 0.1));
        assertEquals(15_000, Tries.scaled(1500, 10));
        assertEquals(Tries.LEAST, Tries.scaled(100, 0.1));
        assertEquals(10, Tries.scaled(10, 0.1));
    }

    @Property(tries = ANNOTATED)
    void countsItsTries(@ForAll long value) {
        CALLS.incrementAndGet();
    }

    /** Fails if the factor had no effect. jqwik calls this method after the property. */
    @AfterContainer
    static void theFactorTookEffect() {
        assertEquals(Tries.scaled(ANNOTATED, Tries.factor()), CALLS.get());
    }
}
