package io.multihead.internal.exec;

/** The body of a parallel loop. */
@FunctionalInterface
public interface LoopBody {
    /**
     * Runs one task. Tasks run in any order and on any thread.
     *
     * @param task from 0
     * @param scratch the memory of the thread that runs it
     */
    void run(long task, Workspace scratch);
}
