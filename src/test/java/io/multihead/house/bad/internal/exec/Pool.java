package io.multihead.house.bad.internal.exec;

/** Starts a thread in the package that may start threads. It breaks no rule. */
public final class Pool {
    private Pool() {}

    /** Starts a thread. */
    public static void start() {
        new Thread(() -> {}).start();
    }
}
