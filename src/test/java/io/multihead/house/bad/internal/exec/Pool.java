package io.multihead.house.bad.internal.exec;

/** Starts a thread where threads are started: the one innocent class of this house. */
public final class Pool {
    private Pool() {}

    /** Starts a thread. */
    public static void start() {
        new Thread(() -> {}).start();
    }
}
