package io.multihead.internal.exec;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The idle workspaces of an {@link Execution}, and the threads that are within a call. After {@link #close}, only these threads may
 * continue, and workspaces that they give back are dropped. Thread-safe.
 */
final class Workspaces {
    private final Deque<Workspace> idle = new ArrayDeque<>();
    /**
     * The threads of running calls. A thread that runs nested calls occurs once for each call. There are few calls, so a scan is faster
     * than a map.
     */
    private @Nullable Thread[] callers = new Thread[4];

    private int callerCount;
    private boolean closed;

    private final BooleanSupplier isWorker;
    private final Supplier<Workspace> maker;

    /**
     * Creates the object without workspaces. On threads for which {@code isWorker} is true, all calls are within a call that began earlier.
     */
    Workspaces(BooleanSupplier isWorker, Supplier<Workspace> maker) {
        this.isWorker = isWorker;
        this.maker = maker;
    }

    /**
     * Begins a call on this thread.
     *
     * @throws IllegalStateException if closed, unless this thread is within a call that began before the close
     */
    synchronized void enter() {
        if (closed && find(Thread.currentThread()) < 0 && !isWorker.getAsBoolean()) {
            throw new IllegalStateException("compute: closed; expected an open one");
        }
        join();
    }

    /** Begins to help with a call of another thread, which may have begun before this was closed. */
    synchronized void join() {
        Thread thread = Thread.currentThread();
        if (callerCount == callers.length) {
            callers = Arrays.copyOf(callers, 2 * callerCount);
        }
        callers[callerCount++] = thread;
    }

    /** Ends a call that began on this thread. */
    synchronized void leave() {
        int at = find(Thread.currentThread());
        if (at >= 0) {
            callers[at] = callers[--callerCount];
            callers[callerCount] = null;
        }
    }

    private int find(Thread thread) {
        for (int i = callerCount - 1; i >= 0; i--) {
            if (callers[i] == thread) {
                return i;
            }
        }
        return -1;
    }

    /** Returns the workspace that was given back last, or a new workspace. */
    synchronized Workspace take() {
        Workspace last = idle.pollLast();
        return last == null ? maker.get() : last;
    }

    synchronized void giveBack(Workspace workspace) {
        if (closed) {
            workspace.close();
        } else {
            idle.add(workspace);
        }
    }

    synchronized long heldBytes() {
        long bytes = 0;
        for (Workspace workspace : idle) {
            bytes += workspace.heldBytes();
        }
        return bytes;
    }

    synchronized void trim() {
        idle.forEach(Workspace::close);
        idle.clear();
    }

    synchronized void close() {
        closed = true;
        trim();
    }
}
