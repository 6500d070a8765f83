package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.ref.WeakReference;

/** Asserts that the garbage collector can free an object. */
public final class Reachability {
    private Reachability() {}

    /** Fails if the object is still reachable after many collections. */
    public static void assertCollected(WeakReference<?> reference) throws InterruptedException {
        for (Patience patience = new Patience(); reference.get() != null && patience.isLeft(); ) {
            System.gc();
            Thread.sleep(10);
        }
        assertNull(reference.get());
    }
}
