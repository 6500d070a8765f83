package io.multihead.internal.call;

import io.multihead.compute.Compute;
import io.multihead.internal.exec.LoopBody;
import io.multihead.internal.exec.ScratchKey;
import io.multihead.internal.exec.Workspace;

/** An operation without its own state, for calls whose loop body is a separate object. */
public final class SingleCall extends Operation {
    private static final ScratchKey<SingleCall> KEY = ScratchKey.of(SingleCall::new);

    private SingleCall() {}

    public static SingleCall open(Compute cpu) {
        return open(cpu, KEY);
    }

    public static void run(Compute cpu, LoopBody body, long tasks) {
        try (SingleCall call = open(cpu)) {
            call.loop(body, tasks);
        }
    }

    /** Runs all tasks of a loop on the Compute's threads, and returns when they are done. */
    public void loop(LoopBody body, long tasks) {
        run(body, tasks);
    }

    /** Returns the calling thread's scratch memory. */
    public Workspace workspace() {
        return scratch();
    }

    @Override
    protected void clear() {
        // the loop body belongs to the caller
    }
}
