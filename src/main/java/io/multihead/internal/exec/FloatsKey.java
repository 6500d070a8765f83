package io.multihead.internal.exec;

import java.util.concurrent.atomic.AtomicInteger;

/** Names a scratch array of which every {@link Workspace} has one. It is a static constant of the class that uses it. */
public final class FloatsKey {
    private static final AtomicInteger COUNT = new AtomicInteger();

    final int index = COUNT.getAndIncrement();

    /** Creates a key that differs from every other. */
    public FloatsKey() {}
}
