package io.multihead.jmh.rounds;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Consecutive processes that end with this JVM, together with their child processes. Without this, a signal to this JVM
 * would leave a fork of JMH running during the next measurement.
 */
public final class Children {
    private Process running;
    private boolean ended;

    /** Creates a group of processes that ends when this JVM shuts down. */
    public static Children ofThisJvm() {
        Children children = new Children();
        Runtime.getRuntime().addShutdownHook(new Thread(children::end));
        return children;
    }

    /** Starts a process. Throws {@link InterruptedException} if this JVM shuts down. */
    public synchronized Process start(ProcessBuilder builder) throws IOException, InterruptedException {
        requireRunning();
        running = builder.start();
        return running;
    }

    /**
     * Returns the status of a process after its end. Throws {@link InterruptedException} if this JVM shuts down, which
     * may have ended the process.
     */
    public int await(Process process) throws InterruptedException {
        int status = process.waitFor();
        synchronized (this) {
            requireRunning();
        }
        return status;
    }

    /** Ends the running process and its descendants, and prevents the start of other processes. */
    synchronized void end() {
        ended = true;
        if (running != null) {
            // parents first, since they could start more children; all are listed before, since a child without its
            // parent is not a descendant
            List<ProcessHandle> all = new ArrayList<>(List.of(running.toHandle()));
            running.descendants().forEach(all::add);
            all.forEach(ProcessHandle::destroyForcibly);
            all.forEach(process -> process.onExit().join());
        }
    }

    private void requireRunning() throws InterruptedException {
        if (ended) {
            throw new InterruptedException("the JVM shuts down");
        }
    }
}
