package io.multihead.internal.exec;

import java.lang.ref.WeakReference;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Daemon threads that help with one {@link ParallelFor} at a time; a second caller is refused and computes alone.
 *
 * <p>An idle worker spins briefly, since a layer calls kernel after kernel, and then parks. A worker that is late or never arrives only
 * costs speed: the caller runs every task that no worker has taken. Idle workers check every few seconds whether their owner was
 * garbage-collected, and then end.
 */
final class WorkerPool {
    private static final int SPINS = 20_000;

    /** The longest time for which a worker parks. */
    private static final long PARK_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final ReentrantLock owner = new ReentrantLock();
    private final ParallelFor loop;
    private final ParallelFor.Invitation wake = this::wake;
    private final Worker[] workers;
    /** Counts loops; a worker that sees a new number tries to join. */
    private volatile long round;

    private volatile boolean closed;
    /** The owner of the workers. The reference is weak, since workers keep the pool reachable. */
    private volatile @Nullable WeakReference<Object> served;

    WorkerPool(int size) {
        this(
                size,
                Thread.ofPlatform()
                        .daemon()
                        .inheritInheritableThreadLocals(false)
                        .name("multihead-worker-", 1)
                        .factory());
    }

    /** Starts the workers; if a worker cannot be started, ends the workers that were started. */
    WorkerPool(int size, ThreadFactory factory) {
        loop = new ParallelFor(size + 1);
        workers = new Worker[size];
        int started = 0;
        try {
            for (; started < size; started++) {
                workers[started] = new Worker(this, factory);
                workers[started].thread.start();
            }
        } finally {
            if (started < size) {
                closed = true;
                for (int i = 0; i < started; i++) {
                    workers[i].wake();
                }
            }
        }
    }

    /** Sets the owner of the workers: they end after it was garbage-collected. */
    void serve(Object user) {
        served = new WeakReference<>(user);
    }

    private boolean servesNobody() {
        WeakReference<Object> user = served;
        return user != null && user.get() == null;
    }

    /** Returns whether a thread belongs to this pool. */
    boolean isWorker(Thread thread) {
        for (Worker worker : workers) {
            if (worker.thread == thread) {
                return true;
            }
        }
        return false;
    }

    /** Runs the job on all threads, or returns false immediately if another call is running or this pool is closed. */
    boolean tryRun(LoopBody job, long tasks, Workspace scratch) {
        if (closed || owner.isHeldByCurrentThread() || !owner.tryLock()) {
            return false;
        }
        try {
            loop.run(job, tasks, scratch, wake);
            return true;
        } finally {
            owner.unlock();
        }
    }

    private void wake(ParallelFor opened, long tasks) {
        round++;
        for (int i = 0; i < workers.length && i < tasks - 1; i++) {
            workers[i].wake();
        }
    }

    /** Lets the workers end when they become idle, and releases their scratch. */
    void close() {
        closed = true;
        for (Worker worker : workers) {
            worker.wake();
        }
        trim();
    }

    /** Releases the workers' scratch; a worker that is running a task keeps its scratch until the task is done. */
    void trim() {
        for (Worker worker : workers) {
            worker.scratch = new Workspace();
            worker.wake();
        }
    }

    /** Returns the bytes of scratch that the workers hold. */
    long heldBytes() {
        long bytes = 0;
        for (Worker worker : workers) {
            bytes += worker.scratch.heldBytes();
        }
        return bytes;
    }

    /** A thread, its scratch, and whether it is parked. */
    private static final class Worker implements Runnable {
        private final WorkerPool pool;
        private final Thread thread;
        private volatile Workspace scratch = new Workspace();
        private volatile boolean parked;

        Worker(WorkerPool pool, ThreadFactory factory) {
            this.pool = pool;
            thread = factory.newThread(this);
        }

        /**
         * Wakes the worker if it is parked. A worker sets the flag before it checks for changes. Therefore either this thread sees the
         * flag, or the worker sees the changes that were made before this call.
         */
        void wake() {
            if (parked) {
                LockSupport.unpark(thread);
            }
        }

        @Override
        public void run() {
            Workspace used = scratch;
            long seen = 0;
            int spins = SPINS; // parks immediately: no loop has been submitted yet
            while (!pool.closed) {
                used = current(used);
                long current = pool.round;
                if (current != seen) {
                    seen = current;
                    pool.loop.help(used);
                    spins = 0;
                } else if (spins < SPINS) {
                    spins++;
                    Thread.onSpinWait();
                } else {
                    park(seen, used);
                }
            }
            used.close();
        }

        /**
         * Returns the present workspace and frees a replaced one. Only this worker can free it, because only this worker knows when it has
         * left a loop.
         */
        private Workspace current(Workspace used) {
            Workspace now = scratch;
            if (now != used) {
                used.close();
            }
            return now;
        }

        private void park(long seen, Workspace used) {
            parked = true;
            if (pool.round == seen && !pool.closed && scratch == used) {
                LockSupport.parkNanos(pool, PARK_NANOS);
                Thread.interrupted(); // with the flag set, every later park would return immediately
            }
            parked = false;
            if (pool.servesNobody()) {
                pool.close();
            }
        }
    }
}
