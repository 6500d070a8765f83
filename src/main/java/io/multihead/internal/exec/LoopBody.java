package io.multihead.internal.exec;

/** The body of a parallel loop. */
@FunctionalInterface
public interface LoopBody {
    /** The number of tasks for each thread, large enough that a late thread leaves little work to the end. */
    int TASKS_PER_THREAD = 4;

    /**
     * Runs one task. Tasks run in any order and on any thread.
     *
     * @param task from 0
     * @param scratch the memory of the thread that runs the task
     */
    void run(long task, Workspace scratch);

    /**
     * Returns the number of strips of consecutive tasks; all strips but the last have the same number of tasks. Each thread begins with its
     * own strip and then helps with others, so that it can keep the values that tasks of a strip share. With one strip, threads take tasks
     * in order. Not called for a loop without tasks.
     */
    default int strips() {
        return 1;
    }
}
