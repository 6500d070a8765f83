package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertNull;

import java.lang.ref.WeakReference;

/** Asserts that the garbage collector can free an object. */
public final class Reachability {
    private Reachability() {}

    /** Fails if the object is still there after many collections. */
    public static void assertCollected(WeakReference<?> reference) throws InterruptedException {
        for (int i = 0; i < 100 && reference.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertNull(reference.get());
    }
}
