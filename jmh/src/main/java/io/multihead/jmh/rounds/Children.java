package io.multihead.jmh.rounds;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Processes that end with this JVM, one after another, together with their child processes: a signal to this JVM alone would leave a fork
 * of JMH running during the next measurement.
 */
public final class Children {
    private Process running;
    private boolean ended;

    /** Makes a group of processes that ends when this JVM shuts down. */
    public static Children ofThisJvm() {
        Children children = new Children();
        Runtime.getRuntime().addShutdownHook(new Thread(children::end));
        return children;
    }

    /** Starts a process; throws {@link InterruptedException} if this JVM shuts down. */
    public synchronized Process start(ProcessBuilder builder) throws IOException, InterruptedException {
        requireRunning();
        running = builder.start();
        return running;
    }

    /** Returns the status of a process that ended; throws {@link InterruptedException} if this JVM shuts down, which may have ended it. */
    public int await(Process process) throws InterruptedException {
        int status = process.waitFor();
        synchronized (this) {
            requireRunning();
        }
        return status;
    }

    /** Ends the process that runs, and all that it has started, and lets no other start. */
    synchronized void end() {
        ended = true;
        if (running != null) {
            // parents first, which could start more; listed before, since a child whose parent has ended is not
            // a descendant
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
