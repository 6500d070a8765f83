package io.multihead.internal.exec;

import java.util.concurrent.atomic.AtomicInteger;

/** Names a scratch array of which every {@link Workspace} keeps one. A static constant of the class that uses it. */
public final class FloatsKey {
    private static final AtomicInteger COUNT = new AtomicInteger();

    final int index = COUNT.getAndIncrement();

    /** Makes a key that is like no other. */
    public FloatsKey() {}
}
