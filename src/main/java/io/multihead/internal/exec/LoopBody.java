package io.multihead.internal.exec;

/** The body of a parallel loop. */
@FunctionalInterface
public interface LoopBody {
    /** Tasks for each thread, so many that a thread which comes late leaves little to the end. */
    int TASKS_PER_THREAD = 4;

    /**
     * Runs one task. Tasks run in any order and on any thread.
     *
     * @param task from 0
     * @param scratch the memory of the thread that runs it
     */
    void run(long task, Workspace scratch);

    /**
     * Returns how many strips of consecutive tasks there are, as many tasks in each but the last: each thread begins with a strip
     * of its own and then helps with others, so that it can keep the values that tasks of a strip share. With one strip, threads take tasks
     * in order. Not called for a loop without tasks.
     */
    default int strips() {
        return 1;
    }
}
